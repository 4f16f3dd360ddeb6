import numpy as np

import pypto

int(pypto.SymbolicScalar("n") + 1)
