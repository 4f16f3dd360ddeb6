import numpy as np

import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([4, 8], pypto.DT_FP32),
    table: pypto.Tensor([8], pypto.DT_INT32),
    out: pypto.Tensor([4, 8], pypto.DT_FP32),
    n: pypto.SymbolicScalar,
):
    y = pypto.full([4, 8], 1.0, pypto.DT_FP32, valid_shape=[n, 8])
    out[:] = y


kernel(np.ones((4, 8), np.float32), np.arange(8, dtype=np.int32), np.zeros((4, 8), np.float32), 5)
