"""Ring too short: flags back only every second."""

from hazards.common import MTE2, MTE3, give, order, take

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, depth=2)
        give(MTE3, MTE2, 0)
        give(MTE3, MTE2, 1)
        give(MTE3, MTE2, 2)
        for i in pl.range(4):
            t = g.next()
            take(MTE3, MTE2, i % 3)
            pl.load(t, x, [i * 16, 0])
            order(MTE2, MTE3, 0)
            pl.store(out, t, [i * 16, 0])
            give(MTE3, MTE2, i % 3)
        for j in pl.range(3):
            take(MTE3, MTE2, j)


EXPECTED = ["DataRace"]
BLOCKS = 1
