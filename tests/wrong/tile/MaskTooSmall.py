import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        mask = pl.make_tile(pl.TileType(shape=[16, 32], dtype=pl.DT_UINT8), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, valid_shape=[32, 64]), addr=0x2000)
        b = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x4000)
        pl.lt(mask, a, b)


kernel[None, 1](None)
