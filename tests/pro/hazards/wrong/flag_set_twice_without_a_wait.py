"""Flag set twice without a wait."""

from hazards.common import MTE2, V, give, take

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        pl.load(a, x, [0, 0])
        give(MTE2, V, 0)
        give(MTE2, V, 0)
        take(MTE2, V, 0)
        pl.add(a, a, a)


EXPECTED = ["FlagSetTwice"]
BLOCKS = 1
