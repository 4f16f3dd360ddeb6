import torch

import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 64], pl.DT_FP4E2M1]):
    with pl.section_vector():
        x = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP4E2M1), addr=0x0)
        pl.set_stride(a, [64, 1])
        pl.load(x, a, [0, 1])


kernel[None, 1](torch.zeros(64, 64, dtype=torch.uint8))
