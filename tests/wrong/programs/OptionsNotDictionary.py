import pypto

pypto.set_options(pass_options=3)
