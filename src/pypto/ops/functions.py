"""Elementwise functions of one operand (tensor API section 9.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.enums import PrecisionType
from pypto.ops import numerics
from pypto.ops.arguments import tensor
from pypto.ops.arithmetic import as_float, to_float32
from pypto.ops.dtype_sets import ALL_FLOATS, F16, F32, FLOATS, I8, I16, I32, SIGNED, U8
from pypto.ops.families import elementwise
from pypto.ops.numerics import exact, precise
from pypto.ops.table import record

INTRINSIC = PrecisionType.INTRINSIC
HIGH_PRECISION = PrecisionType.HIGH_PRECISION


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
