import numpy as np

import pypto

pypto.from_torch(np.zeros(4))
