import numpy as np

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)


kernel[None, 1](np.zeros((64, 64), np.float32))
