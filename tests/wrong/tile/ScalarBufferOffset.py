import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        state = pl.struct("State", rows=0)
        pl.ssbuf_load(state, 2)


kernel[None, 1](None)
