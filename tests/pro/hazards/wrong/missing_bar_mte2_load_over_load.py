"""Missing bar_mte2: load over load."""

from hazards.common import MTE2, MTE3, order

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        b = pl.make_tile(pl.TileType(shape=[8, 64], dtype=pl.DT_FP32), addr=0x400)
        pl.load(a, x, [0, 0])
        pl.load(b, x, [16, 0])
        order(MTE2, MTE3, 0)
        pl.store(out, a, [0, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
