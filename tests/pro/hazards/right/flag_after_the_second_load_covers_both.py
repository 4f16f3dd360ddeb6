"""Flag after the second load covers both."""

from hazards.common import MTE2, MTE3, V, order

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        b = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0x1000)
        pl.load(a, x, [0, 0])
        pl.load(b, x, [16, 0])
        order(MTE2, V, 0)
        pl.add(a, a, b)
        order(V, MTE3, 0)
        pl.store(out, a, [0, 0])


BLOCKS = 1
