"""Elementwise arithmetic of two operands (tensor API section 9.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.enums import PrecisionType
from pypto.errors.operations import ScalarNotFinite
from pypto.ops.arguments import pair, scalar_of
from pypto.ops.dtype_sets import B16, F16, F32, FLOATS, I16, I32, INTEGERS, NUMBERS
from pypto.ops.families import composite, elementwise
from pypto.ops.numerics import exact, is_float, widened
from pypto.ops.table import Vectors, record

CHIP = (I32, I16, F16, F32, B16)
HIGH_PRECISION = PrecisionType.HIGH_PRECISION


def _ring(name: str, compute: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter an operation that every number type has, integers modulo their width."""
    return elementwise(
        name,
        dtypes=NUMBERS,
        chip=CHIP,
        compute=exact(compute),
        lower=lambda b, x, y: getattr(b, name)(x, y),
        method=True,
        operators=(f"__{name}__", f"__r{name}__"),
    )


@_ring("add", np.add)
def add(input: Any, other: Any) -> Any:
    """``input + other``, broadcast; integers wrap. One side may be a number.

    >>> evaluate(add, [1.0, 2.0], [10.0, 20.0]).tolist()
    [11.0, 22.0]
    """
    return record("add", pair("add", input, other))


@_ring("sub", np.subtract)
def sub(input: Any, other: Any) -> Any:
    """``input - other``, broadcast; integers wrap. One side may be a number.

    >>> evaluate(sub, [1.0, 2.0], 0.5).tolist()
    [0.5, 1.5]
    """
    return record("sub", pair("sub", input, other))


@_ring("mul", np.multiply)
def mul(input: Any, other: Any) -> Any:
    """``input * other``, broadcast; integers wrap. One side may be a number.

    >>> evaluate(mul, [1.0, 2.0], [3.0, 4.0]).tolist()
    [3.0, 8.0]
    """
    return record("mul", pair("mul", input, other))


def as_float(dtype: DataType) -> DataType:
    """Result type of operations that leave the integers."""
    return dtype if dtype.is_float else F32


def to_float32(b: Vectors, x: Any) -> Any:
    return x if b.dtype.is_float else b.convert(x, F32)


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if is_float(a):
        return exact(np.divide)(a, b)
    return np.divide(a.astype(np.float32), b.astype(np.float32))


@elementwise(
    "div",
    dtypes=NUMBERS,
    chip=(F16, F32, B16, I16, I32),
    result=as_float,
    compute=_quotient,
    lower=lambda b, x, y: b.div(to_float32(b, x), to_float32(b, y)),
    method=True,
    operators=("__truediv__", "__rtruediv__"),
)
def div(input: Any, other: Any, precision_type: PrecisionType = HIGH_PRECISION) -> Any:
    """``input / other``, correctly rounded; integer tensors are converted to FP32 first and give FP32.

    >>> evaluate(div, [1.0, 3.0], 2.0).tolist()
    [0.5, 1.5]
    """
    return record("div", pair("div", input, other))


# -- remainders and floored division ------------------------------------------------------------------------------------------


def _lower_fmod(b: Vectors, x: Any, y: Any) -> Any:
    return b.call("fmod", x, y) if b.dtype.is_float else b.remainder_integers(x, y)


def _integer_fmod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(b == 0, np.zeros((), a.dtype), np.fmod(a, np.where(b == 0, np.ones((), b.dtype), b)))


def _fmod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return exact(np.fmod)(a, b) if is_float(a) else _integer_fmod(a, b)


@elementwise(
    "fmod",
    dtypes=(*FLOATS, *INTEGERS),
    chip=FLOATS,
    compute=_fmod,
    lower=_lower_fmod,
    method=True,
)
def fmod(input: Any, other: Any, precision_type: PrecisionType = HIGH_PRECISION) -> Any:
    """Remainder with the sign of the dividend (C's fmod), exact. Integers: a zero divisor gives 0.

    ``other`` may be a number, but not NaN or inf.

    >>> evaluate(fmod, [-7.0, 7.0], 3.0).tolist()
    [-1.0, 1.0]
    """
    value = scalar_of(other)
    if isinstance(value, float) and not math.isfinite(value):
        raise ScalarNotFinite(operation="fmod", argument="other", value="NaN" if math.isnan(value) else "inf")
    return record("fmod", pair("fmod", input, other))


def _lower_remainder(b: Vectors, x: Any, y: Any) -> Any:
    """fmod, moved by one divisor where its sign differs from the divisor's."""
    rest = _lower_fmod(b, x, y)
    zero = b.constant(0)
    if b.dtype.is_float:
        differs = b.compare("lt", b.mul(b.copysign(b.constant(1.0), rest), b.copysign(b.constant(1.0), y)), zero)
    else:
        differs = b.compare("lt", b.bit_xor(rest, y), zero)
        differs = b.mask_and(differs, b.compare("ne", y, zero))
    moved = b.mask_and(b.compare("ne", rest, zero), differs)
    return b.select(moved, b.add(rest, y), rest)


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rest = np.fmod(a, b) if is_float(a) else _integer_fmod(a, b)
    moved = (rest != 0) & (np.signbit(rest) != np.signbit(b)) if is_float(a) else (rest != 0) & (b != 0) & ((rest < 0) != (b < 0))
    return np.where(moved, rest + b, rest)


