"""Race only in last iteration."""

from hazards.common import MTE2, V, order

import pypto_pro.language as pl


@pl.jit(auto_mutex=False)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        a = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0)
        b = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addr=0x1000)
        for i in pl.range(4):
            pl.load(a, x, [i * 16, 0])
            if i == 3:
                pl.expands(b, 1.0)
                pl.store(out, b, [0, 0])
            order(MTE2, V, 0)
            order(V, MTE2, 0)


EXPECTED = ["DataRace"]
BLOCKS = 1
