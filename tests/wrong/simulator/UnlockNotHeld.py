import numpy as np

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        pl.system.mutex_unlock(pipe=pl.PipeType.V, mutex_id=3)


kernel[None, 1](np.zeros((64, 64), np.float32))