@elementwise(
    "remainder",
    dtypes=(*FLOATS, *INTEGERS),
    chip=(F16, B16, I16, I32, F32),
    compute=exact(_remainder),
    lower=_lower_remainder,
    method=True,
    operators=("__mod__", "__rmod__"),
)
def remainder(input: Any, other: Any, precision_type: PrecisionType = HIGH_PRECISION) -> Any:
    """``input - other * floor(input / other)``: the sign of the divisor. Integers are exact; a zero divisor gives 0.

    >>> evaluate(remainder, [-7.0, 7.0], 3.0).tolist()
    [2.0, 1.0]
    """
    return record("remainder", pair("remainder", input, other))


def _lower_floor_div(b: Vectors, x: Any, y: Any) -> Any:
    zero, one = b.constant(0), b.constant(1)
    if b.dtype.is_float:
        quotient = b.floor(b.div(x, y))
        rest = b.fma(b.neg(quotient), y, x)  # exact below 2^24: its sign tells a quotient that was rounded up
        wrong = b.mask_or(
            b.mask_and(b.compare("lt", rest, zero), b.compare("gt", y, zero)),
            b.mask_and(b.compare("gt", rest, zero), b.compare("lt", y, zero)),
        )
        return b.select(wrong, b.sub(quotient, one), quotient)
    quotient = b.divide_integers(x, y)
    rest = b.sub(x, b.mul(quotient, y))
    wrong = b.mask_and(b.compare("ne", rest, zero), b.compare("lt", b.bit_xor(rest, y), zero))
    floored = b.select(wrong, b.sub(quotient, one), quotient)
    if not b.dtype.is_unsigned:  # the least integer over -1 wraps
        floored = b.select(b.compare("eq", y, b.constant(-1)), b.neg(x), floored)
    return b.select(b.compare("eq", y, zero), zero, floored)


def _floor_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if is_float(a):  # float64 tells every quotient of two fp32 numbers below 2^24 from the next integer
        return np.floor(widened(a).astype(np.float64) / widened(b).astype(np.float64)).astype(np.float32).astype(a.dtype)
    return np.where(b == 0, np.zeros((), a.dtype), np.floor_divide(a, np.where(b == 0, np.ones((), b.dtype), b)))


@elementwise(
    "floor_div",
    dtypes=(*FLOATS, *INTEGERS),
    chip=(F16, B16, F32, DataType.DT_INT32, DataType.DT_INT8, DataType.DT_UINT8),
    compute=_floor_quotient,
    lower=_lower_floor_div,
)
def floor_div(input: Any, other: Any) -> Any:
    """``floor(input / other)`` in the operands' type. Integers: exact; a zero divisor gives 0, the least over -1 wraps.

    >>> evaluate(floor_div, [-7.0, 7.0], 3.0).tolist()
    [-3.0, 2.0]
    """
    return record("floor_div", pair("floor_div", input, other))


@composite("floor_of_quotient", public=False, operators=("__floordiv__", "__rfloordiv__"))
def floor_of_quotient(input: Any, other: Any) -> Any:
    """The operator ``//``: floor of the true quotient, FP32 for integer tensors.

    >>> evaluate(floor_of_quotient, [-7.0, 7.0], 3.0).tolist()
    [-3.0, 2.0]
    """
    from pypto.ops.signs import floor

    return floor(div(input, other))


# -- extremes -----------------------------------------------------------------------------------------------------------------


@elementwise(
    "maximum",
    dtypes=NUMBERS,
    chip=CHIP,
    compute=exact(np.maximum),
    lower=lambda b, x, y: b.max(x, y),
    instruction="VMAX",
    method=True,
)
def maximum(input: Any, other: Any) -> Any:
    """The larger of both, elementwise; NaN propagates. One side may be a number or an ``Element``.

    >>> evaluate(maximum, [1.0, 5.0], 2.0).tolist()
    [2.0, 5.0]
    """
    return record("maximum", pair("maximum", input, other, wraps=False))


@elementwise(
    "minimum",
    dtypes=NUMBERS,
    chip=CHIP,
    compute=exact(np.minimum),
    lower=lambda b, x, y: b.min(x, y),
    instruction="VMIN",
    method=True,
)
def minimum(input: Any, other: Any) -> Any:
    """The smaller of both, elementwise; NaN propagates. One side may be a number or an ``Element``.

    >>> evaluate(minimum, [1.0, 5.0], 2.0).tolist()
    [1.0, 2.0]
    """
    return record("minimum", pair("minimum", input, other, wraps=False))
