"""Phase never final."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[128, 64], pl.DT_FP32], out: pl.Tensor[[128, 64], pl.DT_FP32], y: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        a1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0, mutex_ids=[0]
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
            pl.matmul(ct, lt, rt, phase=pl.AccPhase.Partial)
            pl.matmul_acc(ct, ct, lt, rt, phase=pl.AccPhase.Partial)
            pl.store(out, ct, [i * 32, 0], phase=pl.STPhase.Final)


EXPECTED = ["Deadlock"]
BLOCKS = 1
