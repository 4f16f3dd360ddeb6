"""MTE3->MTE2 flag left out but V->MTE2 kept."""

from hazards.common import MTE2, MTE3, V, give, order, take

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        for i in pl.range(4):
            pl.load(a, x, [i * 16, 0])
            order(MTE2, V, 0)
            pl.add(a, a, a)
            give(V, MTE3, 0)
            order(V, MTE2, 0)
            take(V, MTE3, 0)
            pl.store(out, a, [i * 16, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
