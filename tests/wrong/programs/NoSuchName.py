import numpy as np

import pypto

pypto.sofmax
