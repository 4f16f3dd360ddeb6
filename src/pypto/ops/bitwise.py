"""Operations on the bits of integers (tensor API section 9.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.ops import rules
from pypto.ops.arguments import dtype_of, integer_operand, is_tensor, pair, scalar_of, tensor
from pypto.ops.comparison import logical_and, logical_not, logical_or
from pypto.ops.dtype_sets import BOOL, I8, I16, I32, INTEGERS, U8, U16, U32
from pypto.ops.families import elementwise
from pypto.ops.table import Vectors, record

CHIP = (I8, U8, I16, U16, I32, U32)
BITS = (*INTEGERS, BOOL)


def bitwise(
    name: str, compute: Callable[..., Any], lower: Callable[..., Any], operators: tuple[str, ...]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    unit = f"V{name[8:].upper()}"
    columns = {"chip": CHIP, "compute": compute, "lower": lower, "operators": operators, "method": True}
    return elementwise(name, dtypes=INTEGERS, instruction=unit, **columns)  # type: ignore[arg-type]


def _operands(name: str, first: Any, second: Any, *, wraps: bool = True) -> list[Any]:
    """Two operands; floats are refused by name, as tensors and as numbers."""
    for thing in (first, second):
        if is_tensor(thing):
            rules.check_dtype(name, dtype_of(thing), BITS)
    return pair(name, integer_operand(name, first), integer_operand(name, second), wraps=wraps)


def _both_bool(*things: Any) -> bool:
    return all(is_tensor(thing) and dtype_of(thing) is BOOL for thing in things)


@bitwise("bitwise_and", np.bitwise_and, lambda b, x, y: b.bit_and(x, y), ("__and__", "__rand__"))
def bitwise_and(self: Any, other: Any) -> Any:
    """Bits set in both; integer tensors, or one and an int. BOOL tensors: logical and.

    >>> evaluate(bitwise_and, np.array([12]), np.array([10])).tolist()
    [8]
    """
    if _both_bool(self, other):
        return logical_and(self, other)
    return record("bitwise_and", _operands("bitwise_and", self, other))


@bitwise("bitwise_or", np.bitwise_or, lambda b, x, y: b.bit_or(x, y), ("__or__", "__ror__"))
def bitwise_or(input1: Any, input2: Any) -> Any:
    """Bits set in either; integer tensors, or one and an int. BOOL tensors: logical or.

    >>> evaluate(bitwise_or, np.array([12]), np.array([10])).tolist()
    [14]
    """
    if _both_bool(input1, input2):
        return logical_or(input1, input2)
    return record("bitwise_or", _operands("bitwise_or", input1, input2))


@bitwise("bitwise_xor", np.bitwise_xor, lambda b, x, y: b.bit_xor(x, y), ("__xor__", "__rxor__"))
def bitwise_xor(first: Any, second: Any) -> Any:
    """Bits set in exactly one; integer tensors, or one and an int. BOOL tensors: one and not the other.

    >>> evaluate(bitwise_xor, np.array([12]), np.array([10])).tolist()
    [6]
    """
    if _both_bool(first, second):
        return logical_and(logical_or(first, second), logical_not(logical_and(first, second)))
    return record("bitwise_xor", _operands("bitwise_xor", first, second))


@bitwise("bitwise_not", np.bitwise_not, lambda b, x: b.bit_xor(x, _ones(b)), ("__invert__",))
def bitwise_not(self: Any) -> Any:
    """All bits flipped; of a BOOL tensor, logical not.

    >>> evaluate(bitwise_not, np.array([0, 5])).tolist()
    [-1, -6]
    """
    handle = tensor("bitwise_not", "self", self)
    return logical_not(handle) if dtype_of(handle) is BOOL else record("bitwise_not", [handle])


def _ones(b: Vectors) -> Any:
    return b.constant((1 << b.dtype.bits) - 1 if b.dtype.is_unsigned else -1)


# -- shifts: counts outside 0 … bits - 1 shift everything out -----------------------------------------------------------------


def _counts(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts limited to the width, and where they were inside it."""
    bits = y.dtype.itemsize * 8
    inside = (y >= 0) & (y < bits)
    return np.where(inside, y, np.array(bits - 1, y.dtype)), inside


def _left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    count, inside = _counts(y)
    return np.where(inside, np.left_shift(x, count), np.zeros((), x.dtype))


def _right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    count, inside = _counts(y)
    filled = np.where(x < 0, np.array(-1).astype(x.dtype), np.zeros((), x.dtype))
    return np.where(inside, np.right_shift(x, count), filled)


def _inside(b: Vectors, y: Any) -> Any:
    below = b.compare("lt", y, b.constant(b.dtype.bits))
    return below if b.dtype.is_unsigned else b.mask_and(below, b.compare("ge", y, b.constant(0)))


def _lower_left(b: Vectors, x: Any, y: Any) -> Any:
    inside, zero = _inside(b, y), b.constant(0)
    return b.select(inside, b.shift_left(x, b.select(inside, y, zero)), zero)


def _lower_right(b: Vectors, x: Any, y: Any) -> Any:
    inside, zero = _inside(b, y), b.constant(0)
    shifted = b.shift_right(x, b.select(inside, y, b.constant(b.dtype.bits - 1)))
    return b.select(inside, shifted, zero) if b.dtype.is_unsigned else shifted


def _shift(name: str, first: Any, second: Any) -> list[Any]:
    """Operands of a shift; a constant count beyond the width is the width."""
    if is_tensor(first) and isinstance(scalar_of(second), int) and dtype_of(first) in INTEGERS:
        second = _limited(scalar_of(second), dtype_of(first))  # type: ignore[arg-type]
    return _operands(name, first, second, wraps=False)


def _limited(count: int, dtype: DataType) -> int:
    return count if 0 <= count < dtype.bits else dtype.bits


@bitwise("bitwise_left_shift", _left, _lower_left, ("__lshift__", "__rlshift__"))
def bitwise_left_shift(input: Any, other: Any) -> Any:
    """``input << other``; counts that are negative or reach the width give 0.

    >>> evaluate(bitwise_left_shift, np.array([1, 3]), np.array([4, 1])).tolist()
    [16, 6]
    """
    return record("bitwise_left_shift", _shift("bitwise_left_shift", input, other))


@bitwise("bitwise_right_shift", _right, _lower_right, ("__rshift__", "__rrshift__"))
def bitwise_right_shift(input: Any, other: Any) -> Any:
    """``input >> other``, arithmetic for signed types; counts that are negative or reach the width leave only the sign.

    >>> evaluate(bitwise_right_shift, np.array([16, -8]), np.array([2, 1])).tolist()
    [4, -4]
    """
    return record("bitwise_right_shift", _shift("bitwise_right_shift", input, other))
