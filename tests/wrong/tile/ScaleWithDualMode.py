import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_cube():
        acc = pl.make_tile(pl.TileType(shape=[32, 48], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addr=0x0)
        scale = pl.make_tile(pl.TileType(shape=[1, 48], dtype=pl.DT_INT64, target_memory=pl.MemorySpace.Scaling), addr=0x0)
        x = pl.make_tile(pl.TileType(shape=[16, 48], dtype=pl.DT_INT8), addr=0x0)
        pl.move(x, acc, scale=scale, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


kernel[None, 1](None)
