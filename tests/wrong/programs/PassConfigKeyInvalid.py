import numpy as np

import pypto

pypto.set_pass_default_config("dump", True)
