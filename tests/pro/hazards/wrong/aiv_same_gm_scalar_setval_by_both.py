"""AIV same GM scalar setval by both."""

from hazards.common import FIX, V

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        pl.system.set_cross_core(pipe=FIX, event_id=0)
    with pl.section_vector():
        pl.system.wait_cross_core(pipe=V, event_id=0)
        pl.setval(out, 0, 1.0)


EXPECTED = ["DataRace"]
BLOCKS = 1
