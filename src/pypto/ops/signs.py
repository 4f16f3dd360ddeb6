"""Signs, whole numbers and limits, elementwise (tensor API section 9.3)."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from pypto.elements import Element
from pypto.errors.operations import NegativeSlope, ScalarNotFinite
from pypto.ops.arguments import dtype_of, integer, literal, tensor
from pypto.ops.arithmetic import maximum, minimum
from pypto.ops.dtype_sets import ALL_FLOATS, B16, F16, F32, FLOATS, I8, I16, I32, NUMBERS, SIGNED
from pypto.ops.families import composite, elementwise
from pypto.ops.numerics import exact, negated
from pypto.ops.table import Vectors, record

COMMON = (F16, B16, I16, I32, F32)

# -- signs --------------------------------------------------------------------------------------------------------------------


@elementwise(
    "neg",
    dtypes=NUMBERS,
    chip=COMMON,
    compute=exact(negated),
    lower=lambda b, x: b.neg(x),
    method=True,
    operators=("__neg__",),
)
def neg(a: Any) -> Any:
    """``-a``; integers wrap.

    >>> evaluate(neg, [1.0]).tolist()
    [-1.0]
    """
    return record("neg", [tensor("neg", "a", a)])


@elementwise(
    "abs",
    dtypes=(*ALL_FLOATS, *SIGNED),
    chip=FLOATS,
    compute=exact(np.abs),
    lower=lambda b, x: b.abs(x),
    method=True,
    operators=("__abs__",),
)
def abs(a: Any) -> Any:
    """Absolute value; the least integer wraps to itself.

    >>> evaluate(abs, [-1.5]).tolist()
    [1.5]
    """
    return record("abs", [tensor("abs", "a", a)])


def _sign(x: np.ndarray) -> np.ndarray:
    one = np.ones((), x.dtype)
    return np.where(x > 0, one, np.where(x < 0, -one, x))


def _lower_sign(b: Vectors, x: Any) -> Any:
    zero = b.constant(0)
    return b.select(b.compare("gt", x, zero), b.constant(1), b.select(b.compare("lt", x, zero), b.constant(-1), x))


@elementwise(
    "sign",
    dtypes=(*ALL_FLOATS, *SIGNED),
    chip=(*COMMON, I8),
    compute=exact(_sign),
    lower=_lower_sign,
    method=True,
)
def sign(a: Any) -> Any:
    """-1, 0 or 1; zeros keep their sign, NaN stays NaN.

    >>> evaluate(sign, [-2.0, 0.0, 3.0]).tolist()
    [-1.0, 0.0, 1.0]
    """
    return record("sign", [tensor("sign", "a", a)])


@elementwise(
    "relu",
    dtypes=(*ALL_FLOATS, *SIGNED),
    chip=COMMON,
    compute=exact(lambda x: np.where(x <= 0, np.zeros((), x.dtype), x)),
    lower=lambda b, x: b.select(b.compare("le", x, b.constant(0)), b.constant(0), x),
    method=True,
)
def relu(a: Any) -> Any:
    """``max(a, 0)``; NaN stays NaN.

    >>> evaluate(relu, [-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """
    return record("relu", [tensor("relu", "a", a)])


@elementwise(
    "lrelu",
    dtypes=FLOATS,
    mixed=True,
    compute=exact(lambda x, slope: np.where(x >= 0, x, slope * x)),
    lower=lambda b, x, slope: b.select(b.compare("ge", x, b.constant(0.0)), x, b.mul(x, slope)),
    method=True,
)
def lrelu(other: Any, negative_slope: Any = 0.01) -> Any:
    """``other`` where it is not negative, else ``negative_slope * other`` (computed in FP32). The slope: a finite number ≥ 0.

    >>> evaluate(lrelu, [-2.0, 2.0], 0.5).tolist()
    [-1.0, 2.0]
    """
    handle = tensor("lrelu", "other", other)
    if isinstance(negative_slope, Element):
        negative_slope = negative_slope.value
    slope = literal("lrelu", "negative_slope", negative_slope, F32)
    if isinstance(slope.value, float):
        if not math.isfinite(slope.value):
            raise ScalarNotFinite(operation="lrelu", argument="negative_slope", value="NaN" if math.isnan(slope.value) else "inf")
        if slope.value < 0:
            raise NegativeSlope(operation="lrelu", value=negative_slope)
    return record("lrelu", [handle, slope])


# -- rounding to whole numbers ------------------------------------------------------------------------------------------------


def _whole(name: str, handle: Any) -> Any:
    """Record a rounding; integers are already whole."""
    return handle if dtype_of(handle).is_integer else record(name, [handle])


@elementwise("floor", dtypes=ALL_FLOATS, chip=FLOATS, compute=exact(np.floor), lower=lambda b, x: b.floor(x), method=True)
def floor(input: Any) -> Any:
    """Largest whole number not above ``input``; integer tensors are returned unchanged.

    >>> evaluate(floor, [-1.5]).tolist()
    [-2.0]
    """
    return _whole("floor", tensor("floor", "input", input))


@elementwise("ceil", dtypes=ALL_FLOATS, chip=FLOATS, compute=exact(np.ceil), lower=lambda b, x: b.ceil(x), method=True)
def ceil(input: Any) -> Any:
    """Smallest whole number not below ``input``; integer tensors are returned unchanged.

    >>> evaluate(ceil, [1.5]).tolist()
    [2.0]
    """
    return _whole("ceil", tensor("ceil", "input", input))


@elementwise("trunc", dtypes=ALL_FLOATS, chip=FLOATS, compute=exact(np.trunc), lower=lambda b, x: b.trunc(x), method=True)
def trunc(input: Any) -> Any:
    """``input`` without its fraction; integer tensors are returned unchanged.

    >>> evaluate(trunc, [-1.5]).tolist()
    [-1.0]
    """
    return _whole("trunc", tensor("trunc", "input", input))


def _round(x: np.ndarray, *, decimals: int = 0) -> np.ndarray:
    """Scale, round half to even, scale back: each step rounded, as the lowering does."""
    factor = x.dtype.type(10.0 ** min(builtins.abs(decimals), 300))
    if decimals == 0:
        return np.rint(x)
    return np.rint(x * factor) / factor if decimals > 0 else np.rint(x / factor) * factor


def _lower_round(b: Vectors, x: Any, *, decimals: int = 0) -> Any:
    if decimals == 0:
        return b.round_even(x)
    factor = b.constant(10.0 ** min(builtins.abs(decimals), 300))
    if decimals > 0:
        return b.div(b.round_even(b.mul(x, factor)), factor)
    return b.mul(b.round_even(b.div(x, factor)), factor)


@elementwise(
    "round", dtypes=ALL_FLOATS, chip=FLOATS, compute=exact(_round), lower=_lower_round, method=True, operators=("__round__",)
)
def round(input: Any, decimals: int = 0) -> Any:
    """Nearest whole number (or multiple of ``10**-decimals``), halves to even; integer tensors are returned unchanged.

    >>> evaluate(round, [0.5, 1.5, 2.5]).tolist()
    [0.0, 2.0, 2.0]
    """
    handle = tensor("round", "input", input)
    places = integer("round", "decimals", decimals)
    return handle if dtype_of(handle).is_integer else record("round", [handle], {"decimals": places})


# -- clip ---------------------------------------------------------------------------------------------------------------------


@composite("clip", method=True)
def clip(input: Any, min: Any = None, max: Any = None) -> Any:
    """``minimum(maximum(input, min), max)``; NaN anywhere gives NaN, ``min > max`` gives ``max``. Bounds: numbers or tensors.

    >>> evaluate(clip, [-1.0, 0.5, 7.0], 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    result = tensor("clip", "input", input)
    if min is not None:
        result = maximum(result, min)
    return result if max is None else minimum(result, max)
