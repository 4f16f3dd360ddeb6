"""What an expression of a kernel is while the kernel is read: known to Python, or a piece of the core program with its type."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Union

from pypto.cores.program import Constant, Expression, Name
from pypto.cores.types import INDEX, Group, Pointer, Scalar, Struct, Tensor, Tile, Type
from pypto.dtypes import DataType


@dataclass(frozen=True)
class Static:
    """A Python object known before anything runs: number, enum, element type, tile type, function, tuple of such."""

    value: Any


@dataclass(frozen=True)
class Intrinsic:
    """A name of the language, ``load`` or ``system.bar_all``."""

    path: str


@dataclass(frozen=True)
class Number:
    """A scalar of the scalar unit; with a ``Constant`` it is a typed constant."""

    expression: Expression
    dtype: DataType


@dataclass(frozen=True)
class TileHandle:
    """A tile. ``address`` where it is known; ``ids`` is how many buffer tokens it carries."""

    expression: Expression
    type: Tile
    address: int | None = None
    ids: int = 0


@dataclass(frozen=True)
class GroupHandle:
    expression: Expression
    type: Group
    addresses: tuple[int, ...] = ()


@dataclass(frozen=True)
class TensorHandle:
    expression: Expression
    type: Tensor


@dataclass(frozen=True)
class PointerHandle:
    """``parameter`` names the kernel's parameter it is, where it is one (only those can be compared with None)."""

    expression: Expression
    type: Pointer
    parameter: str = ""


@dataclass(frozen=True)
class StructHandle:
    """A reference to one record."""

    expression: Expression
    type: Struct


@dataclass(frozen=True)
class StructArrayHandle:
    expression: Expression
    type: Struct


@dataclass(frozen=True)
class ArrayField:
    """An array field of a record; only its elements are scalars."""

    struct: StructHandle
    name: str
    dtype: DataType
    length: int


@dataclass(frozen=True)
class Shape:
    """``tensor.shape`` or ``tile.valid_shape`` before it is indexed."""

    of: TensorHandle | TileHandle


@dataclass(frozen=True)
class Method:
    """``group.next`` before it is called."""

    of: Any
    name: str
    text: str = ""


@dataclass(frozen=True)
class Bundle:
    """A tuple whose elements are not all static; with ``names`` it came from ``make_tuple``."""

    items: tuple[Any, ...]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Conflict:
    """A name that is something else on every path; using it raises ``error``."""

    error: Any = field(compare=False)


@dataclass(frozen=True)
class Void:
    """What a call that returns nothing gives."""

    text: str


Handle = Union[TileHandle, GroupHandle, TensorHandle, PointerHandle, StructHandle, StructArrayHandle]
HANDLES = (TileHandle, GroupHandle, TensorHandle, PointerHandle, StructHandle, StructArrayHandle)
Value = Union[Static, Intrinsic, Number, Handle, ArrayField, Shape, Method, Bundle, Conflict, Void]


def same(first: Any, second: Any) -> bool:
    """Whether two values are one: Python's equality, but 1, 1.0 and True differ."""
    if type(first) is not type(second):
        return False
    if isinstance(first, Static):
        return same_object(first.value, second.value)
    if isinstance(first, Bundle):
        return first.names == second.names and len(first.items) == len(second.items) and all(map(same, first.items, second.items))
    if isinstance(first, Number) and isinstance(first.expression, Constant) and isinstance(second.expression, Constant):
        return first.dtype is second.dtype and same_object(first.expression.value, second.expression.value)
    return bool(first == second)


def same_object(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(map(same_object, first, second))
    return bool(first == second)


def is_number(thing: Any) -> bool:
    return isinstance(thing, (bool, int, float))


def literal_dtype(value: Any) -> DataType:
    """Type of a Python number in the core program (tile API section 1.5)."""
    if isinstance(value, bool):
        return DataType.DT_BOOL
    return INDEX if isinstance(value, int) else DataType.DT_FP32


def as_number(value: Any) -> Number | None:
    """A scalar value as an expression; None for anything else."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Static) and is_number(value.value):
        dtype = literal_dtype(value.value)
        return Number(Constant(value.value, dtype), dtype)
    return None


def static_number(value: Any) -> Any:
    """The Python number of a value that is known; None otherwise."""
    if isinstance(value, Static) and is_number(value.value):
        return value.value
    if isinstance(value, Number) and isinstance(value.expression, Constant):
        return value.expression.value
    return None


def static_integer(value: Any) -> int | None:
    found = static_number(value)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def elements(value: Any) -> list[Any] | None:
    """The elements of a tuple or list value; None for anything else."""
    if isinstance(value, Bundle):
        return list(value.items)
    if isinstance(value, Static) and isinstance(value.value, (tuple, list)):
        return [Static(item) for item in value.value]
    return None


def bundle(items: list[Any]) -> Static | Bundle:
    """A tuple of values: static when all are."""
    if all(isinstance(item, Static) for item in items):
        return Static(tuple(item.value for item in items))
    return Bundle(tuple(items))


def type_of(value: Any) -> Type | None:
    """The type that the core program keeps for a value; None where it has none."""
    number = as_number(value)
    if number is not None:
        return Scalar(number.dtype)
    return value.type if isinstance(value, HANDLES) else None


def category(value: Any) -> Any:
    """Values of one category can share a variable of the core program."""
    number = as_number(value)
    if number is not None:
        return "float" if number.dtype.is_float else "integer"
    return (type(value).__name__, value.type) if isinstance(value, HANDLES) else None


def renamed(value: Any, name: str) -> Any:
    """The same value, held by ``name``."""
    number = as_number(value)
    if number is not None:
        return Number(Name(name), number.dtype)
    return replace(value, expression=Name(name))


def expression_of(value: Any) -> Any:
    """The expression of a scalar or handle."""
    number = as_number(value)
    return number.expression if number is not None else value.expression


def describe(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, Static):
        return f"{type(value.value).__name__} {value.value!r}"[:80] if value.value is not None else "None"
    if isinstance(value, Number):
        return f"a scalar of {value.dtype.name}"
    if isinstance(value, Intrinsic):
        return f"pl.{value.path}"
    return DESCRIPTIONS.get(type(value).__name__, type(value).__name__)


DESCRIPTIONS = {
    "TileHandle": "a tile",
    "GroupHandle": "a tile group",
    "TensorHandle": "a tensor",
    "PointerHandle": "a pointer",
    "StructHandle": "a struct",
    "StructArrayHandle": "a struct array",
    "ArrayField": "an array field",
    "Shape": "a shape",
    "Method": "a method",
    "Bundle": "a tuple",
    "Conflict": "a value that differs between paths",
    "Void": "nothing (the call returns no value)",
}
