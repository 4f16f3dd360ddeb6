import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        x = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x0)
        pl.load_tile(x, a, [0, 0], order=[1, 0])


kernel[None, 1](None)
