"""Scalar setval then store without S->MTE3."""

from hazards.common import MTE2, S, order

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        pl.load(a, x, [0, 0])
        order(MTE2, S, 0)
        pl.setval(a, 0, 1.0)
        pl.store(out, a, [0, 0])


EXPECTED = ["DataRace"]
BLOCKS = 1
