"""Address reuse under another name/dtype."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        h = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP16), addrs=0x800, mutex_ids=[1])
        t = g.next()
        u = h.next()
        pl.load(t, x, [0, 0])
        pl.expands(u, 1.0)
        pl.store(out, t, [0, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
