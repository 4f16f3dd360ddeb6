"""AIV to AIV by subblock flags."""

from hazards.common import MTE2, MTE3

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        pass
    with pl.section_vector():
        sub = pl.get_subblock_idx()
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        t = g.next()
        pl.load(t, x, [sub * 16, 0])
        pl.store(out, t, [sub * 16, 0])
        pl.system.set_cross_core(pipe=MTE3, event_id=0, sync_mode=pl.CrossCoreSyncMode.INTER_SUBBLOCK)
        pl.system.wait_cross_core(pipe=MTE2, event_id=0, sync_mode=pl.CrossCoreSyncMode.INTER_SUBBLOCK)
        pl.load(t, out, [(1 - sub) * 16, 0])
        pass
        pl.store(out, t, [32 + sub * 16, 0])


BLOCKS = 1
