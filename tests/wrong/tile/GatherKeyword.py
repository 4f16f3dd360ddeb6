import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        chosen = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x2000)
        indices = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_INT32), addr=0x4000)
        scratch = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_INT32), addr=0x6000)
        pl.gather(chosen, a, indices, scratch, cmp_mode=4)


kernel[None, 1](None)
