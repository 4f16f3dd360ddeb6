"""Manual mutex: lock not released."""

from hazards.common import MTE2, MTE3

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        pl.system.mutex_lock(pipe=MTE2, mutex_id=3)
        pl.load(a, x, [0, 0])
        pl.system.mutex_lock(pipe=MTE3, mutex_id=3)
        pl.store(out, a, [0, 0])
        pl.system.mutex_unlock(pipe=MTE3, mutex_id=3)


EXPECTED = ["Deadlock"]
BLOCKS = 1
