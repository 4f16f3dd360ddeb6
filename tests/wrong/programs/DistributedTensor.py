import numpy as np
import torch

import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32), scale=2.0, n: pypto.SymbolicScalar = 1
):
    out[:] = x * scale


x, out = np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32)


class DTensor(torch.Tensor):
    """Looks like torch.distributed's tensor."""


DTensor.__module__ = "torch.distributed.tensor"
kernel(torch.ones(4, 8).as_subclass(DTensor), out)
