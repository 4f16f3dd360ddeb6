import numpy as np

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(base: pl.Ptr[pl.DT_FP32]):
    with pl.section_vector():
        tile = pl.make_tile(pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec), addr=0)
        view = pl.make_tensor(base, [64, 64])
        pl.load(tile, view, [0, 0])


kernel[None, 1](np.zeros(64 * 63, np.float32))
