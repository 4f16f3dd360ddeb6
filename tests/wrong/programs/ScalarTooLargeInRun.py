import numpy as np

import pypto


@pypto.frontend.jit
def kernel(out: pypto.Tensor([4], pypto.DT_INT32), x: pypto.Tensor([4], pypto.DT_FP32), n: pypto.SymbolicScalar):
    out[0] = n * n


kernel(np.zeros(4, np.int32), np.zeros(4, np.float32), 2**40)
