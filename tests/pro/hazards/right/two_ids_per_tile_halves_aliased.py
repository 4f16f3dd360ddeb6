"""Two ids per tile, halves aliased."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        whole = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[[0, 1]])
        halves = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        w = whole.next()
        for i in pl.range(2):
            pl.load(w, x, [i * 32, 0])
            h = halves.next()
            pl.add(h, h, h)
            h2 = halves.next()
            pl.add(h2, h2, h2)
            pl.store(out, w, [i * 32, 0])


BLOCKS = 1
