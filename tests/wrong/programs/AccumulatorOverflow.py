import numpy as np

import pypto


@pypto.frontend.jit
def kernel(
    a: pypto.Tensor([1, 131072], pypto.DT_INT8),
    b: pypto.Tensor([131072, 1], pypto.DT_INT8),
    out: pypto.Tensor([1, 1], pypto.DT_INT32),
):
    out[:] = pypto.matmul(a, b, pypto.DT_INT32)


with pypto.options(run_options={"checked": True}):
    kernel(np.full((1, 131072), -128, np.int8), np.full((131072, 1), -128, np.int8), np.zeros((1, 1), np.int32))
