"""Formats of ``printf`` and ``pto_assert``: the directives that exist, their types, and the text they give (tile API section 3.14)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pypto.cores.types import Pointer, Scalar
from pypto.dtypes import DataType
from pypto.errors.tiles import FormatCount, FormatDirective, FormatNotText, FormatType
from pypto.ops.tile.checks import kind_of, operand
from pypto.ops.tile.table import StaticCall, StaticOperand

_DIRECTIVE = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[diuxfp]")
_ANY = re.compile(r"%[-+ #0]*\d*(?:\.\d*)?(?:hh|ll|[hlLjzt])?.?", re.DOTALL)
_SIGNED = "a signed integer"
EXPECTED = {
    "d": _SIGNED,
    "i": _SIGNED,
    "u": "an unsigned integer",
    "x": "an unsigned integer",
    "f": "an fp32 number",
    "p": "a pointer",
}


def directives(call: StaticCall, text: Any) -> list[str]:
    """The directives of a format, in order."""
    if not isinstance(text, str):
        raise FormatNotText(operation=call.operation, got=text)
    found = []
    for match in _ANY.finditer(text):
        if not _DIRECTIVE.fullmatch(match[0]):
            raise FormatDirective(operation=call.operation, directive=match[0])
        found.append(match[0])
    return found


def check_format(call: StaticCall, at: int) -> None:
    """The format at operand ``at`` is a literal, and the operands behind it fit it."""
    given = operand(call, at)
    found = directives(call, given.value if isinstance(given, StaticOperand) else None)
    arguments = [one for one in call.operands[at + 1 :] if one is not None]
    if len(found) != len(arguments):
        raise FormatCount(operation=call.operation, expected=len(found), got=len(arguments))
    for position, (directive, argument) in enumerate(zip(found, arguments, strict=True), start=1):
        conversion = directive[-1]
        if not _fits(conversion, argument):
            raise FormatType(
                operation=call.operation,
                conversion=conversion,
                expected=EXPECTED[conversion],
                position=position,
                got=_described(argument),
            )


def _described(argument: Any) -> str:
    if isinstance(argument, StaticOperand) and isinstance(argument.type, Scalar):
        return argument.type.dtype.label
    return kind_of(argument)


def _fits(conversion: str, argument: Any) -> bool:
    """Loop variables, extents and integer constants are 64-bit and print with every integer directive."""
    kind = argument.type if isinstance(argument, StaticOperand) else None
    if conversion == "p" or isinstance(kind, Pointer):
        return conversion == "p" and isinstance(kind, Pointer)
    if not isinstance(kind, Scalar):
        return isinstance(kind, type(None)) and _constant_fits(conversion, getattr(argument, "value", None))
    dtype = kind.dtype
    if conversion == "f":
        return dtype is DataType.DT_FP32
    if dtype is DataType.DT_BOOL:
        return conversion != "x"
    if dtype is DataType.DT_INT64 or (conversion in "ux" and argument.value is not None and argument.value >= 0):
        return True
    return dtype.is_integer and dtype.is_unsigned == (conversion in "ux")


def _constant_fits(conversion: str, value: Any) -> bool:
    return isinstance(value, float) if conversion == "f" else isinstance(value, int)


def formatted(text: str, values: Sequence[Any]) -> str:
    """The text with its directives filled in.

    >>> formatted("%d of %03u, %.2f", [-1, 7, 0.5])
    '-1 of 007, 0.50'
    """
    rest = iter(values)
    return _DIRECTIVE.sub(lambda match: _one(match[0], next(rest)), text)


def _one(directive: str, value: Any) -> str:
    kind = directive[-1]
    if kind == "f":
        return directive % float(value)
    if kind == "p":
        return f"0x{int(value):x}"
    if kind in "ux" and int(value) < 0:
        value = int(value) + (1 << 64)
    return (directive[:-1] + ("d" if kind == "u" else kind)) % int(value)
