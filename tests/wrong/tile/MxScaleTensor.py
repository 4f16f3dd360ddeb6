import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[32, 2], pl.DT_FP8E8M0]):
    with pl.section_cube():
        scales = pl.make_tile(
            pl.TileType(shape=[32, 2], dtype=pl.DT_FP8E8M0, target_memory=pl.MemorySpace.Mat, layout=pl.ZZ), addr=0x0
        )
        pl.load(scales, a, [0, 0])


kernel[None, 1](None)
