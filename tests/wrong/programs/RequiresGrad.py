import numpy as np
import torch

import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32), scale=2.0, n: pypto.SymbolicScalar = 1
):
    out[:] = x * scale


x, out = np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32)
kernel(torch.ones(4, 8, requires_grad=True), out)
