import pypto_pro.language as pl


@pl.jit(arch="a3")
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        pl.system.mutex_lock(pipe=pl.PipeType.V, mutex_id=1)


kernel[None, 1](None)
