"""Alias through make_tuple and helper is locked."""

import pypto_pro.language as pl


def work(q, x, out):
    pl.load(q.t, x, [q.k * 16, 0])
    pl.add(q.t, q.t, q.t)
    pl.store(out, q.t, [q.k * 16, 0])


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        for i in pl.range(4):
            q = pl.make_tuple(t=g.next(), k=i)
            work(q, x, out)


BLOCKS = 1
