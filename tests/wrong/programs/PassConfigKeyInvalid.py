import pypto

pypto.set_pass_default_config("dump", True)
