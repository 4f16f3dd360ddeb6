import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=16)


kernel[None, 1](None)
