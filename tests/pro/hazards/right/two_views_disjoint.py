"""Two views disjoint."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        v = pl.make_tensor(out, [32, 128])
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        t = g.next()
        u = g.next()
        pl.load(t, x, [0, 0])
        pl.store(out, t, [0, 0])
        pl.load(u, v, [8, 0])


BLOCKS = 1
