import numpy as np

import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[1, 64], pl.DT_FP32]):
    with pl.section_vector():
        first = pl.make_tile_group(type=pl.TileType(shape=[1, 64], dtype=pl.DT_FP32), addrs=0x0, mutex_ids=[0]).next()
        second = pl.make_tile_group(type=pl.TileType(shape=[1, 64], dtype=pl.DT_FP32), addrs=0x1000, mutex_ids=[1]).next()
        merged = pl.make_tile_group(type=pl.TileType(shape=[1, 128], dtype=pl.DT_FP32), addrs=0x2000, mutex_ids=[2]).next()
        scratch = pl.make_tile_group(type=pl.TileType(shape=[1, 128], dtype=pl.DT_FP32), addrs=0x3000, mutex_ids=[3]).next()
        pl.load(first, x, [0, 0])
        pl.set_validshape(second, [1, 33])
        pl.load(second, x, [0, 0])
        pl.mrgsort2(first, second, merged, scratch)


kernel[None, 1](np.zeros((1, 64), np.float32))
