"""Scalars of tiles and tensors, descriptors, printf, assertions, dumps: values and exact texts."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.cores.enums import CoreType, MemorySpace, TensorLayout
from pypto.cores.types import Struct
from pypto.dtypes import DataType
from pypto.errors.tile_memory import ScalarBufferExceeded, ScalarBufferOffset
from pypto.errors.tiles import (
    AssertionFailed,
    DumpRefused,
    ElementOutOfBounds,
    StridesMismatch,
    ValidExtentExceeds,
    ValidExtentNotPositive,
)
from pypto.ops.tile.formats import formatted
from tile.calls import check, outside, poisoned, run, same, static, tensor, tile, values_of

S, L, D = MemorySpace, TensorLayout, DataType
SCALARS = [one for one in D if one.is_integer and one is not D.DT_INT4 or one in (D.DT_FP16, D.DT_BF16, D.DT_FP32, D.DT_BOOL)]


# -- elements -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SCALARS, ids=lambda one: one.label)
@pytest.mark.parametrize("layout", [L.ND, L.DN, L.NZ], ids=lambda one: one.name)
def test_elements_of_tiles(layout, dtype):
    values = values_of((16, 32), dtype)
    made = tile((16, 32), dtype, layout=layout, values=values, valid=(3, 5))
    assert run("getval", made, 7 * 32 + 9).result == values[7, 9].item(), "linear offsets count over the declared shape"
    assert run("getval", made, [15, 31]).result == values[15, 31].item()
    before = outside(made, 2, 4, 1, 1)
    call = run("setval", made, [2, 4], 1)
    assert made.read_block(2, 4, 1, 1).item() == 1
    assert same(outside(made, 2, 4, 1, 1), before)
    assert [(touch.role, touch.row, touch.column, touch.rows, touch.columns) for touch in call.touched] == [("W", 2, 4, 1, 1)]


def test_elements_of_tensors():
    whole = tensor(np.arange(2 * 3 * 5, dtype=np.int32).reshape(2, 3, 5))
    assert run("getval", whole, 17).result == 17
    assert run("getval", whole, [1, 2, 4]).result == 29
    run("setval", whole, [0, 1, 2], -8)
    assert whole.flat[7] == -8 and run("getval", tensor(np.arange(5, dtype=np.float32)), 3).result == 3.0


def test_values_become_elements():
    made = tile((1, 32), D.DT_INT8, values=np.zeros((1, 32)))
    run("setval", made, 3, 300)
    assert made.read()[0, 3] == 44
    half = tile((1, 16), D.DT_BF16, values=np.zeros((1, 16)))
    run("setval", half, 0, 1.0001)
    assert half.read()[0, 0] == 1


@pytest.mark.parametrize("where", [-1, 512, [16, 0], [0, 32], [-1, 0]])
def test_elements_stay_inside(where):
    made = tile((16, 32), D.DT_FP32)
    with pytest.raises(ElementOutOfBounds):
        run("getval", made, where)
    with pytest.raises(ElementOutOfBounds):
        run("setval", made, where, 0.0)


# -- descriptors --------------------------------------------------------------------------------------------------------------


def test_valid_extents_may_become_empty_at_run_time():
    made = tile((16, 32), D.DT_FP32)
    run("set_validshape", made, [0, 32])
    assert (made.rows, made.columns) == (0, 32)


def test_valid_extents_of_every_tile_of_a_group():
    class Ring:
        tiles = tuple(tile((16, 32), D.DT_FP32) for _ in range(3))

    run("set_validshape", Ring, [5, 6])
    assert {(one.rows, one.columns) for one in Ring.tiles} == {(5, 6)}


@pytest.mark.parametrize(
    "extents,error", [([17, 1], ValidExtentExceeds), ([1, 33], ValidExtentExceeds), ([-1, 1], ValidExtentNotPositive)]
)
def test_valid_extents_stay_inside(extents, error):
    with pytest.raises(error):
        run("set_validshape", tile((16, 32), D.DT_FP32), extents)


def test_strides_of_the_last_two_axes():
    whole = tensor(np.zeros((2, 4, 6), np.float32))
    run("set_stride", whole, [3, 2])
    assert whole.strides == (24, 3, 2)
    with pytest.raises(StridesMismatch):
        run("set_stride", whole, [-3, 2])


def test_structs_cross_in_words():
    kind = Struct("State", (("rows", D.DT_INT64, 30), ("flag", D.DT_BOOL, None)))
    assert check("ssbuf_store", static(kind), 12, core=CoreType.CUBE)
    with pytest.raises(ScalarBufferExceeded, match="244 bytes of struct 'State' at offset 16 exceed the 256"):
        check("ssbuf_load", static(kind), 16, core=CoreType.CUBE)
    with pytest.raises(ScalarBufferOffset):
        check("ssbuf_load", static(kind), 2, core=CoreType.CUBE)


# -- printf, assertions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text,values,expected",
    [
        ("no directive", [], "no directive"),
        ("%d|%5d|%-5d|%05d|%+d", [1, 2, 3, 4, 5], "1|    2|3    |00004|+5"),
        ("%i %u %x %#x", [-1, 7, 255, 255], "-1 7 ff 0xff"),
        ("%u %x", [-1, -1], "18446744073709551615 ffffffffffffffff"),
        ("%f %.2f %8.3f", [1, 2.345, -0.5], "1.000000 2.35   -0.500"),
        ("%p", [4096], "0x1000"),
        ("%d of %d\n", [True, 2], "1 of 2\n"),
    ],
)
def test_formats(text, values, expected):
    assert formatted(text, values) == expected


def test_printf_tells_its_place_where_asked():
    assert run("printf", "n=%d\n", 3).printed == ["n=3\n"]
    assert run("printf", "n=%d\n", 3, location="kernel.py:12").printed == ["[kernel.py:12] debug.printf\nn=3\n"]


def test_assertions_stop_with_text_and_values():
    assert run("pto_assert", True, "n is %d", 3, condition="n < 3").printed == []
    with pytest.raises(AssertionFailed, match=r"Assertion failed: n < 3\n *n is 3"):
        run("pto_assert", False, "n is %d", 3, condition="n < 3")
    with pytest.raises(AssertionError, match="Assertion failed: n < 3"):
        run("pto_assert", False, condition="n < 3")
    with pytest.raises(AssertionFailed, match="out of rows"):
        run("pto_assert", False, "out of rows", condition="n < 3")


# -- dumps --------------------------------------------------------------------------------------------------------------------


def dumped(*operands, **attributes):
    return "".join(run("dump_data", *operands, **attributes).printed)


def test_dump_of_a_tensor():
    whole = tensor(np.array([[[1, -2, 3], [40, 5, 6]], [[7, 8, 9], [10, 11, 12]]], np.int32))
    assert dumped(whole) == (
        "=== [TPRINT GlobalTensor] Data Type: int32, Layout: ND ===\n"
        "  Shape: [1, 2, 2, 3]\n"
        "  Batch [0, 0, 0]:\n"
        "   1 -2  3\n"
        "  40  5  6\n"
        "  Batch [0, 1, 0]:\n"
        "   7  8  9\n"
        "  10 11 12\n"
    )


def test_dump_of_a_window_of_a_tensor():
    whole = tensor(np.arange(24, dtype=np.float32).reshape(4, 6))
    text = dumped(whole, [1, 2], [2, 3], flag="inputs", location="kernel.py:9")
    assert text == (
        "[kernel.py:9] debug.dump_tensor\n"
        "=== [flag] inputs ===\n"
        "=== [TPRINT GlobalTensor] Data Type: float32, Layout: ND ===\n"
        "  Shape: [1, 1, 2, 3]\n"
        "  Batch [0, 0, 0]:\n"
        "   8.000000  9.000000 10.000000\n"
        "  14.000000 15.000000 16.000000\n"
    )


def test_dump_of_a_tile_is_clamped():
    made = tile((8, 16), D.DT_INT32, values=np.arange(128).reshape(8, 16), valid=(3, 4))
    assert dumped(made, [1, 2], [8, 8]) == (
        "=== [TPRINT Tile Window] Data Type: int32, Layout: ND, TileType: Vec ===\n"
        "  Source Shape: [8, 16], Window Offsets: [1, 2], Requested Shape: [8, 8], Valid Shape: [2, 2]\n"
        "  18 19\n"
        "  34 35\n"
    )


def test_dump_of_an_accumulator():
    made = tile((16, 16), D.DT_FP32, S.Acc, values=np.full((16, 16), 0.5), valid=(1, 2))
    call = run("dump_data", made, workspace=poisoned((16, 16), D.DT_FP32))
    assert "".join(call.printed) == (
        "=== [TPRINT Acc Tile Window] Data Type: float32, Layout: NZ, TileType: Acc ===\n"
        "  Source Shape: [16, 16], Window Offsets: [0, 0], Requested Shape: [16, 16], Valid Shape: [1, 2]\n"
        "  0.500000 0.500000\n"
    )
    assert [(touch.role, touch.rows, touch.columns) for touch in call.touched] == [("R", 1, 2)]


def test_dump_of_one_axis_and_of_nothing():
    assert dumped(tensor(np.arange(3, dtype=np.int8))).endswith("  Shape: [1, 1, 1, 3]\n  Batch [0, 0, 0]:\n  0 1 2\n")
    empty = tile((8, 16), D.DT_INT32, valid=(0, 0))
    assert dumped(empty).endswith("Valid Shape: [0, 0]\n")


def test_dump_needs_neighbouring_columns():
    with pytest.raises(DumpRefused, match="innermost stride"):
        dumped(tensor(np.zeros((4, 4), np.float32)).another((4, 2), (4, 2)))
