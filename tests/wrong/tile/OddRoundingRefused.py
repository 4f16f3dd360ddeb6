import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        rounded = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_BF16), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x2000)
        pl.cast(rounded, a, mode=pl.RoundMode.CAST_ODD)


kernel[None, 1](None)
