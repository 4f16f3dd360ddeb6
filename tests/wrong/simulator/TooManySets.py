import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(n: pl.DT_INT32):
    with pl.section_cube():
        for _ in pl.range(n):
            pl.system.set_cross_core(pipe=pl.PipeType.FIX, event_id=0)
    with pl.section_vector():
        for _ in pl.range(n):
            pl.system.wait_cross_core(pipe=pl.PipeType.V, event_id=0)


kernel[None, 1](16)
