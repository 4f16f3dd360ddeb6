import numpy as np

import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([4, 8], pypto.DT_FP32),
    table: pypto.Tensor([8], pypto.DT_INT32),
    out: pypto.Tensor([4, 8], pypto.DT_FP32),
    n: pypto.SymbolicScalar,
):
    for i in pypto.loop(3, parallel=True):
        pypto.assemble(x[0:2, :], [i, 0], out)


kernel(np.ones((4, 8), np.float32), np.arange(8, dtype=np.int32), np.zeros((4, 8), np.float32), 5)
