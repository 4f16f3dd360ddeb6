"""Bar_mte2 with the loads."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        pl.load(a, x, [0, 0])
        pl.system.bar_mte2()
        pl.load(a, x, [16, 0])


BLOCKS = 1
