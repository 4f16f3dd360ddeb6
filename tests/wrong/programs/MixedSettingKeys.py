import pypto

pypto.set_pass_options(vec_nbuffer_setting={0: 1, "func1_2": 2})
