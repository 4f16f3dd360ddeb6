import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        turned = pl.make_tile(pl.TileType(shape=[32, 4], dtype=pl.DT_FP32), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[4, 32], dtype=pl.DT_FP32), addr=0x2000)
        pl.transpose(turned, a)


kernel[None, 1](None)
