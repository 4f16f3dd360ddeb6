import pypto

pypto.get_current_scope().get_options_prefix("pass.nothing")
