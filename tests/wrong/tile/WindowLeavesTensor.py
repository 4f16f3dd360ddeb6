import torch

import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        x = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x0)
        pl.load(x, a, [48, 0])


kernel[None, 1](torch.zeros(64, 128))
