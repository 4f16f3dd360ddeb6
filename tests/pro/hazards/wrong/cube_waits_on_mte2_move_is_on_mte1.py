"""Cube waits on MTE2, move is on MTE1."""

from hazards.common import MTE2, MTE3

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
        pl.system.set_cross_core(pipe=MTE3, event_id=0)
    with pl.section_cube():
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[4]
        )
        lt = l1.next()
        pt = p.next()
        pl.system.wait_cross_core(pipe=MTE2, event_id=0)
        pl.move(lt, pt)


EXPECTED = ["DataRace"]
BLOCKS = 1
