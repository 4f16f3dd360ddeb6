import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_cube():
        l1 = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat), addr=0x0)
        value = pl.getval(l1, 0)


kernel[None, 1](None)
