import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_cube():
        left = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Left), addr=0x0)
        pl.load(left, a, [0, 0])


kernel[None, 1](None)
