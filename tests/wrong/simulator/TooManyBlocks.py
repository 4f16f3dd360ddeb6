import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(n: pl.DT_INT32):
    with pl.section_vector():
        pl.system.sync_all(core_type=pl.SyncCoreType.AIV_ONLY)


kernel[None, 49](1)
