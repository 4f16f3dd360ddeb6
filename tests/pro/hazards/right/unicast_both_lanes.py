"""Unicast both lanes."""

from hazards.common import MTE1, MTE3

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    p = pl.make_tile_group(
        type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
        addrs=0,
        mutex_ids=[14],
    )
    with pl.section_vector():
        sub = pl.get_subblock_idx()
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        z = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, layout=pl.NZ), addrs=0x1000, mutex_ids=[1])
        t = g.next()
        n = z.next()
        pl.load(t, x, [sub * 16, 0])
        pl.move(n, t)
        pt = p.next()
        pl.insert(pt, n, [sub * 16, 0])
        pl.system.set_cross_core(pipe=MTE3, event_id=sub * 16, sync_mode=pl.CrossCoreSyncMode.UNICAST_BLOCK)
    with pl.section_cube():
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[4]
        )
        lt = l1.next()
        pt = p.next()
        pl.system.wait_cross_core(pipe=MTE1, event_id=0, sync_mode=pl.CrossCoreSyncMode.UNICAST_BLOCK)
        q = pl.get_block_num() * 16
        pl.system.wait_cross_core(pipe=MTE1, event_id=q, sync_mode=pl.CrossCoreSyncMode.UNICAST_BLOCK)
        pl.move(lt, pt)


BLOCKS = 1
