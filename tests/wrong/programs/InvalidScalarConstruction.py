import numpy as np

import pypto

pypto.SymbolicScalar([1])
