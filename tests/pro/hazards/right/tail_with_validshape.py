"""Tail with validshape."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[60, 64], pl.DT_FP32], out: pl.Tensor[[60, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        for i in pl.range(4):
            t = g.next()
            pl.set_validshape(t, [pl.min(16, 60 - i * 16), 64])
            pl.load(t, x, [i * 16, 0])
            pl.store(out, t, [i * 16, 0])


BLOCKS = 1
