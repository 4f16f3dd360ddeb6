import numpy as np

import pypto

pypto.conv
