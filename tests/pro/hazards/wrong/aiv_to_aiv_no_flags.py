"""AIV to AIV no flags."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_cube():
        pass
    with pl.section_vector():
        sub = pl.get_subblock_idx()
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        t = g.next()
        pl.load(t, x, [sub * 16, 0])
        pl.store(out, t, [sub * 16, 0])
        pass
        pl.load(t, out, [(1 - sub) * 16, 0])
        pass
        pl.store(out, t, [32 + sub * 16, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
