import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        padded = pl.make_tile(pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, pad=pl.TilePad.zero), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x4000)
        pl.set_validshape(a, [20, 50])
        pl.fillpad(padded, a)


kernel[None, 1](None)
