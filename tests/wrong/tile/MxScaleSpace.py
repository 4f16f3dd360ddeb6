import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_cube():
        acc = pl.make_tile(pl.TileType(shape=[32, 48], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addr=0x0)
        left8 = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP8E4M3FN, target_memory=pl.MemorySpace.Left), addr=0x0)
        right8 = pl.make_tile(pl.TileType(shape=[64, 48], dtype=pl.DT_FP8E5M2, target_memory=pl.MemorySpace.Right), addr=0x0)
        sa = pl.make_tile(pl.TileType(shape=[32, 2], dtype=pl.DT_FP8E8M0, target_memory=pl.MemorySpace.ScaleLeft), addr=0x0)
        sb = pl.make_tile(pl.TileType(shape=[2, 48], dtype=pl.DT_FP8E8M0, target_memory=pl.MemorySpace.ScaleRight), addr=0x0)
        pl.matmul_mx(acc, left8, right8, sb, sa)


kernel[None, 1](None)
