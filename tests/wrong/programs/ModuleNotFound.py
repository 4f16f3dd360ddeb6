from pypto.compat import launcher

launcher.run_module("no_such_module")
