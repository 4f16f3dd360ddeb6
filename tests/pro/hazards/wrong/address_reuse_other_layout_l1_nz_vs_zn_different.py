"""Address reuse other layout (L1 NZ vs ZN), different ids."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        g = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addrs=0, mutex_ids=[0]
        )
        h = pl.make_tile_group(
            type=pl.TileType(shape=[64, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.ZN),
            addrs=0,
            mutex_ids=[1],
        )
        l = pl.make_tile_group(
            type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[2]
        )
        t = g.next()
        u = h.next()
        lt = l.next()
        pl.load(t, x, [0, 0])
        pl.move(lt, t)
        pl.load(u, x, [0, 0], order=[1, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
