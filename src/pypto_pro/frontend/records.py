"""``struct``, ``struct_array``, ``make_tuple`` and their fields (tile API section 1.9)."""

from __future__ import annotations

import ast
from typing import Any

from pypto.cores.program import DeclareStruct, Field, Name, SetField
from pypto.cores.types import Struct
from pypto.dtypes import DataType
from pypto_pro.errors.calls import (
    RecordEmpty,
    RecordField,
    RecordName,
    RecordPositional,
    RecordStars,
    StructArraySize,
    StructInBranch,
)
from pypto_pro.errors.expressions import FieldIndex, NoStructField, NotAnArrayField, StructIndices
from pypto_pro.errors.statements import FieldLength, FieldOfNothing, FieldValue, ImmutableTuple
from pypto_pro.frontend import scalars
from pypto_pro.frontend.order import in_order
from pypto_pro.frontend.values import (
    ArrayField,
    Bundle,
    Number,
    StructArrayHandle,
    StructHandle,
    as_number,
    describe,
    elements,
    static_integer,
)


class WiderField(Exception):
    """A field of the pipeline's context holds more than its first value: the kernel is read again with the wider type."""

    def __init__(self, struct: str, field: str, dtype: DataType) -> None:
        super().__init__(struct, field)
        self.key = (struct, field)
        self.dtype = dtype


CONTEXT = "PipeCtx"  # kind of the struct array that the pipeline transform declares; its fields start as 0


def struct(reader: Any, node: ast.Call) -> StructHandle:
    """``pl.struct("Name", field=value, …)``."""
    hint = reader.take_hint("record")
    _refuse_branches(reader, "struct")
    if len(node.args) != 1:
        raise RecordPositional(
            call="struct", reason=f"takes the name and keyword fields, got {len(node.args)} positional arguments"
        )
    kind = _kind(node.args[0], "struct")
    type, values = _fields(reader, node, "struct", kind, None)
    name = reader.home(hint, StructHandle(Name(hint), type))
    reader.emit(DeclareStruct(name, kind, values, None, reader.frame.span(node)))
    return StructHandle(Name(name), type)


def struct_array(reader: Any, node: ast.Call) -> StructArrayHandle:
    """``pl.struct_array(count, "Name", field=value, …)``."""
    hint = reader.take_hint("records")
    _refuse_branches(reader, "struct_array")
    if len(node.args) != 2:
        raise RecordPositional(call="struct_array", reason=f"takes the size, the name and keyword fields, got {len(node.args)}")
    size = reader.expression(node.args[0])
    count = static_integer(size)
    if count is None or count < 1:
        raise StructArraySize(got=describe(size))
    kind = _kind(node.args[1], "struct_array")
    type, values = _fields(reader, node, "struct_array", kind, count)
    name = reader.home(hint, StructArrayHandle(Name(hint), type))
    reader.emit(DeclareStruct(name, kind, values, count, reader.frame.span(node)))
    return StructArrayHandle(Name(name), type)


def make_tuple(reader: Any, node: ast.Call) -> Bundle:
    """``pl.make_tuple(name=value, …)``: an immutable bundle of any values."""
    reader.take_hint("")
    if node.args:
        raise RecordPositional(call="make_tuple", reason="takes keyword fields only")
    names = _names(node, "make_tuple")
    return Bundle(tuple(in_order(reader, [keyword.value for keyword in node.keywords], reader.expression)), names)


def _refuse_branches(reader: Any, call: str) -> None:
    if reader.unit.branches:
        raise StructInBranch(call=call)


def _kind(node: ast.expr, call: str) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value.isidentifier():
        raise RecordName(call=call, got=ast.unparse(node))
    return node.value


def _names(node: ast.Call, call: str) -> tuple[str, ...]:
    if any(keyword.arg is None for keyword in node.keywords):
        raise RecordStars(call=call)
    if not node.keywords:
        raise RecordEmpty(call=call)
    return tuple(str(keyword.arg) for keyword in node.keywords)


