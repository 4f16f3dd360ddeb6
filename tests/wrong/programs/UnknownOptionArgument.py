import pypto

pypto.set_pass_options(enable_slic=True)
