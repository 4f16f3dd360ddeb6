"""Keyword tile unlocked: quant offset."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        g = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        s = pl.make_tile_group(type=pl.TileType(shape=[16, 1], dtype=pl.DT_FP32, layout=pl.DN), addrs=0x1000, mutex_ids=[1])
        z = pl.make_tile_group(type=pl.TileType(shape=[16, 1], dtype=pl.DT_FP32, layout=pl.DN), addrs=0x2000, mutex_ids=[2])
        q = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_UINT8), addrs=0x3000, mutex_ids=[3])
        t = g.next()
        st = s.next()
        zt = z.next()
        qt = q.next()
        pl.load(t, x, [0, 0])
        pl.expands(st, 1.0)
        pl.load(zt, x, [0, 0])
        pl.quant(qt, t, st, mode=pl.QuantMode.ASYM, offset=zt)


EXPECTED = ["DataRace"]
BLOCKS = 1
