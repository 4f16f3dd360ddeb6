import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[32, 32], dtype=pl.DT_FP32), addr=0x0)
        pl.transpose(a, a)


kernel[None, 1](None)
