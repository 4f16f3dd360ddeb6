import pypto

pypto.set_pass_options(cube_l1_reuse_setting={0: (4, "top")})
