import pypto


@pypto.frontend.jit(runtime_options={"run_mode": 7})
def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = x + 1.0
