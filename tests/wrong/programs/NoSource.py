import numpy as np

import pypto

names = {"pypto": pypto}
exec("@pypto.frontend.jit\ndef kernel(x: pypto.Tensor([4], pypto.DT_FP32)):\n    x[:] = x + 1.0\n", names)
names["kernel"](np.zeros(4, np.float32))
