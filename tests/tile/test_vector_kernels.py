"""Small kernels in the language: vector rows as users write them, through parser, locks and simulator."""

from __future__ import annotations

import numpy as np
import pytest

import pypto_pro.language as pl

VEC = pl.MemorySpace.Vec


@pl.jit()
def top_eight(x: pl.Tensor[[1, 256], pl.DT_FP32], out: pl.Tensor[[1, 16], pl.DT_FP32]):
    with pl.section_vector():
        row = pl.TileType(shape=[1, 256], dtype=pl.DT_FP32, target_memory=VEC)
        index = pl.TileType(shape=[1, 256], dtype=pl.DT_UINT32, target_memory=VEC)
        pairs = pl.TileType(shape=[1, 512], dtype=pl.DT_FP32, target_memory=VEC)
        quarter = pl.TileType(shape=[1, 16], dtype=pl.DT_FP32, target_memory=VEC)
        a = pl.make_tile_group(type=row, addrs=0, mutex_ids=[0])
        i = pl.make_tile_group(type=index, addrs=0x1000, mutex_ids=[1])
        p = pl.make_tile_group(type=pairs, addrs=0x2000, mutex_ids=[2])
        q = pl.make_tile_group(type=pairs, addrs=0x3000, mutex_ids=[3])
        s = pl.make_tile_group(type=quarter, addrs=0x4000, mutex_ids=[4])
        ta = a.next()
        ti = i.next()
        tp = p.next()
        tq = q.next()
        ts = s.next()
        pl.load(ta, x, [0, 0])
        pl.fill_index(ti, 0)
        pl.sort32(tp, ta, ti)
        pl.mrgsort(tq, tp, block_len=64)
        pl.mrgsort2(tq[0:1, 0:256], tq[0:1, 256:512], ts, tp)
        pl.store(out, ts, [0, 0])


def test_top_eight():
    x = np.random.default_rng(1).standard_normal((1, 256)).astype(np.float32)
    out = np.zeros((1, 16), np.float32)
    top_eight[1](x, out)
    order = np.argsort(-x[0], kind="stable")[:8]
    assert out[0, 0::2].tolist() == x[0, order].tolist()
    assert out[0, 1::2].copy().view(np.uint32).tolist() == order.tolist()


@pl.jit()
def quantised(
    x: pl.Tensor[[16, 64], pl.DT_FP32],
    scales: pl.Tensor[[16, 1], pl.DT_FP32],
    out: pl.Tensor[[16, 64], pl.DT_UINT8],
    back: pl.Tensor[[16, 64], pl.DT_FP32],
):
    with pl.section_vector():
        full = pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, target_memory=VEC)
        bytes_ = pl.TileType(shape=[16, 64], dtype=pl.DT_UINT8, target_memory=VEC)
        small = pl.TileType(shape=[16, 64], dtype=pl.DT_INT8, target_memory=VEC)
        column = pl.TileType(shape=[16, 1], dtype=pl.DT_FP32, target_memory=VEC, layout=pl.DN)
        a = pl.make_tile_group(type=full, addrs=0, mutex_ids=[0])
        b = pl.make_tile_group(type=bytes_, addrs=0x1000, mutex_ids=[1])
        c = pl.make_tile_group(type=small, addrs=0x1800, mutex_ids=[2])
        s = pl.make_tile_group(type=column, addrs=0x2000, mutex_ids=[3])
        z = pl.make_tile_group(type=column, addrs=0x2100, mutex_ids=[4])
        ta = a.next()
        tb = b.next()
        tc = c.next()
        ts = s.next()
        tz = z.next()
        pl.load(ta, x, [0, 0])
        pl.load(ts, scales, [0, 0])
        pl.expands(tz, 128.0)
        pl.quant(tb, ta, ts, mode=pl.QuantMode.ASYM, offset=tz)
        pl.store(out, tb, [0, 0])
        pl.quant(tc, ta, ts)
        pl.recip(ts, ts)
        pl.expands(tz, 0)
        pl.dequant(ta, tc, ts, tz)
        pl.store(back, ta, [0, 0])


@pytest.mark.filterwarnings("error")
def test_quantised():
    random = np.random.default_rng(1)
    x = random.standard_normal((16, 64)).astype(np.float32)
    scales = np.full((16, 1), 32, np.float32)
    out, back = np.zeros((16, 64), np.uint8), np.zeros((16, 64), np.float32)
    quantised[1](x, scales, out, back)
    whole = np.rint(x * scales)
    assert (out == np.clip(whole + 128, 0, 255)).all()
    assert (back == np.clip(whole, -128, 127) / 32).all()


