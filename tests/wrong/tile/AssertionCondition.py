import torch

import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32], n: pl.DT_INT32):
    with pl.section_vector():
        pl.pto_assert(n)


kernel[None, 1](torch.zeros(64, 128), 7)
