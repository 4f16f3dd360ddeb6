"""``pow`` (tensor API section 9.2): integer powers wrap, float powers are computed in FP32 or better."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.enums import PrecisionType
from pypto.errors.operations import DtypesDiffer, PowExponent, PowIntegerBase, TwoScalars
from pypto.ir.program import Literal
from pypto.ir.symbols import Expression, kind_of
from pypto.ops import rules
from pypto.ops.arguments import dtype_of, is_tensor, kind_name, literal, scalar_of, type_of
from pypto.ops.arithmetic import mul
from pypto.ops.casting import cast
from pypto.ops.dtype_sets import B16, F16, F32, FLOATS, I8, I16, I32, INTEGERS, U8
from pypto.ops.families import elementwise
from pypto.ops.functions import reciprocal, sqrt
from pypto.ops.numerics import is_float, precise
from pypto.ops.table import Vectors, record, recorder

NEGLIGIBLE = 1e-9  # exponents this close to a special one are taken for it (tensor API section 9.2)


def _compute(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return precise(np.power)(base, exponent) if is_float(base) else integer_power(base, exponent)


def integer_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Powers modulo the width; a negative exponent gives the truncated reciprocal (0 unless the base is 1 or -1)."""
    base, exponent = np.broadcast_arrays(base, exponent)
    result, factor = np.ones_like(base), base.copy()
    rest = np.where(exponent < 0, np.zeros((), exponent.dtype), exponent)
    while rest.any():
        result = np.where(rest & 1, result * factor, result)
        factor, rest = factor * factor, rest >> 1
    one, odd = np.ones((), base.dtype), (exponent & 1).astype(np.bool_)
    unit = np.where(base == 1, one, np.where((base == -1) if base.dtype.kind == "i" else False, np.where(odd, base, one), 0))
    return np.where(exponent < 0, unit.astype(base.dtype), result)


def _lower(b: Vectors, base: Any, exponent: Any) -> Any:
    return b.call("pow", base, exponent) if b.dtype.is_float else _lower_integer(b, base, exponent)


def _lower_integer(b: Vectors, base: Any, exponent: Any) -> Any:
    """Square and multiply over every bit of the exponent's type."""
    zero, one = b.constant(0), b.constant(1)
    result, factor = one, base
    for bit in range(b.dtype.bits):
        chosen = b.compare("ne", b.bit_and(b.shift_right(exponent, b.constant(bit)), one), zero)
        result = b.select(chosen, b.mul(result, factor), result)
        factor = b.mul(factor, factor)
    if b.dtype.is_unsigned:
        return result
    odd = b.compare("ne", b.bit_and(exponent, one), zero)
    minus = b.select(b.compare("eq", base, b.constant(-1)), b.select(odd, base, one), zero)
    unit = b.select(b.compare("eq", base, one), one, minus)
    return b.select(b.compare("lt", exponent, zero), unit, result)


@elementwise(
    "pow",
    dtypes=(*FLOATS, *INTEGERS),
    chip=(F16, B16, I32, F32, I8, U8, I16),
    equal_ranks=True,
    compute=_compute,
    lower=_lower,
    method=True,
    operators=("__pow__", "__rpow__"),
)
def pow(base: Any, other: Any, precision_type: PrecisionType = PrecisionType.HIGH_PRECISION) -> Any:
    """``base`` to the power of ``other``: tensors of equal rank, or a tensor and a number.

    Two integer tensors (equal types) and an integer tensor with an int stay integer and wrap; otherwise FP32 arithmetic, and the
    result is the larger type in FP32 > FP16 > BF16 > INT32 (FP16 with BF16: FP32). Exponents
    0, ±0.5, ±1, ±2, 3 are products and roots.

    >>> evaluate(pow, [2.0, 3.0], 2).tolist()
    [4.0, 9.0]
    """
    recorder()
    if is_tensor(base):
        return _tensors(base, other) if is_tensor(other) else _number(base, other)
    if not is_tensor(other):
        raise TwoScalars(operation="pow")
    from pypto.ops.creation import full

    return _tensors(full([1] * type_of(other).rank, literal("pow", "base", base, dtype_of(other)).value, dtype_of(other)), other)


def _tensors(base: Any, other: Any) -> Any:
    first, second = dtype_of(base), dtype_of(other)
    if not first.is_float and not second.is_float:
        if first is not second:
            raise DtypesDiffer(first=first.name, second=second.name, first_name=first.name, operation="POW")
        return record("pow", [base, other])
    target = result_type(first, second)
    if first is second:
        return record("pow", [base, other])
    return cast(record("pow", [cast(base, F32), cast(other, F32)]), target)


def result_type(first: DataType, second: DataType) -> DataType:
    """Result of a float power of two types."""
    for dtype in (first, second):
        if dtype not in (F32, F16, B16, I32):
            rules.check_dtype("pow", dtype, (F32, F16, B16, I32))
    if {first, second} == {F16, B16}:
        return F32
    return next(dtype for dtype in (F32, F16, B16, I32) if dtype in (first, second))


def _number(base: Any, exponent: Any) -> Any:
    value = scalar_of(exponent)
    if value is None:
        raise PowExponent(kind=kind_name(exponent))
    dtype = dtype_of(base)
    whole = kind_of(value) != "float"
    if dtype.is_float:
        return _float_power(base, value)
    if whole:
        return _integer_power(base, value)
    if not isinstance(value, Expression) and abs(value) < NEGLIGIBLE:
        return _ones(base)
    if dtype is not I32:
        raise PowIntegerBase(dtype=dtype.name)
    return _float_power(cast(base, F32), value)


def _ones(base: Any) -> Any:
    type = type_of(base)
    return record("full", [Literal(1.0 if type.dtype.is_float else 1, type.dtype)], {"shape": type.shape, "valid": type.valid})


def _integer_power(base: Any, exponent: Any) -> Any:
    """Powers are taken in at least 32 bits, so that the exponent fits; the low bits are those of the narrow type."""
    dtype = dtype_of(base)
    wide = dtype if dtype.size >= 4 else I32
    result = record("pow", [cast(base, wide), literal("pow", "other", exponent, wide, wraps=False)])
    return cast(result, dtype)


def _float_power(base: Any, exponent: Any) -> Any:
    """Special exponents as products and roots in FP32, rounded once."""
    dtype = dtype_of(base)
    wide = cast(base, F32)
    for special, form in _SPECIAL.items():
        if not isinstance(exponent, Expression) and abs(exponent - special) < NEGLIGIBLE:
            return cast(form(wide), dtype)
    return cast(record("pow", [wide, literal("pow", "other", exponent, F32)]), dtype)


_SPECIAL = {
    0.0: _ones,
    0.5: sqrt,
    -0.5: lambda x: reciprocal(sqrt(x)),
    2.0: lambda x: mul(x, x),
    -2.0: lambda x: reciprocal(mul(x, x)),
    3.0: lambda x: mul(mul(x, x), x),
    -1.0: reciprocal,
    1.0: lambda x: x,
}
