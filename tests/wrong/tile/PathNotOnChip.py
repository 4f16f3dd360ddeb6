import pypto_pro.language as pl


@pl.jit(auto_mutex=False, arch="a3")
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_cube():
        acc = pl.make_tile(pl.TileType(shape=[32, 48], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addr=0x0)
        x = pl.make_tile(pl.TileType(shape=[32, 48], dtype=pl.DT_FP32), addr=0x0)
        pl.move(x, acc)


kernel[None, 1](None)
