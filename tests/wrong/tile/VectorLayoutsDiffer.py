import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        total = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x0)
        a = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x2000)
        turned = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, layout=pl.DN), addr=0x4000)
        pl.add(total, a, turned)


kernel[None, 1](None)
