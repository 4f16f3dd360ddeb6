"""CV waits for the other event: later than needed, never too early."""

from hazards.common import FIX, MTE3, V

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[128, 64], pl.DT_FP32], out: pl.Tensor[[128, 64], pl.DT_FP32], y: pl.Tensor[[64, 64], pl.DT_FP32]):
    mm = pl.make_tile_group(
        type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec), addrs=0, mutex_ids=[12, 13]
    )
    with pl.section_cube():
        a1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0, mutex_ids=[0, 1]
        )
        b1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0x10000, mutex_ids=[2]
        )
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[4]
        )
        r1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right), addrs=0, mutex_ids=[5]
        )
        c1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
            addrs=0,
            mutex_ids=[6],
        )
        bt = b1.next()
        pl.load(bt, y, [0, 0])
        rt = r1.next()
        pl.move(rt, bt)
        for i in pl.range(4):
            at = a1.next()
            lt = l1.next()
            ct = c1.next()
            pl.load(at, x, [i * 32, 0])
            pl.move(lt, at)
            pl.matmul(ct, lt, rt)
            m = mm.next()
            pl.system.wait_cross_core(pipe=FIX, event_id=2 + i % 2)
            pl.move(m, ct, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)
            pl.system.set_cross_core(pipe=FIX, event_id=i % 2)
    with pl.section_vector():
        sub = pl.get_subblock_idx()
        pl.system.set_cross_core(pipe=MTE3, event_id=2)
        pl.system.set_cross_core(pipe=MTE3, event_id=3)
        for i in pl.range(4):
            m = mm.next()
            pl.system.wait_cross_core(pipe=V, event_id=(i + 1) % 2)
            pl.add(m, m, m)
            pl.store(out, m, [i * 32 + sub * 16, 0])
            pl.system.set_cross_core(pipe=MTE3, event_id=2 + i % 2)
        pass
    with pl.section_cube():
        pl.system.wait_cross_core(pipe=FIX, event_id=2)
        pl.system.wait_cross_core(pipe=FIX, event_id=3)


BLOCKS = 1
