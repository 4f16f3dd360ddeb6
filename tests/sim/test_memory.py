"""Tiles over bytes, and exact footprints, against element-by-element definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.cores.enums import MemorySpace, TensorLayout
from pypto.cores.layout import placement
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors import simulation as errors
from pypto.sim.footprint import Footprint, common, tile_pieces
from pypto.sim.memory import TensorMemory, tile_over

SHAPES = [(16, 32), (32, 64), (48, 96)]
TYPES = {1: DataType.DT_INT8, 2: DataType.DT_INT16, 4: DataType.DT_INT32}


@st.composite
def rectangles(draw):
    """A tile type and a rectangle of it."""
    shape, size = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(sorted(TYPES)))
    layout = draw(st.sampled_from(list(TensorLayout)))
    row, column = draw(st.integers(0, shape[0] - 1)), draw(st.integers(0, shape[1] - 1))
    extent = (draw(st.integers(1, shape[0] - row)), draw(st.integers(1, shape[1] - column)))
    return Tile(shape, TYPES[size], MemorySpace.Vec, layout), (row, column, *extent)


def bytes_of(tile, rectangle, address=0):
    """The definition: every byte of every element."""
    size = tile.dtype.size
    place = placement(tile.shape, size, tile.layout, tile.fractal)
    row, column, rows, columns = rectangle
    cells = itertools.product(range(row, row + rows), range(column, column + columns))
    return {address + place.element(i, j) * size + byte for i, j in cells for byte in range(size)}


def footprint(tile, rectangle, address=0):
    place = placement(tile.shape, tile.dtype.size, tile.layout, tile.fractal)
    return Footprint(tile_pieces(place, address, tile.dtype.facts.bits, rectangle))


def spread(starts, ends):
    return {byte for start, end in zip(starts, ends, strict=True) for byte in range(start, end)}


@settings(max_examples=80, derandomize=True, deadline=None)
@given(rectangles())
def test_footprints_hold_exactly_the_bytes(one):
    assert spread(*footprint(*one, 512).intervals) == bytes_of(*one, 512)


@settings(max_examples=80, derandomize=True, deadline=None)
@given(rectangles(), rectangles(), st.sampled_from([0, 64, 1024]))
def test_footprints_meet_where_bytes_are_common(one, other, address):
    mine, theirs = footprint(*one), footprint(*other, address)
    shared = bytes_of(*one) & bytes_of(*other, address)
    assert mine.meets(theirs) == theirs.meets(mine) == bool(shared)
    assert spread(*common(mine, theirs)) == shared


def test_rows_of_one_pitch_are_compared_as_rectangles():
    tile = Tile((64, 64), DataType.DT_FP32)
    halves = [footprint(tile, (0, column, 64, 32)) for column in (0, 32)]
    assert not halves[0].meets(halves[1]) and halves[0].meets(footprint(tile, (63, 31, 1, 2)))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(rectangles(), st.integers(0, 2**31))
def test_blocks_are_read_and_written_where_they_lie(one, seed):
    kind, (row, column, rows, columns) = one
    memory = np.random.default_rng(seed).integers(0, 255, 32768, dtype=np.uint8)
    tile = tile_over(memory, kind, 512)
    values = np.random.default_rng(seed + 1).integers(-100, 100, (rows, columns)).astype(tile.numpy_dtype)
    expected = memory.copy()
    for i, j in itertools.product(range(rows), range(columns)):
        start = 512 + tile.placement.element(row + i, column + j) * values.itemsize
        expected[start : start + values.itemsize] = values[i, j : j + 1].view(np.uint8)
    tile.write_block(row, column, values)
    assert np.array_equal(memory, expected) and np.array_equal(tile.read_block(row, column, rows, columns), values)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.sampled_from(list(TensorLayout)), st.integers(0, 63), st.integers(0, 60), st.data())
def test_four_bit_elements(layout, row, column, draw):
    rows, columns = draw.draw(st.integers(1, 64 - row)), draw.draw(st.integers(1, 64 - column))
    memory = np.full(4096, 0x5A, np.uint8)
    tile = tile_over(memory, Tile((64, 64), DataType.DT_INT4, MemorySpace.Vec, layout), 0)
    before = tile.read_block(0, 0, 64, 64).astype(np.int8)
    values = np.random.default_rng(rows).integers(-8, 8, (rows, columns)).astype(np.int8)
    tile.write_block(row, column, values.astype(tile.numpy_dtype))
    expected = before.copy()
    expected[row : row + rows, column : column + columns] = values
    assert np.array_equal(tile.read_block(0, 0, 64, 64).astype(np.int8), expected)


def test_four_bit_elements_lie_two_in_a_byte():
    memory = np.zeros(64, np.uint8)
    tile = tile_over(memory, Tile((1, 8), DataType.DT_FP4_E2M1), 0)
    tile.write(np.arange(8, dtype=np.uint8)[None])
    assert memory[:4].tolist() == [0x10, 0x32, 0x54, 0x76] and tile.end == 4
    place = placement((16, 64), 0.5, TensorLayout.NZ)
    assert spread(*Footprint(tile_pieces(place, 0, 4, (0, 0, 16, 64))).intervals) == set(range(512))
    assert spread(*Footprint(tile_pieces(placement((1, 8), 0.5, TensorLayout.ND), 0, 4, (0, 3, 1, 2))).intervals) == {1, 2}


def test_nz_and_zn_of_the_transpose_are_the_same_bytes():
    memory = np.zeros(64 * 32 * 2, np.uint8)
    one = tile_over(memory, Tile((64, 32), DataType.DT_FP16, MemorySpace.Mat, TensorLayout.NZ), 0)
    other = tile_over(memory, Tile((32, 64), DataType.DT_FP16, MemorySpace.Mat, TensorLayout.ZN), 0)
    values = np.arange(64 * 32, dtype=np.float16).reshape(64, 32)
    one.write(values)
    assert np.array_equal(other.read(), values.T)


def test_windows_keep_what_is_valid():
    tile = tile_over(np.zeros(16384, np.uint8), Tile((64, 64), DataType.DT_FP32), 0, name="x")
    tile.set_valid(20, 64)
    part = tile.window(16, 32, 8, 40)
    assert (part.rows, part.columns, part.type.shape) == (4, 32, (16, 32)) and part is tile.window(16, 32, 8, 40)
    part.write(np.ones((4, 32), np.float32))
    assert tile.read_block(0, 0, 64, 64).sum() == 128 and tile.window(16, 32, 8, 40).name == "x[16:32, 8:40]"


@pytest.mark.parametrize("layout", [TensorLayout.ND, TensorLayout.NZ])
def test_rectangles_outside_of_a_tile(layout):
    tile = tile_over(np.zeros(4096, np.uint8), Tile((16, 32), DataType.DT_FP32, MemorySpace.Vec, layout), 0, name="x")
    for rectangle in [(0, 0, 17, 32), (0, 1, 16, 32), (-1, 0, 2, 2)]:
        with pytest.raises(errors.RectangleOutsideTile, match="outside 'x'"):
            tile.read_block(*rectangle)
    with pytest.raises(errors.RectangleOutsideTile):
        tile.write_block(10, 0, np.zeros((7, 32), np.float32))


def test_tensors_of_another_type_and_shape():
    flat = np.arange(64, dtype=np.int32)
    tensor = TensorMemory(flat, (8, 8), DataType.DT_INT32)
    assert tensor.read_window((1, 2), (0, 1), 2, 3).tolist() == [[10, 11, 12], [18, 19, 20]]
    assert tensor.read_window((1, 2), (1, 0), 2, 3).tolist() == [[10, 18, 26], [11, 19, 27]]
    narrow = tensor.another((8, 8), None, 8).retyped(DataType.DT_INT16).another((4, 4), (8, 2))
    assert narrow.read_window((0, 0), (0, 1), 2, 2).tolist() == [[8, 9], [12, 13]]
    with pytest.raises(errors.WindowOutsideMemory, match="8 x 8|extent"):
        tensor.read_window((1, 0), (0, 1), 8, 8)
