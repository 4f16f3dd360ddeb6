"""Store->load of GM in one core unordered."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        t = g.next()
        u = g.next()
        pl.load(t, x, [0, 0])
        pl.store(out, t, [0, 0])
        pl.load(u, out, [0, 0])
        pl.store(out, u, [16, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
