"""From what users pass to what is recorded: tensors stay handles, numbers become literals in the tensor's element type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pypto.dtypes import DataType
from pypto.elements import Element, element_value, fits
from pypto.errors.operations import (
    ArgumentType,
    FloatScalarOnInteger,
    IntegerScalarExpected,
    NotAScalar,
    NotATensor,
    ScalarOutOfRange,
    ShapeEntry,
    TwoScalars,
)
from pypto.ir.program import Literal, TensorType
from pypto.ir.symbols import Expression, Scalar, kind_of
from pypto.ops.table import RECORDER, recorder


def is_tensor(thing: Any) -> bool:
    """Whether ``thing`` is a tensor handle; outside a kernel, whether it looks like one."""
    listener = RECORDER.get()
    if listener is not None:
        return listener.is_tensor(thing)
    return hasattr(thing, "dtype") and hasattr(thing, "shape")


def dtype_of(thing: Any) -> DataType:
    listener = RECORDER.get()
    return listener.type_of(thing).dtype if listener is not None else thing.dtype


def type_of(thing: Any) -> TensorType:
    return recorder().type_of(thing)


def scalar_of(thing: Any) -> Scalar | None:
    """``thing`` as an ir scalar (number or expression), or None."""
    if isinstance(thing, (bool, int, float, Expression)):
        return thing
    listener = RECORDER.get()
    return listener.scalar(thing) if listener is not None else None


def kind_name(thing: Any) -> str:
    return type(thing).__name__


def tensor(operation: str, argument: str, thing: Any) -> Any:
    """``thing``, which must be a tensor."""
    recorder()
    if not is_tensor(thing):
        raise NotATensor(operation=operation, argument=argument, kind=kind_name(thing))
    return thing


def literal(operation: str, argument: str, thing: Any, dtype: DataType, *, wraps: bool = True) -> Literal:
    """A number, symbolic scalar or ``Element`` as a literal of ``dtype`` (an ``Element`` keeps its own).

    Integers that do not fit are wrapped, or refused when ``wraps`` is false; a float for an integer tensor is refused.
    """
    if isinstance(thing, Element):
        return Literal(element_value(thing.value, thing.dtype), thing.dtype)
    value = scalar_of(thing)
    if value is None:
        raise NotAScalar(operation=operation, argument=argument, kind=kind_name(thing))
    if dtype.is_integer and kind_of(value) == "float":
        raise FloatScalarOnInteger(operation=operation, dtype=dtype.name, value=value)
    if isinstance(value, Expression):
        return Literal(value, dtype)
    if not wraps and not fits(value, dtype):
        raise ScalarOutOfRange(operation=operation, value=value, dtype=dtype.name)
    return Literal(element_value(value, dtype), dtype)


def pair(operation: str, first: Any, second: Any, *, wraps: bool = True) -> list[Any]:
    """Two operands of which at least one is a tensor; the other may be a number."""
    recorder()
    if is_tensor(first):
        return [first, second if is_tensor(second) else literal(operation, "other", second, dtype_of(first), wraps=wraps)]
    if is_tensor(second):
        return [literal(operation, "input", first, dtype_of(second), wraps=wraps), second]
    for argument, thing in (("input", first), ("other", second)):
        if scalar_of(thing) is None and not isinstance(thing, Element):
            raise NotAScalar(operation=operation, argument=argument, kind=kind_name(thing))
    raise TwoScalars(operation=operation)


def integer(operation: str, argument: str, thing: Any) -> int:
    """A plain int (bool refused)."""
    value = scalar_of(thing)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentType(operation=operation, argument=argument, expected="int", kind=kind_name(thing))
    return value


def boolean(operation: str, argument: str, thing: Any) -> bool:
    if not isinstance(thing, bool):
        raise ArgumentType(operation=operation, argument=argument, expected="bool", kind=kind_name(thing))
    return thing


def dtype_argument(operation: str, argument: str, thing: Any) -> DataType:
    if not isinstance(thing, DataType):
        raise ArgumentType(operation=operation, argument=argument, expected="DataType", kind=kind_name(thing))
    return thing


def integers(operation: str, argument: str, things: Any) -> tuple[int, ...]:
    """A list or tuple of plain ints."""
    found = scalars(operation, argument, things)
    if any(isinstance(i, Expression) for i in found):
        raise ShapeEntry(operation=operation, argument=argument, got=things)
    return found  # type: ignore[return-value]


def scalars(operation: str, argument: str, things: Any) -> tuple[Scalar, ...]:
    """A list or tuple of ints, symbolic ones included."""
    if not isinstance(things, Sequence) or isinstance(things, str):
        raise ShapeEntry(operation=operation, argument=argument, got=things)
    found = [scalar_of(thing) for thing in things]
    if any(value is None or kind_of(value) != "int" for value in found):
        raise ShapeEntry(operation=operation, argument=argument, got=list(things))
    return tuple(found)  # type: ignore[arg-type]


def integer_operand(operation: str, thing: Any) -> Any:
    """A tensor, or an int or symbolic int (floats refused by name)."""
    if is_tensor(thing):
        return thing
    value = scalar_of(thing)
    if value is None or kind_of(value) == "float":
        raise IntegerScalarExpected(operation=operation, value=thing)
    return thing


def integral(value: Any) -> bool:
    """Whether a number is a whole number (floats included)."""
    return not isinstance(value, float) or (math.isfinite(value) and value == int(value))
