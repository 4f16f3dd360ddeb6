import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(n: pl.DT_INT32):
    with pl.section_vector():
        for i in pl.range(0, 4, n):
            pl.printf("%d", i)


kernel[None, 1](0)
