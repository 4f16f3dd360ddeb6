"""FIX store then MTE2 load of the same GM, flag FIX->MTE2."""

from hazards.common import FIX, MTE2, order

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        a1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0, mutex_ids=[0]
        ).next()
        b1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0x10000, mutex_ids=[2]
        ).next()
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[4]
        ).next()
        r1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right), addrs=0, mutex_ids=[5]
        ).next()
        c1 = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
            addrs=0,
            mutex_ids=[6],
        ).next()
        pl.load(b1, x, [0, 0])
        pl.move(r1, b1)
        pl.load(a1, x, [0, 0])
        pl.move(l1, a1)
        pl.matmul(c1, l1, r1)
        pl.store(out, c1, [0, 0])
        order(FIX, MTE2, 0)
        pl.load(a1, out, [0, 0])


BLOCKS = 1
