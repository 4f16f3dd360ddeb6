import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        positions = pl.make_tile(pl.TileType(shape=[4, 64], dtype=pl.DT_INT32), addr=0x0)
        pl.fill_index(positions, 0)


kernel[None, 1](None)
