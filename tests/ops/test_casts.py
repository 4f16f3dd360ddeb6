"""Rounding modes and saturation of ``cast`` (FC-091 … FC-097), in the meaning and in the lowering."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from ops.harness import Case, check
from ops.numpy_vectors import run_lowered
from pypto import ops
from pypto.dtypes import DataType
from pypto.enums import CastMode, SaturationMode
from pypto.errors.operations import ArgumentType, CastUnsupported
from pypto.ops.dtype_sets import B16, BOOL, E4M3, E5M2, F16, F32, I8, I16, I32, I64, U8, U16
from pypto.reference import evaluate, run

cast = ops.PUBLIC["cast"]
ENGINES = [run, run_lowered]
NAN, INF = math.nan, math.inf


def converted(engine, values, source, target, mode=CastMode.CAST_NONE, satmode=SaturationMode.OFF):
    """The numbers that ``cast`` gives on an engine, as float64 or int."""
    x = np.asarray(values, np.float64 if source is DataType.DT_DOUBLE else np.float32).astype(source.numpy)
    found = []

    def call(handle):
        return cast(handle, target, mode, satmode)

    case = Case("cast", "table", (x,), call, (np.zeros(x.shape),), (target,))

    def capture(program, arrays):
        engine(program, arrays)
        found.append(list(arrays.values())[-1].copy())

    try:
        check(case, capture, np.random.default_rng(0), plain=True)
    except AssertionError:
        pass
    return found[0].astype(np.float64 if target.is_float else found[0].dtype)


@pytest.mark.parametrize("engine", ENGINES)
def test_fc_091_modes_to_bf16(engine):
    x = [1.00390625, 1.01171875]
    expected = {
        CastMode.CAST_RINT: [1.0, 1.015625],
        CastMode.CAST_ROUND: [1.0078125, 1.015625],
        CastMode.CAST_TRUNC: [1.0, 1.0078125],
        CastMode.CAST_FLOOR: [1.0, 1.0078125],
        CastMode.CAST_CEIL: [1.0078125, 1.015625],
    }
    for mode, values in expected.items():
        assert converted(engine, x, F32, B16, mode).tolist() == values, mode


@pytest.mark.parametrize("engine", ENGINES)
def test_fc_092_special_values_to_bf16(engine):
    low_bits = np.array([0x7F800001], np.uint32).view(np.float32)
    for mode in CastMode:
        got = converted(engine, [low_bits[0], INF, -INF, -0.0], F32, B16, mode)
        assert np.isnan(got[0]) and got[1:3].tolist() == [INF, -INF] and np.signbit(got[3])
    got = converted(engine, [3.4e38, 1e-40], F32, B16)
    assert got[0] == INF and got[1] == float(np.float32(1e-40).astype(ml_dtypes.bfloat16)) > 9e-41


@pytest.mark.parametrize("engine", ENGINES)
def test_fc_094_095_fp8(engine):
    assert np.array_equal(converted(engine, [126.24, 464, 465, INF], F32, E4M3), [128, 448, NAN, NAN], equal_nan=True)
    assert converted(engine, [465, INF, -1e9], F32, E4M3, satmode=SaturationMode.ON).tolist() == [448, 448, -448]
    assert converted(engine, [61440, 61439, INF], F32, E5M2).tolist() == [INF, 57344, INF]
    assert converted(engine, [61440], F32, E5M2, satmode=SaturationMode.ON).tolist() == [57344]
    e4m3 = np.array([0x7F, 0xFF, 0x7E, 0x80], np.uint8).view(ml_dtypes.float8_e4m3fn)
    e5m2 = np.array([0x7C, 0xFC, 0x7D], np.uint8).view(ml_dtypes.float8_e5m2)
    wide = evaluate(cast, e4m3, B16).astype(np.float64)
    assert np.array_equal(wide, [NAN, NAN, 448, -0.0], equal_nan=True) and np.signbit(wide[3])
    assert np.array_equal(evaluate(cast, e5m2, B16).astype(np.float64), [INF, -INF, NAN], equal_nan=True)


# Low bits of the truncated number (OFF) or the nearest end of the range (ON); NaN is 0 in both.
X = [3e38, -1.5, NAN, 300.7, -INF, INF, -300.7, 3e9, -129.0]
TABLE = {
    (I32, "OFF"): [0, -1, 0, 300, 0, 0, -300, -1294967296, -129],
    (I32, "ON"): [2147483647, -1, 0, 300, -2147483648, 2147483647, -300, 2147483647, -129],
    (I8, "OFF"): [0, -1, 0, 44, 0, 0, -44, 0, 127],
    (I8, "ON"): [127, -1, 0, 127, -128, 127, -128, 127, -128],
    (U8, "OFF"): [0, 255, 0, 44, 0, 0, 212, 0, 127],
    (U8, "ON"): [255, 0, 0, 255, 0, 255, 0, 255, 0],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("target", "satmode"), TABLE)
def test_fc_097_float_to_integer(engine, target, satmode):
    assert converted(engine, X, F32, target, satmode=SaturationMode[satmode]).tolist() == TABLE[target, satmode]


@pytest.mark.parametrize("engine", ENGINES)
def test_float_to_integer_modes(engine):
    x = [0.5, 1.5, 2.5, -0.5, -1.5, -2.4, 2.6]
    expected = {
        CastMode.CAST_NONE: [0, 1, 2, 0, -1, -2, 2],
        CastMode.CAST_RINT: [0, 2, 2, 0, -2, -2, 3],
        CastMode.CAST_ROUND: [1, 2, 3, -1, -2, -2, 3],
        CastMode.CAST_FLOOR: [0, 1, 2, -1, -2, -3, 2],
        CastMode.CAST_CEIL: [1, 2, 3, 0, -1, -2, 3],
        CastMode.CAST_TRUNC: [0, 1, 2, 0, -1, -2, 2],
    }
    for source in (F32, F16, B16):
        for mode, values in expected.items():
            assert converted(engine, x, source, I32, mode).tolist() == values, (source, mode)


def numbers_of(target):
    """Every finite number of a 16- or 8-bit format, ascending."""
    bits = np.arange(1 << (8 * target.size), dtype=np.uint64).astype(f"u{target.size}")
    with np.errstate(all="ignore"):
        values = bits.view(target.numpy).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def neighbours(x, grid):
    """Largest number of the grid not above, smallest not below."""
    below = grid[np.clip(np.searchsorted(grid, x, "right") - 1, 0, None)]
    above = grid[np.clip(np.searchsorted(grid, x, "left"), None, len(grid) - 1)]
    return below, above


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", [F16, B16, E4M3, E5M2], ids=lambda d: d.label)
def test_directed_modes_against_the_list_of_all_numbers(engine, target):
    rng = np.random.default_rng(5)
    grid = numbers_of(target)
    x = np.concatenate([rng.uniform(-400, 400, 500), rng.uniform(-1, 1, 500) * 2.0 ** rng.integers(-30, 5, 500), grid[::97]])
    x = x[np.abs(x) <= grid[-1]].astype(np.float32)
    x = np.concatenate([x, x[:-1] / 2 + x[1:] / 2]) if target is B16 else x
    exact = x.astype(np.float64)
    below, above = neighbours(exact, grid)
    toward_zero, away = np.where(exact < 0, above, below), np.where(exact < 0, below, above)
    nearer = np.where(np.abs(exact - toward_zero) < np.abs(away - exact), toward_zero, away)
    expected = {
        CastMode.CAST_FLOOR: below,
        CastMode.CAST_CEIL: above,
        CastMode.CAST_TRUNC: toward_zero,
        CastMode.CAST_ROUND: nearer,
    }
    for mode, values in expected.items():
        assert np.array_equal(converted(engine, x, F32, target, mode), values), mode


@pytest.mark.parametrize("engine", ENGINES)
def test_round_to_odd(engine):
    """Sticky: of two neighbours the one with an odd last bit. Only FP32 to FP16 knows it."""
    x = np.random.default_rng(6).uniform(-100, 100, 300).astype(np.float32)
    got = converted(engine, x, F32, F16, CastMode.CAST_ODD)
    below, above = neighbours(x.astype(np.float64), numbers_of(F16))
    odd = lambda v: v.astype(np.float16).view(np.uint16) & 1 == 1
    assert np.array_equal(got, np.where(below == above, below, np.where(odd(below), below, above)))
    assert np.array_equal(converted(engine, x, F32, B16, CastMode.CAST_ODD), converted(engine, x, F32, B16))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [F16, B16, F32], ids=lambda d: d.label)
def test_same_type_with_a_mode_gives_whole_numbers(engine, dtype):
    x = [0.5, 1.5, -2.5, -0.25]
    assert converted(engine, x, dtype, dtype, CastMode.CAST_ROUND).tolist() == [1, 2, -3, 0]
    assert converted(engine, x, dtype, dtype, CastMode.CAST_FLOOR).tolist() == [0, 1, -3, -1]
    assert converted(engine, x, dtype, dtype, CastMode.CAST_RINT).tolist() == x
    assert converted(engine, x, dtype, dtype).tolist() == x


def test_integers_to_integers():
    x = np.array([300, -1, 127, -129, 65535], np.int32)
    assert evaluate(cast, x, I8).tolist() == [44, -1, 127, 127, -1]
    assert evaluate(cast, x, I8, satmode=SaturationMode.ON).tolist() == [127, -1, 127, -128, 127]
    assert evaluate(cast, x, U16, satmode=SaturationMode.ON).tolist() == [300, 0, 127, 0, 65535]
    assert evaluate(cast, x, BOOL).tolist() == [True] * 5
    assert evaluate(cast, np.array([True, False]), I16).tolist() == [1, 0]
    assert evaluate(cast, np.array([2**31, -1], np.int64), I32).tolist() == [-(2**31), -1]


def test_integers_to_floats_round_once():
    x = np.array([16777217, 16777219, -16777217], np.int32)
    assert evaluate(cast, x, F32).tolist() == [16777216.0, 16777220.0, -16777216.0]
    assert evaluate(cast, np.array([70000], np.int32), F16).tolist() == [INF]
    assert evaluate(cast, np.array([70000], np.int32), F16, satmode=SaturationMode.ON).tolist() == [65504.0]
    assert evaluate(cast, np.array([2**53 + 1], np.int64), DataType.DT_DOUBLE).tolist() == [2.0**53]
    assert evaluate(cast, np.array([2**62 + 1], np.int64), I64).tolist() == [2**62 + 1]


def test_mistakes():
    with pytest.raises(ArgumentType, match="'dtype' must be of type DataType"):
        evaluate(cast, [1.0], "int32")
    with pytest.raises(ArgumentType, match="'mode' must be of type CastMode"):
        evaluate(cast, [1.0], I32, 3)
    with pytest.raises(CastUnsupported, match="does not support cast from DT_FP32 to DT_HF8 in CAST"):
        evaluate(cast, [1.0], DataType.DT_HF8)
