import os

import pypto

os.environ["PYPTO_THREADS"] = "many"
try:
    pypto.reset_options()
    pypto.get_options_tree()
finally:
    del os.environ["PYPTO_THREADS"]
    pypto.reset_options()
