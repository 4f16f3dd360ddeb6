import numpy as np

import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([pypto.DYNAMIC, 8], pypto.DT_FP32),
    y: pypto.Tensor([pypto.DYNAMIC, 8], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 8], pypto.DT_FP32),
):
    out[:] = x + y


kernel(np.ones((4, 8), np.float32), np.ones((3, 8), np.float32), np.zeros((4, 8), np.float32))
