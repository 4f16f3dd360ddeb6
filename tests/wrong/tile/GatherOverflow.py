import numpy as np

import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0x0, mutex_ids=[0]).next()
        columns = pl.make_tile_group(type=pl.TileType(shape=[32, 8], dtype=pl.DT_UINT32), addrs=0x2000, mutex_ids=[1]).next()
        counts = pl.make_tile_group(type=pl.TileType(shape=[32, 8], dtype=pl.DT_UINT32), addrs=0x4000, mutex_ids=[2]).next()
        scratch = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0x6000, mutex_ids=[3]).next()
        pl.load(a, x, [0, 0])
        pl.gather(columns, a, 0.5, counts, scratch, cmp_mode=4)


kernel[None, 1](np.ones((32, 64), np.float32))
