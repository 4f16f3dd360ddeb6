import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        small = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_UINT8), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x2000)
        scale = pl.make_tile(pl.TileType(shape=[32, 1], dtype=pl.DT_FP32, layout=pl.DN), addr=0x4000)
        pl.quant(small, a, scale, mode=pl.QuantMode.ASYM)


kernel[None, 1](None)
