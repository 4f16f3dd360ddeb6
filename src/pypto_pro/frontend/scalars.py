"""Arithmetic on scalars: which type a result has, and what is computed before anything runs (tile API section 2.10).

Constants fold with Python's semantics; run-time ``//`` and ``%`` truncate, ``/`` of integers is FP32.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pypto.cores.program import Constant, Operation
from pypto.cores.types import INDEX
from pypto.dtypes import DataType
from pypto_pro.errors.expressions import BitOperation, ConstantArithmetic
from pypto_pro.frontend.values import Number, Static, as_number, is_number

_D = DataType

PYTHON: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "min": min,
    "max": max,
    "negate": operator.neg,
    "~": operator.invert,
    "not": operator.not_,
}

COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!=", "not", "and", "or", "is_null"))
BIT_NAMES = {"&": "bit_and", "|": "bit_or", "^": "bit_xor", "<<": "bit_shift_left", ">>": "bit_shift_right", "~": "bit_not"}


def promote(first: DataType, second: DataType) -> DataType:
    """Type of an operation on two scalars: floats win, then width, then unsigned; integers below 32 bits become INT32 as in C."""
    if first.is_float or second.is_float:
        if first.is_float and second.is_float:
            return first if first is second else _D.DT_FP32
        return first if first.is_float else second
    if first is second and (first.bits >= 32 or first is _D.DT_BOOL):
        return INDEX if first is _D.DT_BOOL else first
    wide = max(_width(first), _width(second))
    unsigned = any(one.is_unsigned and _width(one) == wide and one.bits >= 32 for one in (first, second))
    return _integer(wide, unsigned)


def join(first: DataType, second: DataType) -> DataType:
    """Type of a variable that holds values of two types."""
    return first if first is second else promote(first, second)


def _width(dtype: DataType) -> int:
    return 32 if dtype is _D.DT_BOOL or dtype.bits < 32 else dtype.bits


def _integer(bits: int, unsigned: bool) -> DataType:
    return DataType[f"DT_{'U' if unsigned else ''}INT{bits}"]


def binary(symbol: str, left: Any, right: Any) -> Any:
    """A scalar operation; both operands are scalars (static or not)."""
    if isinstance(left, Static) and isinstance(right, Static):
        return Static(compute(symbol, left.value, right.value))
    first, second = as_number(left), as_number(right)
    if first is None or second is None:
        return None
    _check_bits(symbol, first.dtype, second.dtype)
    dtype = result_dtype(symbol, first.dtype, second.dtype)
    if isinstance(first.expression, Constant) and isinstance(second.expression, Constant):
        return Number(Constant(compute(symbol, first.expression.value, second.expression.value), dtype), dtype)
    return Number(Operation(symbol, (first.expression, second.expression), dtype), dtype)


def unary(symbol: str, value: Any) -> Any:
    if isinstance(value, Static):
        return Static(compute(symbol, value.value))
    number = as_number(value)
    if number is None:
        return None
    if symbol == "~":
        _check_bits(symbol, number.dtype)
    dtype = _D.DT_BOOL if symbol == "not" else promote(number.dtype, number.dtype)
    if symbol == "not":
        number = truth(number)
    if isinstance(number.expression, Constant):
        return Number(Constant(compute(symbol, number.expression.value), dtype), dtype)
    return Number(Operation(symbol, (number.expression,), dtype), dtype)


def result_dtype(symbol: str, first: DataType, second: DataType) -> DataType:
    if symbol in COMPARISONS:
        return _D.DT_BOOL
    found = promote(first, second)
    return _D.DT_FP32 if symbol == "/" and not found.is_float else found


def truth(number: Number) -> Number:
    """A number as a condition."""
    if number.dtype is _D.DT_BOOL:
        return number
    zero = Constant(0.0 if number.dtype.is_float else 0, number.dtype)
    return Number(Operation("!=", (number.expression, zero), _D.DT_BOOL), _D.DT_BOOL)


def convert(number: Number, dtype: DataType) -> Number:
    """A number in another type; integers of one signedness that only widen keep their expression."""
    if number.dtype is dtype:
        return number
    expression = number.expression
    if isinstance(expression, Constant) and is_number(expression.value):
        kind = float if dtype.is_float else bool if dtype is _D.DT_BOOL else int
        return Number(Constant(kind(expression.value), dtype), dtype)
    return Number(Operation("convert", (expression,), dtype), dtype)


def compute(symbol: str, *operands: Any) -> Any:
    """Python's answer, or a catalogue error with Python's reason."""
    if symbol in BIT_NAMES and any(isinstance(one, float) for one in operands):
        raise BitOperation(operation=BIT_NAMES[symbol], got="FP32")
    try:
        return PYTHON[symbol](*operands)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ConstantArithmetic(symbol=symbol, reason=error)


def _check_bits(symbol: str, *dtypes: DataType) -> None:
    for dtype in dtypes:
        if symbol in BIT_NAMES and dtype.is_float:
            raise BitOperation(operation=BIT_NAMES[symbol], got=dtype.name.removeprefix("DT_"))
