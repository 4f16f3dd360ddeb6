import pypto

pypto.set_host_options(compile_timeout="100")
