import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        state = pl.struct("State", rows=[0, 0, 0, 0])
        pl.ssbuf_store(state, 240)


kernel[None, 1](None)
