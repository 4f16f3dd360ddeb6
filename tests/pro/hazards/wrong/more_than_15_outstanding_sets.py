"""More than 15 outstanding sets."""

from hazards.common import FIX, V

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        for i in pl.range(20):
            pl.system.set_cross_core(pipe=FIX, event_id=0)
    with pl.section_vector():
        for j in pl.range(3):
            pl.system.bar_all()
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        pl.load(a, x, [0, 0])
        pl.system.bar_all()
        for i in pl.range(20):
            pl.system.wait_cross_core(pipe=V, event_id=0)


EXPECTED = ["TooManySets"]
BLOCKS = 1
