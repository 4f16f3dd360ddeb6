import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        pl.system.sync_all([a], core_type=pl.SyncCoreType.AIV_ONLY)


kernel[None, 1](None)
