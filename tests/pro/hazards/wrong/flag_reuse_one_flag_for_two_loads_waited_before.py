"""Flag reuse: one flag for two loads, waited before second."""

from hazards.common import MTE2, MTE3, V, give, order, take

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        b = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0x1000)
        pl.load(a, x, [0, 0])
        give(MTE2, V, 0)
        pl.load(b, x, [16, 0])
        take(MTE2, V, 0)
        pl.add(a, a, b)
        order(V, MTE3, 0)
        pl.store(out, a, [0, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
