"""Elementwise functions of one operand (tensor API section 9.3)."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.elements import Element
from pypto.enums import PrecisionType
from pypto.errors.operations import NegativeSlope, ScalarNotFinite
from pypto.ops import numerics
from pypto.ops.arguments import dtype_of, integer, literal, tensor
from pypto.ops.arithmetic import as_float, maximum, minimum, to_float32
from pypto.ops.dtype_sets import ALL_FLOATS, B16, F16, F32, FLOATS, I8, I16, I32, NUMBERS, SIGNED, U8
from pypto.ops.families import composite, elementwise
from pypto.ops.numerics import exact, precise
from pypto.ops.table import Vectors, record

INTRINSIC = PrecisionType.INTRINSIC
HIGH_PRECISION = PrecisionType.HIGH_PRECISION
COMMON = (F16, B16, I16, I32, F32)


def called(name: str) -> Callable[..., Any]:
    """Lowering to a function of the vector math library, integers converted to fp32."""
    return lambda b, x: b.call(name, to_float32(b, x))


def function(name: str, compute: Callable[..., Any], **columns: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A float function with a namesake in the vector math library; float64 evaluation is the reference."""
    return elementwise(name, **{"dtypes": FLOATS, "compute": precise(compute), "lower": called(name), "method": True, **columns})


# -- exponentials and logarithms ----------------------------------------------------------------------------------------------


@function("exp", np.exp)
def exp(input: Any, precision_type: PrecisionType = INTRINSIC) -> Any:
    """e to the power of ``input``.

    >>> evaluate(exp, [0.0]).tolist()
    [1.0]
    """
    return record("exp", [tensor("exp", "input", input)])


@function("exp2", np.exp2, dtypes=(*FLOATS, *SIGNED, U8), chip=(*FLOATS, I8, U8, I16, I32), result=as_float)
def exp2(input: Any) -> Any:
    """2 to the power of ``input``; integer tensors give FP32.

    >>> evaluate(exp2, [3.0]).tolist()
    [8.0]
    """
    return record("exp2", [tensor("exp2", "input", input)])


@function("expm1", np.expm1, dtypes=(*FLOATS, *SIGNED, U8), chip=(*FLOATS, I16, I32), result=as_float)
def expm1(input: Any) -> Any:
    """``exp(input) - 1`` without cancellation near 0; integer tensors give FP32.

    >>> evaluate(expm1, [0.0]).tolist()
    [0.0]
    """
    return record("expm1", [tensor("expm1", "input", input)])


@function("log", np.log)
def log(input: Any, precision_type: PrecisionType = INTRINSIC) -> Any:
    """Natural logarithm: 0 gives -inf, negative numbers NaN.

    >>> evaluate(log, [1.0]).tolist()
    [0.0]
    """
    return record("log", [tensor("log", "input", input)])


@function("log2", np.log2)
def log2(input: Any, precision_type: PrecisionType = INTRINSIC) -> Any:
    """Logarithm to base 2.

    >>> evaluate(log2, [8.0]).tolist()
    [3.0]
    """
    return record("log2", [tensor("log2", "input", input)])


@function("log10", np.log10)
def log10(input: Any, precision_type: PrecisionType = INTRINSIC) -> Any:
    """Logarithm to base 10.

    >>> evaluate(log10, [100.0]).tolist()
    [2.0]
    """
    return record("log10", [tensor("log10", "input", input)])


@function("log1p", np.log1p)
def log1p(input: Any) -> Any:
    """``log(1 + input)`` without cancellation near 0.

    >>> evaluate(log1p, [0.0]).tolist()
    [0.0]
    """
    return record("log1p", [tensor("log1p", "input", input)])


# -- roots --------------------------------------------------------------------------------------------------------------------


