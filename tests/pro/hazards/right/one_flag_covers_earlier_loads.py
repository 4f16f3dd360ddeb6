"""Alignment: set on later iteration covers earlier (FIFO pipe)."""

from hazards.common import MTE2, MTE3, order

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, depth=4)
        for i in pl.range(4):
            pl.load(g[i], x, [i * 16, 0])
        order(MTE2, MTE3, 0)
        for i in pl.range(4):
            pl.store(out, g[i], [i * 16, 0])


BLOCKS = 1
