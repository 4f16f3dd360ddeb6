"""Ssbuf without sync."""

from hazards.common import S

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    s = pl.struct("S", n=0)
    with pl.section_vector():
        sub = pl.get_subblock_idx()
        if sub == 0:
            pl.ssbuf_store(s, 0)
        pl.system.set_cross_core(pipe=S, event_id=3)
    with pl.section_cube():
        pl.ssbuf_load(s, 0)
        pl.system.wait_cross_core(pipe=S, event_id=3)


EXPECTED = ["DataRace"]
BLOCKS = 1
