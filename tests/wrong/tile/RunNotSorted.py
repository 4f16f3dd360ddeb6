import numpy as np

import pypto_pro.language as pl


@pl.jit()
def kernel(x: pl.Tensor[[1, 256], pl.DT_FP32]):
    with pl.section_vector():
        pairs = pl.make_tile_group(type=pl.TileType(shape=[1, 256], dtype=pl.DT_FP32), addrs=0x0, mutex_ids=[0]).next()
        merged = pl.make_tile_group(type=pl.TileType(shape=[1, 256], dtype=pl.DT_FP32), addrs=0x2000, mutex_ids=[1]).next()
        pl.load(pairs, x, [0, 0])
        pl.mrgsort(merged, pairs, block_len=64)


kernel[None, 1](np.arange(256, dtype=np.float32).reshape(1, 256))
