import numpy as np

import pypto

pypto.frontend.jit(3)
