import numpy as np

import pypto

rows = pypto.frontend.dynamic("rows")


@pypto.frontend.jit
def kernel(x: pypto.Tensor([rows, 8], pypto.DT_FP32), out: pypto.Tensor([rows, 8], pypto.DT_FP32)):
    for i in pypto.loop(rows):
        out[i] = x[i]


kernel(np.ones((4, 8), np.float32), np.zeros((3, 8), np.float32))
