import numpy as np

import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([4, 8], pypto.DT_FP32),
    table: pypto.Tensor([8], pypto.DT_INT32),
    out: pypto.Tensor([4, 8], pypto.DT_FP32),
    n: pypto.SymbolicScalar,
):
    a = pypto.view(x, [2, 8], [0, 0], valid_shape=[2, n])
    b = pypto.view(x, [2, 8], [2, 0], valid_shape=[2, n + 1])
    out[:] = pypto.concat([a, b], 0)


kernel(np.ones((4, 8), np.float32), np.arange(8, dtype=np.int32), np.zeros((4, 8), np.float32), 5)
