"""Inputs that nobody writes first: odd extents, strides, values, through kernels."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import pypto_pro.language as pl
from pypto.errors.simulation import DataRace

SPACE = pl.MemorySpace.Vec


@pl.jit(datatype={"x": "T", "out": "T"})
def negative(x: pl.Tensor[[9, 1], T], out: pl.Tensor[[9, 1], T]):  # noqa: F821
    with pl.section_vector():
        given = pl.make_tile_group(type=pl.TileType(shape=[9, 8], dtype=T), addrs=0, mutex_ids=[0])  # noqa: F821
        made = pl.make_tile_group(type=pl.TileType(shape=[9, 8], dtype=T), addrs=576, mutex_ids=[1])  # noqa: F821
        tile, result = given.next(), made.next()
        pl.set_validshape(tile, [9, 1])
        pl.set_validshape(result, [9, 1])
        pl.load(tile, x, [0, 0])
        pl.neg(result, tile)
        pl.store(out, result, [0, 0])


@pytest.mark.parametrize("dtype", ["INT32", "INT64", "UINT32", "UINT64", "FP32"])
def test_one_column_of_wide_rows_is_negated(dtype):
    """NumPy 2.4.6 negates a strided column as if it were contiguous; the tile level must not."""
    kind = getattr(pl, f"DT_{dtype}")
    x = np.arange(1, 10).reshape(9, 1).astype({"FP32": np.float32}.get(dtype, dtype.lower()))
    out = np.zeros_like(x)
    negative[None, 1, {"x": kind, "out": kind}](x, out)
    assert np.array_equal(out, x * x.dtype.type(-1) if dtype[0] != "U" else ~x + x.dtype.type(1))


@pl.jit
def constants(out: pl.Tensor[[3], pl.DT_INT64]):
    out[0] = pl.const(300, pl.DT_INT8)
    out[1] = pl.const(-1, pl.DT_UINT16)
    out[2] = pl.const(7, pl.DT_INT32)


def test_a_constant_has_the_values_of_its_type():
    out = np.zeros(3, np.int64)
    constants(out)
    assert out.tolist() == [44, 65535, 7]


@pl.jit
def one_row_each(x: pl.Tensor[[pl.DYNAMIC, 64], pl.DT_FP32], out: pl.Tensor[[pl.DYNAMIC, 64], pl.DT_FP32], far: pl.DT_INT32):
    with pl.section_vector():
        row = pl.get_block_idx()
        ring = pl.make_tile_group(type=pl.TileType(shape=[1, 64], dtype=pl.DT_FP32), addrs=0x20000, mutex_ids=[0])
        tile = ring.next()
        pl.load(tile, x, [row, 0])
        pl.store(out, tile, [pl.max(row - far, 0), 0])


def test_many_blocks_need_the_memories_of_one():
    x = np.random.default_rng(0).standard_normal((300, 64), np.float32)
    out = np.zeros_like(x)
    one_row_each[300](x, out, 0)  # compiled
    tracemalloc.start()
    try:
        one_row_each[300](x, out, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(out, x)
    assert peak < 30 << 20  # 300 blocks of 248 KB would be 73 MB


def test_blocks_that_are_not_neighbours_race():
    x = np.ones((40, 64), np.float32)
    one_row_each[3](x, np.zeros_like(x), 0)
    with pytest.raises(DataRace) as caught:
        one_row_each[3](x, np.zeros_like(x), 2)
    assert "of block 1" in str(caught.value) and "of block 0" in str(caught.value)
    x[7] = 5
    out = np.zeros_like(x)
    with pytest.raises(DataRace) as caught:
        skipping[9](x, out)
    assert "of block 8" in str(caught.value) and "of block 0" in str(caught.value)


@pl.jit
def skipping(x: pl.Tensor[[40, 64], pl.DT_FP32], out: pl.Tensor[[40, 64], pl.DT_FP32]):
    with pl.section_vector():
        row = pl.get_block_idx()
        ring = pl.make_tile_group(type=pl.TileType(shape=[1, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0])
        tile = ring.next()
        pl.load(tile, x, [row, 0])
        pl.store(out, tile, [row % 8, 0])
