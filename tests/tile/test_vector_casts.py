"""Casts: every pair of types, every rounding mode, exact, against fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from pypto.cores.enums import RoundMode
from tile.vector_cases import Operand, execute
from tile.vector_values import B16, F16, F32, FLOATS, INTEGERS, LAYOUTS, SHAPE, VALID, D, same, values

E4M3, E5M2 = D.DT_FP8E4M3, D.DT_FP8E5M2
CASTABLE = sorted(INTEGERS | FLOATS | {E4M3, E5M2}, key=int)
MODES = [mode for mode in RoundMode if mode is not RoundMode.CAST_ODD]


def cast(data, target, mode):
    data = np.atleast_2d(data)
    source = next(one for one in CASTABLE if one.numpy == data.dtype)
    shape = (data.shape[0], -(-data.shape[1] // 32) * 32)
    out, *_ = execute("cast", Operand(shape, target, valid=data.shape), Operand(shape, source, data), mode=mode)
    return np.array(out.read())


def rounded(number, mode):
    """A fraction as an integer, by mode."""
    below = number.numerator // number.denominator
    rest = number - below
    if mode is RoundMode.CAST_FLOOR or not rest:
        return below
    if mode is RoundMode.CAST_CEIL:
        return below + 1
    if mode is RoundMode.CAST_TRUNC:
        return below if number > 0 else below + 1
    if mode is RoundMode.CAST_ODD:
        return below if below % 2 else below + 1
    if rest == Fraction(1, 2):
        if mode is RoundMode.CAST_ROUND:
            return below + 1 if number > 0 else below
        return below + below % 2
    return below + (rest > Fraction(1, 2))


def steps(target):
    """Bits of fraction and least exponent of a float type."""
    facts = ml_dtypes.finfo(target.numpy)
    return int(facts.nmant), int(facts.minexp)


def nearest(number, target, mode):
    """A finite number in a float type, by mode; beyond the largest infinite, or NaN where there is no infinity."""
    exact = Fraction(number)
    fraction, least = steps(target)
    exponent = least
    while exact and abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    quantum = Fraction(2) ** (exponent - fraction)
    result = np.copysign(np.float64(rounded(exact / quantum, mode) * quantum), number)
    with np.errstate(over="ignore"):
        return result.astype(np.float32).astype(target.numpy)


def interesting(source):
    """Ties, neighbours of ties, denormals and large numbers of a type."""
    if not source.is_float:
        limits = np.iinfo(source.numpy)
        found = [
            limits.min,
            limits.max,
            0,
            1,
            2**24 + 1,
            2**24 + 3,
            2049,
            2051,
            257,
            259,
            2**53 + 1,
            2**62 + 2**38 + 1,
            -(2**24) - 1,
        ]
        found += [2**63 + 2**39, 2**63 + 2**39 + 1, 2**62 + 2**38, 65519, 65520, 33, 35]
        return np.array([number for number in found if limits.min <= number <= limits.max], source.numpy)
    random = np.random.default_rng(1)
    found = [
        0.5,
        1.5,
        2.5,
        0.49999997,
        1.0 + 2.0**-11,
        1.0 + 3 * 2.0**-11,
        1.0 + 2.0**-11 + 2.0**-23,
        1.0 + 2.0**-8,
        1.0 + 3 * 2.0**-8,
    ]
    found += [
        2.0**-25,
        3 * 2.0**-25,
        2.0**-24,
        1.5 * 2.0**-24,
        2.0**-15 + 2.0**-25,
        6.1e-5,
        2.0**-133,
        2.0**-134,
        1000.5,
        127.5,
        128.5,
    ]
    found += [65519.0, 65504.0, 1.0625, 1.1875, 2.0**-10, 3 * 2.0**-11, 255.5, 32767.5, 16777216.0, 2147483520.0]
    found += [*random.standard_normal(40), *np.exp(random.standard_normal(40) * 8)]
    with np.errstate(over="ignore"):
        both = np.array(found + [-number for number in found], np.float32).astype(source.numpy)
    return both[np.isfinite(both.astype(np.float32))]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source, target", [pair for pair in product(CASTABLE, CASTABLE) if pair[0] is not pair[1]])
def test_every_pair_and_mode(source, target, mode):
    data = interesting(source)
    found = cast(data, target, mode)[0]
    if target.is_float:
        wanted = [nearest(int(number) if not source.is_float else float(number), target, mode) for number in data]
        numbers = np.array(wanted, target.numpy)
        assert [*map(repr, found.astype(np.float32))] == [*map(repr, numbers.astype(np.float32))]
    elif source.is_float:
        limits = np.iinfo(target.numpy)
        wanted = [min(max(rounded(Fraction(float(number)), mode), limits.min), limits.max) for number in data]
        assert found.tolist() == wanted
    else:
        same(found, data.astype(target.numpy))


def test_odd_rounding():
    data = interesting(F32)
    found = cast(data, F16, RoundMode.CAST_ODD)[0]
    wanted = np.array([nearest(float(number), F16, RoundMode.CAST_ODD) for number in data], np.float16)
    assert [*map(repr, found.astype(np.float32))] == [*map(repr, wanted.astype(np.float32))]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_not_a_number(mode):
    data = np.array([np.nan, np.inf, -np.inf], np.float32)
    for target in (F16, B16, E5M2):
        found = cast(data, target, mode)[0].astype(np.float32)
        assert np.isnan(found[0]) and found[1:].tolist() == [np.inf, -np.inf]
    for target in INTEGERS:
        limits = np.iinfo(target.numpy)
        assert cast(data, target, mode)[0].tolist() == [0, limits.max, limits.min]


def test_all_halves_to_bytes():
    """Every fp16 number, half away from zero (the default), to the 8-bit integers."""
    data = np.arange(2**16, dtype=np.uint16).view(np.float16)
    data = data[np.isfinite(data)].reshape(-1, 32)
    for target in (D.DT_INT8, D.DT_UINT8):
        limits = np.iinfo(target.numpy)
        whole = np.trunc(data.astype(np.float64) + np.copysign(0.5, data))
        same(cast(data, target, None), np.clip(whole, limits.min, limits.max).astype(target.numpy))


def test_layouts_and_extents():
    for source, target in ((F32, F16), (F16, F32), (F32, D.DT_INT8), (D.DT_INT32, F32)):
        for layout in LAYOUTS:
            for valid in VALID:
                src = Operand(SHAPE, source, values(source, valid, 1), layout=layout)
                out, *_ = execute("cast", Operand(SHAPE, target, valid=valid, layout=layout), src, mode=RoundMode.CAST_RINT)
                plain = cast(src.values, target, RoundMode.CAST_RINT) if all(valid) else np.zeros(valid, target.numpy)
                same(out.read(), plain)
