"""NZ writes by two AIVs overlap by 1 row."""

from hazards.common import MTE1, MTE3

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[32, 64], pl.DT_FP32], out: pl.Tensor[[32, 64], pl.DT_FP32], y: pl.Tensor[[64, 64], pl.DT_FP32]):
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
        pl.insert(pt, n, [sub * 15, 0])
        pl.system.set_cross_core(pipe=MTE3, event_id=0)
    with pl.section_cube():
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[4]
        )
        r1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right), addrs=0, mutex_ids=[5]
        )
        b1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0x10000, mutex_ids=[2]
        )
        c1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
            addrs=0,
            mutex_ids=[6],
        )
        bt = b1.next()
        rt = r1.next()
        lt = l1.next()
        ct = c1.next()
        pl.load(bt, y, [0, 0])
        pl.move(rt, bt)
        pt = p.next()
        pl.system.wait_cross_core(pipe=MTE1, event_id=0)
        pl.move(lt, pt)
        pl.matmul(ct, lt, rt)
        pl.store(out, ct, [0, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
