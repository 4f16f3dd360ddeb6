import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(n: pl.DT_INT32):
    with pl.section_vector():
        group = pl.make_tile_group(
            type=pl.TileType(shape=[8, 8], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec), addrs=0, mutex_ids=[0, 1]
        )
        tile = group[n]
        pl.expands(tile, 0.0)


kernel[None, 1](2)
