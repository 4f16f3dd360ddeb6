"""Ternary of two groups."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        h = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0x1000, mutex_ids=[1])
        for i in pl.range(4):
            t = g[0] if i % 2 == 0 else h[0]
            pl.load(t, x, [i * 16, 0])
            pl.add(t, t, t)
            pl.store(out, t, [i * 16, 0])


BLOCKS = 1
