import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        nz = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, layout=pl.NZ), addr=0x0)
        big = pl.make_tile(pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addr=0x0)
        pl.insert(big, nz, [0, 64])


kernel[None, 1](None)
