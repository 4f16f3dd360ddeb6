"""Parity by index mixed up."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        for i in pl.range(4):
            pl.load(g[i % 2], x, [i * 16, 0])
            pl.store(out, g[(i + 1) % 2], [i * 16, 0])


EXPECTED = ["UndefinedRead"]
BLOCKS = 1
