"""Expressions of core programs: as Python code for the scalar unit, and as text for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.cores import program as p
from pypto.dtypes import DataType

EXPRESSIONS = (
    p.Constant,
    p.Name,
    p.Operation,
    p.Slot,
    p.Window,
    p.Field,
    p.Item,
    p.Extent,
    p.ValidExtent,
    p.System,
)


def is_expression(value: Any) -> bool:
    return isinstance(value, EXPRESSIONS)


def code(expression: p.Expression) -> str:
    """Python code that yields the value."""
    return _CODE[type(expression)](expression)


def _constant(one: p.Constant) -> str:
    value = one.value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float({str(value)!r})"
    return f"({value!r})" if isinstance(value, (int, float)) and value < 0 else repr(value)


def _slot(one: p.Slot) -> str:
    inside = "" if one.index is None else code(one.index)
    return f"{code(one.group)}.{one.how}({inside})"


def _window(one: p.Window) -> str:
    return f"{code(one.tile)}.window({', '.join(code(part) for part in (one.row, one.row_end, one.column, one.column_end))})"


def _field(one: p.Field) -> str:
    found = f"{code(one.struct)}.{one.name}"
    return found if one.index is None else f"element({found}, {code(one.index)}, {one.name!r})"


def _item(one: p.Item) -> str:
    if isinstance(one.of, tuple):
        return f"element(({', '.join(code(part) for part in one.of)},), {code(one.index)}, 'the tuple')"
    return f"element({code(one.of)}, {code(one.index)}, {text(one.of)!r})"


_PLAIN = {
    "and": "({} and {})",
    "or": "({} or {})",
    "not": "(not {})",
    "<": "({} < {})",
    "<=": "({} <= {})",
    ">": "({} > {})",
    ">=": "({} >= {})",
    "==": "({} == {})",
    "!=": "({} != {})",
    "choose": "({1} if {0} else {2})",
    "is_null": "is_null({})",
    "/": "ratio({}, {})",
}
_ARITHMETIC = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "//": "quotient({}, {})",
    "%": "remainder({}, {})",
    "<<": "({} << {})",
    ">>": "({} >> {})",
    "&": "({} & {})",
    "|": "({} | {})",
    "^": "({} ^ {})",
    "~": "(~{})",
    "negate": "(-{})",
    "min": "min({}, {})",
    "max": "max({}, {})",
}
GROWING = frozenset(["+", "-", "*", "<<", "~", "negate"])  # may leave the range of a register


def _operation(one: p.Operation) -> str:
    operands = [code(part) for part in one.operands]
    if one.operator == "convert":
        return _conversion(operands[0], one.dtype)
    if one.operator in _PLAIN:
        return _PLAIN[one.operator].format(*operands)
    pattern, found = _ARITHMETIC[one.operator], operands[0]
    for operand in operands[1:]:
        found = pattern.format(found, operand)
    if len(operands) == 1:
        found = pattern.format(found)
    if one.dtype.is_float:
        return f"single({found})"
    if one.operator in GROWING and one.dtype not in (DataType.DT_INT64, DataType.DT_BOOL):
        return f"wrapped({found}, {one.dtype.facts.bits}, {not one.dtype.is_unsigned})"
    return found


def _conversion(operand: str, dtype: DataType) -> str:
    return f"converted({operand}, element_types[{dtype.name!r}])"


_CODE: dict[type, Callable[[Any], str]] = {
    p.Constant: _constant,
    p.Name: lambda one: f"n_{one.name}",
    p.Operation: _operation,
    p.Slot: _slot,
    p.Window: _window,
    p.Field: _field,
    p.Item: _item,
    p.Extent: lambda one: f"{code(one.tensor)}.shape[{one.axis}]",
    p.ValidExtent: lambda one: f"{code(one.tile)}.{('rows', 'columns')[one.axis]}",
    p.System: lambda one: f"unit.{one.name}",
}


# -- text ---------------------------------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    """Near to what the user wrote."""
    if isinstance(value, tuple):
        return f"[{', '.join(text(one) for one in value)}]"
    shown = _TEXT.get(type(value))
    return shown(value) if shown else str(value)


def _operation_text(one: p.Operation) -> str:
    parts = [text(part) for part in one.operands]
    if one.operator == "choose":
        return f"{parts[1]} if {parts[0]} else {parts[2]}"
    if len(parts) == 2 and not one.operator.isalpha():
        return f"{parts[0]} {one.operator} {parts[1]}"
    return f"{one.operator}({', '.join(parts)})"


_TEXT: dict[type, Callable[[Any], str]] = {
    p.Constant: lambda one: str(one.value),
    p.Name: lambda one: one.name,
    p.Operation: _operation_text,
    p.Slot: lambda one: f"{text(one.group)}[{text(one.index)}]" if one.index is not None else f"{text(one.group)}.{one.how}()",
    p.Window: lambda one: f"{text(one.tile)}[{text(one.row)}:{text(one.row_end)}, {text(one.column)}:{text(one.column_end)}]",
    p.Field: lambda one: f"{text(one.struct)}.{one.name}",
    p.Item: lambda one: f"{text(one.of)}[{text(one.index)}]",
    p.Extent: lambda one: f"{text(one.tensor)}.shape[{one.axis}]",
    p.ValidExtent: lambda one: f"{text(one.tile)}.valid_shape[{one.axis}]",
    p.System: lambda one: f"get_{one.name}()",
}
