"""GM disjoint column windows by two AIVs."""

from hazards.common import FIX, MTE2

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        pl.system.set_cross_core(pipe=FIX, event_id=0)
    with pl.section_vector():
        pl.system.wait_cross_core(pipe=MTE2, event_id=0)
        sub = pl.get_subblock_idx()
        g = pl.make_tile_group(type=pl.TileType(shape=[64, 32], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        t = g.next()
        pl.load(t, x, [0, sub * 32])
        pl.store(out, t, [0, sub * 32])


BLOCKS = 1