@elementwise("sqrt", dtypes=ALL_FLOATS, chip=FLOATS, compute=exact(np.sqrt), lower=lambda b, x: b.sqrt(x), method=True)
def sqrt(input: Any, precision_type: PrecisionType = INTRINSIC) -> Any:
    """Square root, correctly rounded; negative numbers give NaN.

    >>> evaluate(sqrt, [9.0]).tolist()
    [3.0]
    """
    return record("sqrt", [tensor("sqrt", "input", input)])


@elementwise(
    "rsqrt",
    dtypes=ALL_FLOATS,
    chip=FLOATS,
    compute=precise(lambda x: 1.0 / np.sqrt(x)),
    lower=lambda b, x: b.div(b.constant(1.0), b.sqrt(x)),
    method=True,
)
def rsqrt(input: Any, precision_type: PrecisionType = INTRINSIC) -> Any:
    """``1 / sqrt(input)``; 0 gives inf.

    >>> evaluate(rsqrt, [4.0]).tolist()
    [0.5]
    """
    return record("rsqrt", [tensor("rsqrt", "input", input)])


@elementwise(
    "reciprocal",
    dtypes=ALL_FLOATS,
    chip=FLOATS,
    compute=exact(lambda x: np.divide(np.ones((), x.dtype), x)),
    lower=lambda b, x: b.div(b.constant(1.0), x),
    instruction="VREC",
    method=True,
)
def reciprocal(a: Any, precision_type: PrecisionType = HIGH_PRECISION) -> Any:
    """``1 / a``, correctly rounded.

    >>> evaluate(reciprocal, [4.0]).tolist()
    [0.25]
    """
    return record("reciprocal", [tensor("reciprocal", "a", a)])


# -- angles and error functions -----------------------------------------------------------------------------------------------


@function("sin", np.sin, chip=(F16, F32))
def sin(self: Any) -> Any:
    """Sine of an angle in radians.

    >>> evaluate(sin, [0.0]).tolist()
    [0.0]
    """
    return record("sin", [tensor("sin", "self", self)])


@function("cos", np.cos, chip=(F16, F32))
def cos(self: Any) -> Any:
    """Cosine of an angle in radians.

    >>> evaluate(cos, [0.0]).tolist()
    [1.0]
    """
    return record("cos", [tensor("cos", "self", self)])


@function("tan", np.tan)
def tan(x: Any) -> Any:
    """Tangent of an angle in radians.

    >>> evaluate(tan, [0.0]).tolist()
    [0.0]
    """
    return record("tan", [tensor("tan", "x", x)])


@function("sinh", np.sinh)
def sinh(input: Any) -> Any:
    """Hyperbolic sine.

    >>> evaluate(sinh, [0.0]).tolist()
    [0.0]
    """
    return record("sinh", [tensor("sinh", "input", input)])


@function("cosh", np.cosh)
def cosh(input: Any) -> Any:
    """Hyperbolic cosine.

    >>> evaluate(cosh, [0.0]).tolist()
    [1.0]
    """
    return record("cosh", [tensor("cosh", "input", input)])


@function("tanh", np.tanh)
def tanh(a: Any) -> Any:
    """Hyperbolic tangent.

    >>> evaluate(tanh, [0.0]).tolist()
    [0.0]
    """
    return record("tanh", [tensor("tanh", "a", a)])


@function("erf", numerics.erf)
def erf(self: Any) -> Any:
    """Error function.

    >>> evaluate(erf, [0.0]).tolist()
    [0.0]
    """
    return record("erf", [tensor("erf", "self", self)])


@function("erfc", numerics.erfc)
def erfc(input: Any) -> Any:
    """``1 - erf(input)`` without cancellation.

    >>> evaluate(erfc, [0.0]).tolist()
    [1.0]
    """
    return record("erfc", [tensor("erfc", "input", input)])


# -- signs --------------------------------------------------------------------------------------------------------------------


@elementwise(
    "neg",
    dtypes=NUMBERS,
    chip=COMMON,
    compute=exact(np.negative),
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
            raise NegativeSlope(operation="lrelu", value=slope.value)
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