def _fields(reader: Any, node: ast.Call, call: str, kind: str, count: int | None) -> tuple[Struct, tuple]:
    names = _names(node, call)
    types, values = [], []
    firsts = in_order(reader, [keyword.value for keyword in node.keywords], reader.expression)
    for name, value in zip(names, firsts, strict=True):
        dtype, length, first = _first_value(call, name, value)
        dtype = reader.unit.field_types.get((kind, name), dtype)
        types.append((name, dtype, length))
        values.append((name, first))
    return Struct(kind, tuple(types), count), tuple(values)


def _first_value(call: str, name: str, value: Any) -> tuple[DataType, int | None, Any]:
    number = as_number(value)
    if number is not None:
        return number.dtype, None, number.expression
    items = elements(value)
    numbers = [as_number(item) for item in items or ()]
    if not numbers or any(one is None for one in numbers):
        raise RecordField(call=call, name=name, got=describe(value))
    dtype = numbers[0].dtype  # type: ignore[union-attr]
    for one in numbers:
        dtype = scalars.join(dtype, one.dtype)  # type: ignore[union-attr]
    return dtype, len(numbers), tuple(one.expression for one in numbers)  # type: ignore[union-attr]


# -- fields -----------------------------------------------------------------------------------------------------------------


def read_field(struct: StructHandle, name: str) -> Any:
    dtype, length = field_of(struct, name)
    if length is not None:
        return ArrayField(struct, name, dtype, length)
    return Number(Field(struct.expression, name), dtype)


def field_of(struct: StructHandle, name: str) -> tuple[DataType, int | None]:
    for known, dtype, length in struct.type.fields:
        if known == name:
            return dtype, length
    raise NoStructField(name=name, known=", ".join(one[0] for one in struct.type.fields))


def set_field(reader: Any, target: ast.Attribute, value: Any, node: ast.AST) -> None:
    """``record.field = value``; a list fills an array field."""
    base = reader.expression(target.value)
    if isinstance(base, Bundle):
        raise ImmutableTuple(name=target.attr)
    if not isinstance(base, StructHandle):
        raise FieldOfNothing(name=target.attr, got=describe(base))
    dtype, length = field_of(base, target.attr)
    place = reader.frame.span(node)
    items = elements(value)
    if length is None or items is None:
        if length is not None:
            raise FieldLength(name=target.attr, expected=length, got=1)
        reader.emit(SetField(base.expression, target.attr, _converted(reader, base, target.attr, dtype, value), None, place))
        return
    if len(items) != length:
        raise FieldLength(name=target.attr, expected=length, got=len(items))
    values = tuple(_converted(reader, base, target.attr, dtype, item) for item in items)
    reader.emit(SetField(base.expression, target.attr, values, None, place))


def _converted(reader: Any, struct: StructHandle, name: str, dtype: DataType, value: Any) -> Any:
    number = as_number(value)
    if number is None:
        raise FieldValue(name=name, expected=dtype.name, got=describe(value))
    if number.dtype.is_float and not dtype.is_float:
        if struct.type.name.startswith(CONTEXT):
            raise WiderField(struct.type.name, name, number.dtype)
        raise FieldValue(name=name, expected=dtype.name, got=describe(value))
    return scalars.convert(number, dtype).expression if dtype.is_float or dtype is DataType.DT_BOOL else number.expression


def set_element(reader: Any, field: ArrayField, indices: list[Any], value: Any, node: ast.AST) -> None:
    """``record.field[index] = value``."""
    index = field_index(field, indices)
    converted = _converted(reader, field.struct, field.name, field.dtype, value)
    reader.emit(SetField(field.struct.expression, field.name, converted, index.expression, reader.frame.span(node)))


def read_element(field: ArrayField, indices: list[Any]) -> Number:
    return Number(Field(field.struct.expression, field.name, field_index(field, indices).expression), field.dtype)


def field_index(field: ArrayField, indices: list[Any]) -> Number:
    if len(indices) != 1:
        raise StructIndices()
    number = as_number(indices[0])
    known = static_integer(indices[0])
    if number is None or number.dtype.is_float:
        raise NotAnArrayField(name=field.name)
    if known is not None and not 0 <= known < field.length:
        raise FieldIndex(index=known, name=field.name, length=field.length)
    return number
