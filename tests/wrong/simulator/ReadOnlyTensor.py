import numpy as np

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        tile = pl.make_tile(pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec), addr=0)
        pl.expands(tile, 0.0)
        pl.system.bar_all()
        pl.store(x, tile, [0, 0])


x = np.zeros((64, 64), np.float32)
x.flags.writeable = False
kernel[None, 1](x)