@pl.jit()
def masked(x: pl.Tensor[[16, 64], pl.DT_FP32], out: pl.Tensor[[16, 64], pl.DT_FP32], rows: pl.DT_INT32):
    with pl.section_vector():
        full = pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, target_memory=VEC, pad=pl.TilePad.zero)
        bits = pl.TileType(shape=[16, 64], dtype=pl.DT_UINT8, target_memory=VEC)
        a = pl.make_tile_group(type=full, addrs=0, mutex_ids=[0])
        b = pl.make_tile_group(type=full, addrs=0x1000, mutex_ids=[1])
        m = pl.make_tile_group(type=bits, addrs=0x2000, mutex_ids=[2])
        ta = a.next()
        tb = b.next()
        tm = m.next()
        pl.set_validshape(ta, [rows, 50])
        pl.load(ta, x, [0, 0])
        pl.gt(tm, ta, 0.0)
        pl.select(ta, tm, ta, -1.0, tb)
        pl.fillpad(ta, ta, mode=pl.FillPadMode.INPLACE)
        pl.fillpad(tb, ta)
        pl.store(out, tb, [0, 0])


@pytest.mark.parametrize("rows", [16, 5, 1])
def test_masked_and_padded(rows):
    x = np.random.default_rng(1).standard_normal((16, 64)).astype(np.float32)
    out = np.full((16, 64), 7, np.float32)
    masked[1](x, out, rows)
    wanted = np.zeros((16, 64), np.float32)
    wanted[:rows, :50] = np.where(x > 0, x, -1)[:rows, :50]
    assert (out == wanted).all()


@pl.jit()
def positions(
    x: pl.Tensor[[8, 64], pl.DT_FP32],
    found: pl.Tensor[[8, 64], pl.DT_UINT32],
    counts: pl.Tensor[[8, 1], pl.DT_UINT32],
    moved: pl.Tensor[[8, 64], pl.DT_FP32],
):
    with pl.section_vector():
        full = pl.TileType(shape=[8, 64], dtype=pl.DT_FP32, target_memory=VEC)
        index = pl.TileType(shape=[8, 64], dtype=pl.DT_UINT32, target_memory=VEC)
        column = pl.TileType(shape=[8, 1], dtype=pl.DT_UINT32, target_memory=VEC, layout=pl.DN)
        a = pl.make_tile_group(type=full, addrs=0, mutex_ids=[0])
        b = pl.make_tile_group(type=full, addrs=0x1000, mutex_ids=[1])
        i = pl.make_tile_group(type=index, addrs=0x2000, mutex_ids=[2])
        j = pl.make_tile_group(type=index, addrs=0x3000, mutex_ids=[3])
        c = pl.make_tile_group(type=column, addrs=0x4000, mutex_ids=[4])
        ta = a.next()
        tb = b.next()
        ti = i.next()
        tj = j.next()
        tc = c.next()
        pl.load(ta, x, [0, 0])
        pl.expands(ti, 999)
        pl.gather(ti, ta, 0.5, tc, tb, cmp_mode=4)
        pl.store(found, ti, [0, 0])
        pl.store(counts, tc, [0, 0])
        pl.fill_index(tj[0:1, 0:64], 64)
        pl.col_expand(tj, tj[0:1, 0:64])
        pl.gather(tb, ta, tj, ti)
        pl.scatter(ta, tb[0:1, 0:64], tj[0:1, 0:64])
        pl.store(moved, ta, [0, 0])


def test_positions():
    x = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)
    found, counts, moved = np.zeros((8, 64), np.uint32), np.zeros((8, 1), np.uint32), np.zeros((8, 64), np.float32)
    positions[1](x, found, counts, moved)
    for row in range(8):
        columns = np.flatnonzero(x[row] > 0.5)
        assert counts[row, 0] == len(columns) and found[row, : len(columns)].tolist() == columns.tolist()
        assert (found[row, len(columns) :] == 999).all()
    assert (moved == x).all()  # row 1 copied to every row of tb, its first row scattered back to row 1


@pl.jit()
def refused(x: pl.Tensor[[16, 64], pl.DT_FP32], out: pl.Tensor[[16, 64], pl.DT_FP32], rows: pl.DT_INT32):
    with pl.section_vector():
        full = pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, target_memory=VEC)
        a = pl.make_tile_group(type=full, addrs=0, mutex_ids=[0])
        b = pl.make_tile_group(type=full, addrs=0x1000, mutex_ids=[1])
        ta = a.next()
        tb = b.next()
        pl.set_validshape(ta, [rows, 64])
        pl.load(ta, x, [0, 0])
        pl.exp(tb, ta)
        pl.store(out, tb, [0, 0])


def test_an_input_that_is_too_short_names_the_line():
    x, out = np.zeros((16, 64), np.float32), np.zeros((16, 64), np.float32)
    refused[1](x, out, 16)
    with pytest.raises(RuntimeError, match="exp: src is valid on 5 x 64 elements, but the result needs 16 x 64") as caught:
        refused[1](x, out, 5)
    assert "pl.exp(tb, ta)" in str(caught.value)
