import numpy as np

import pypto

pypto.raise_error("OddError", "text")
