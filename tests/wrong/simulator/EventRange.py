import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(n: pl.DT_INT32):
    with pl.section_vector():
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=n)


kernel[None, 1](16)
