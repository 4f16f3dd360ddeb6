"""Two AIVs write their own rows."""

from hazards.common import FIX, V

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        pl.system.set_cross_core(pipe=FIX, event_id=0)
    with pl.section_vector():
        pl.system.wait_cross_core(pipe=V, event_id=0)
        sub = pl.get_subblock_idx()
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        for i in pl.range(2):
            t = g.next()
            pl.load(t, x, [(i * 2 + sub) * 16, 0])
            pl.store(out, t, [(i * 2 + sub) * 16, 0])


BLOCKS = 1
