import numpy as np

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        tile = pl.make_tile(pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec), addr=0)
        pl.store(x, tile, [0, 0])


kernel[None, 1](np.zeros((64, 64), np.float32))
