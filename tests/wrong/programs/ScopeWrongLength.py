import pypto

pypto.set_pass_options(sg_set_scope=(1, True))
