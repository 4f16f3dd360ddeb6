import pypto


@pypto.frontend.jit(runtime_optoins={})
def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = x + 1.0
