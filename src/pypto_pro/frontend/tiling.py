"""Tiling classes: a dataclass of numbers that the host passes by value (tile API sections 1.6 and 2.5)."""

from __future__ import annotations

import ast
import ctypes
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any

from pypto.cores.types import INDEX, Struct
from pypto.dtypes import DataType
from pypto_pro.errors.tiling import (
    TilingArrayLength,
    TilingDuplicate,
    TilingEmpty,
    TilingField,
    TilingItems,
    TilingSequence,
    TilingValue,
)

KINDS: dict[str, DataType] = {"int": INDEX, "float": DataType.DT_FP32, "bool": DataType.DT_BOOL}
C_TYPES: dict[str, Any] = {"int": ctypes.c_int64, "float": ctypes.c_float, "bool": ctypes.c_bool}
LONGEST_ARRAY = 2048  # tile API section 1.6


@cache
def kinds_of(cls: type) -> tuple[tuple[str, str, int | None], ...]:
    """Name, kind (int, float, bool) and array length of every field; raises for a class that cannot be passed."""
    _refuse_duplicates(cls)
    found = [(name, *_kind(cls, name, annotation)) for name, annotation in cls.__annotations__.items()]
    if not found:
        raise TilingEmpty(cls=cls.__name__)
    return tuple(found)


def fields_of(cls: type, scope: Mapping[str, Any]) -> Struct:
    """The class as a struct of the core program."""
    return Struct(cls.__name__, tuple((name, KINDS[kind], length) for name, kind, length in kinds_of(cls)))


def _refuse_duplicates(cls: type) -> None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):  # without a text nothing can be written twice
        return
    names = [node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    for name in names:
        if names.count(name) > 1:
            raise TilingDuplicate(cls=cls.__name__, name=name)


def _kind(cls: type, name: str, annotation: Any) -> tuple[str, int | None]:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))
    text = text.strip("'\" ")
    if text in KINDS:
        return text, None
    head, _, rest = text.partition("[")
    if head in KINDS and rest.endswith("]"):
        length = rest[:-1].strip()
        if not length.isdigit() or not 1 <= int(length) <= LONGEST_ARRAY:
            raise TilingArrayLength(cls=cls.__name__, name=name, got=length, most=LONGEST_ARRAY)
        return head, int(length)
    raise TilingField(cls=cls.__name__, name=name, got=text)


def values_of(cls: type, instance: Any, parameter: str) -> dict[str, Any]:
    """Field values as plain Python: numbers, and tuples for array fields; checked."""
    if not isinstance(instance, cls):
        raise TilingValue(name=parameter, expected=cls.__name__, got=type(instance).__name__)
    return {name: _field(f"{parameter}.{name}", getattr(instance, name), kind, length) for name, kind, length in kinds_of(cls)}


def _field(name: str, value: Any, kind: str, length: int | None) -> Any:
    if length is None:
        return _number(name, value, kind)
    try:
        count = len(value)
        items = [value[index] for index in range(count)]
    except (TypeError, KeyError, IndexError):
        raise TilingSequence(name=name, got=type(value).__name__)
    if count != length:
        raise TilingItems(name=name, expected=length, got=count)
    return tuple(_number(name, item, kind) for item in items)


def _number(name: str, value: Any, kind: str) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    allowed = {"int": (int,), "float": (int, float), "bool": (bool, int)}[kind]
    if not isinstance(value, allowed):
        raise TilingValue(name=name, expected=kind, got=type(value).__name__)
    return ctypes.c_float(value).value if kind == "float" else int(value) if kind == "int" else bool(value)


def pack(cls: type, instance: Any) -> bytes:
    """The instance as the C structure that the device would read: natural alignment, fields in order.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Sizes:
    ...     rows: int
    ...     scale: float
    >>> len(pack(Sizes, Sizes(4, 0.5)))
    16
    """
    members = []
    for name, kind, length in kinds_of(cls):
        members.append((name, C_TYPES[kind] if length is None else C_TYPES[kind] * length))
    structure = type(cls.__name__, (ctypes.Structure,), {"_fields_": members})()
    for name, value in values_of(cls, instance, cls.__name__).items():
        if isinstance(value, tuple):
            getattr(structure, name)[:] = value
        else:
            setattr(structure, name, value)
    return bytes(structure)
