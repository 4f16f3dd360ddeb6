import numpy as np

import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32], offsets: pl.Tensor[[32, 8], pl.DT_UINT32]):
    with pl.section_vector():
        a = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0x0, mutex_ids=[0]).next()
        starts = pl.make_tile_group(type=pl.TileType(shape=[32, 8], dtype=pl.DT_UINT32), addrs=0x2000, mutex_ids=[1]).next()
        blocks = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0x4000, mutex_ids=[2]).next()
        pl.load(a, x, [0, 0])
        pl.load(starts, offsets, [0, 0])
        pl.gatherb(blocks, a, starts)


kernel[None, 1](np.ones((32, 64), np.float32), np.arange(256, dtype=np.uint32).reshape(32, 8))
