import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(n: pl.DT_INT32):
    with pl.section_vector():
        values = pl.struct("Values", sizes=[1, 2, 3])
        values.sizes[n] = 4


kernel[None, 1](3)
