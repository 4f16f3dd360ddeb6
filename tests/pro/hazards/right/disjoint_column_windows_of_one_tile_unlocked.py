"""Disjoint column windows of one tile unlocked."""

from hazards.common import MTE2, MTE3, V, give, order, take

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        l = a[0:16, 0:32]
        r = a[0:16, 32:64]
        pl.load(l, x, [0, 0])
        pl.expands(r, 2.0)
        give(MTE2, MTE3, 0)
        take(MTE2, MTE3, 0)
        order(V, MTE3, 1)
        pl.store(out, a, [0, 0])


BLOCKS = 1
