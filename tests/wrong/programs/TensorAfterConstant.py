import pypto


@pypto.frontend.jit
def kernel(scale, x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = x * scale
