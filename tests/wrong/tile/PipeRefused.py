import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        pl.system.sync_src(set_pipe=pl.PipeType.M, wait_pipe=pl.PipeType.V, event_id=0)


kernel[None, 1](None)
