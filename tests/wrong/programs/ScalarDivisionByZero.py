import numpy as np

import pypto

pypto.SymbolicScalar("n") // 0
