"""Set in one arm of an if only."""

from hazards.common import MTE2, MTE3, give, order, take

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        for i in pl.range(4):
            if i > 0:
                take(MTE3, MTE2, 0)
            pl.load(a, x, [i * 16, 0])
            order(MTE2, MTE3, 1)
            pl.store(out, a, [i * 16, 0])
            if i < 2:
                give(MTE3, MTE2, 0)


EXPECTED = ["Deadlock"]
BLOCKS = 1
