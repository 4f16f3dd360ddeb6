"""Keys of compiled variants: what of constants and options tracing can see."""

from __future__ import annotations

import dataclasses
import enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pypto.options.scopes import Scope
from pypto.options.table import TABLE

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_BY_IDENTITY = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)


class Identity:
    """A constant that is equal only to itself; kept alive, so that its address stays its own."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.thing is other.thing


def constant_key(value: Any) -> Any:
    """A hashable that is equal exactly when tracing would see the same constant."""
    kind = type(value)
    if isinstance(value, enum.Enum) or kind in _PLAIN:
        return (kind, repr(value)) if kind is float else (kind, value)
    if isinstance(value, (list, tuple)):
        return (kind, tuple(constant_key(v) for v in value))
    if isinstance(value, dict):
        return (kind, tuple((constant_key(k), constant_key(v)) for k, v in value.items()))
    if isinstance(value, (set, frozenset)):
        return (kind, frozenset(constant_key(v) for v in value))
    if isinstance(value, np.ndarray):
        return (kind, value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, np.generic):
        return (kind, value.tobytes())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (kind, tuple(constant_key(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return _object_key(value)


def _object_key(value: Any) -> Any:
    """Objects with an equality of their own by it, all others by identity."""
    kind = type(value)
    if isinstance(value, _BY_IDENTITY) or kind.__eq__ is object.__eq__ or kind.__hash__ is None:
        return Identity(value)
    try:
        hash(value)
    except TypeError:
        return Identity(value)
    return (kind, value)


def option_key(scope: Scope) -> Any:
    """What of the options a compiled variant depends on: everything that differs from the defaults."""
    changed = {k: v for k, v in scope.values.items() if k not in TABLE or TABLE[k].default != v}
    return tuple((key, constant_key(value)) for key, value in sorted(changed.items()))
