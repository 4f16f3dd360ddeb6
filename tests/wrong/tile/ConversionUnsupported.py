import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_INT8]):
    with pl.section_cube():
        acc = pl.make_tile(pl.TileType(shape=[32, 48], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addr=0x0)
        pl.store(a, acc, [0, 0])


kernel[None, 1](None)
