"""Pointer out of bounds."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32], p: pl.Ptr[pl.DT_FP32]):
    with pl.section_vector():
        v = pl.make_tensor(p + 3072, [32, 64])
        g = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        t = g.next()
        pl.load(t, v, [0, 0])


EXPECTED = ["WindowOutsideMemory"]
BLOCKS = 1
