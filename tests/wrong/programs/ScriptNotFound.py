from pypto.compat import launcher

launcher.run_script("no_such_script.py")
