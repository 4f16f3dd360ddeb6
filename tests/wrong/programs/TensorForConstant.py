import numpy as np
import torch

import pypto


@pypto.frontend.jit
def kernel(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32), scale):
    out[:] = x * scale


x, out = np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32)
kernel(x, out, torch.ones(1))
