import pypto

pypto.set_pass_options(3)
