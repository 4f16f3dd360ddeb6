"""Padding never written is read."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        t = g.next()
        pl.set_validshape(t, [16, 60])
        pl.load(t, x, [0, 0])
        pl.set_validshape(t, [16, 64])
        pl.add(t, t, t)
        pl.store(out, t, [0, 0])


EXPECTED = ["UndefinedRead"]
BLOCKS = 1
