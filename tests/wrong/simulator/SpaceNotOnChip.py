import pypto_pro.language as pl

scales = pl.TileType(shape=[16, 2], dtype=pl.DT_FP8E8M0, target_memory=pl.MemorySpace.ScaleLeft)


@pl.jit(auto_mutex=False, arch="a3")
def kernel(n: pl.DT_INT32):
    with pl.section_cube():
        tile = pl.make_tile(scales, addr=0)
        pl.printf("%d", n)


kernel[None, 1](1)
