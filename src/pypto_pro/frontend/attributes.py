"""Attributes: names of the language, fields of structs and tuples, shapes, methods of groups, attributes of Python objects."""

from __future__ import annotations

import ast
from typing import Any

from pypto_pro import language
from pypto_pro.errors.expressions import NoTupleField, UnknownAttribute
from pypto_pro.errors.language import RegisterLevel
from pypto_pro.frontend import records
from pypto_pro.frontend.values import (
    Bundle,
    GroupHandle,
    Intrinsic,
    Method,
    Shape,
    Static,
    StructHandle,
    TensorHandle,
    TileHandle,
    describe,
)
from pypto_pro.frontend.variables import plain
from pypto_pro.language.dtypes import DTYPES, UNUSED
from pypto_pro.language.enums import CORE_ENUMS, REGISTER_ENUMS
from pypto_pro.language.registers import Vf

PLAIN_NAMES = frozenset(
    {*DTYPES, *UNUSED, *CORE_ENUMS, *REGISTER_ENUMS, "ND", "DN", "NZ", "ZN", "NN", "ZZ", "DYNAMIC", "STATIC"}
    | {"TileType", "Tensor", "Tile", "Ptr", "Scalar", "MemRef", "Vf", "pipeline"}
)
"""Names of the language that stand for Python objects; all others are calls that the front end reads."""

GROUP_METHODS = ("next", "current", "previous")


def attribute(reader: Any, node: ast.Attribute) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id == "vf" and "vf" not in reader.frame.env:
        raise RegisterLevel(name=node.attr)
    return attribute_of(reader.expression(node.value), node.attr, ast.unparse(node.value))


def attribute_of(base: Any, name: str, text: str) -> Any:
    if isinstance(base, Static):
        return static_attribute(base.value, name)
    if isinstance(base, Intrinsic):
        return Intrinsic(f"{base.path}.{name}")
    if isinstance(base, StructHandle):
        return records.read_field(base, name)
    if isinstance(base, Bundle) and base.names is not None:
        return tuple_field(base, name)
    if isinstance(base, GroupHandle) and name in GROUP_METHODS:
        return Method(base, name, text)
    if isinstance(base, TileHandle) and name in GROUP_METHODS:
        return Method(base, name, text)
    if isinstance(base, TensorHandle) and name == "shape":
        return Shape(base)
    if isinstance(base, TileHandle) and name == "valid_shape":
        return Shape(base)
    if isinstance(base, TileHandle) and name == "shape":
        return Static(base.type.shape)
    if isinstance(base, (TileHandle, TensorHandle)) and name == "dtype":
        return Static(base.type.dtype)
    raise UnknownAttribute(name=name, got=describe(base))


def static_attribute(value: Any, name: str) -> Any:
    if value is language:
        return Static(getattr(language, name)) if name in PLAIN_NAMES else Intrinsic(name)
    if value is Vf:
        raise RegisterLevel(name=name)
    try:
        return Static(plain(getattr(value, name)))
    except AttributeError:
        raise UnknownAttribute(name=name, got=describe(Static(value)))


def tuple_field(base: Bundle, name: str) -> Any:
    names = base.names or ()
    if name not in names:
        raise NoTupleField(name=name, known=", ".join(names))
    return base.items[names.index(name)]
