"""Calls of tile operations: bound to their row, checked, and emitted as instructions for a pipe."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from typing import Any

from pypto.cores.enums import MemorySpace, PipeType
from pypto.cores.program import Constant, Instruction, Name
from pypto.cores.types import INDEX, Scalar, Tensor, Tile
from pypto.dtypes import DataType
from pypto.ops.tile.synchronisation import pipe_of_call
from pypto.ops.tile.table import Parameter, StaticCall, StaticOperand, TileOperation, find, rows
from pypto_pro.errors.calls import (
    ArgumentKind,
    ConstantExpected,
    EnumExpected,
    EnumInvalid,
    FormatLiteral,
    IntegerListExpected,
    MissingArgument,
    MissingKeyword,
    TooManyArguments,
    UnexpectedKeyword,
    UnknownOperation,
)
from pypto_pro.frontend import binding
from pypto_pro.frontend.binding import Arguments
from pypto_pro.frontend.values import (
    GroupHandle,
    Number,
    PointerHandle,
    Static,
    StructHandle,
    TensorHandle,
    TileHandle,
    Void,
    as_number,
    describe,
    elements,
    is_number,
    static_integer,
    static_number,
)

KINDS: dict[str, tuple[type, ...]] = {
    "tile": (TileHandle,),
    "group": (GroupHandle,),
    "tensor": (TensorHandle,),
    "pointer": (PointerHandle,),
    "struct": (StructHandle,),
}
TEXT = DataType.DT_BOTTOM  # element type of a constant that is a text


def operation_row(name: str) -> TileOperation:
    """The row of ``pl.name``; raises with the nearest name."""
    row = find(name)
    if row is None:
        near = difflib.get_close_matches(name, [one.name for one in rows()], n=1)
        raise UnknownOperation(name=name, nearest=f", did you mean pl.{near[0]}?" if near else "")
    return row


def call_operation(reader: Any, path: str, node: ast.Call) -> Any:
    """``pl.name(…)`` or ``pl.system.name(…)``."""
    reader.take_hint("")
    row = operation_row(path.rpartition(".")[2])
    arguments = binding.evaluate(reader, f"pl.{path}", node)
    return emit_operation(reader, row, arguments)


def emit_operation(reader: Any, row: TileOperation, arguments: Arguments) -> Any:
    """Binds, checks and emits; gives the scalar that the operation yields, or nothing."""
    given = bind(row, arguments)
    attributes = {name: _attribute(arguments, row.keywords[name], value) for name, value in given.keywords.items()}
    extra = _extra(reader, row, arguments, attributes)
    for parameter, value in given.positional:
        if parameter.kinds == {"text"}:
            _require_kind(arguments, parameter, value)
    _check(reader, row, given, attributes)
    for parameter, value in given.positional:
        _require_kind(arguments, parameter, value)
    operands = tuple(_operand(reader, arguments, value) for _, value in given.positional)
    keywords = {name: _expression(reader, value, name, arguments) for name, value in attributes.items()} | extra
    pipe = pipe_of(row, given, keywords) or PipeType.S
    reader.unit.operations.add(row.name)
    place = reader.frame.span(arguments.node)
    result = None
    if row.result:
        dtype = _result_dtype(given)
        result = reader.temporary_for("value", Number(Constant(0), dtype))
    reader.emit(Instruction(row.name, pipe, operands, keywords, result, place))
    return Number(Name(result), dtype) if result is not None else Void(arguments.call)


# -- binding ----------------------------------------------------------------------------------------------------------------


class Given:
    """Values by parameter: positional ones in order (None where left out), keywords that were given."""

    def __init__(self) -> None:
        self.positional: list[tuple[Parameter, Any]] = []
        self.keywords: dict[str, Any] = {}


def bind(row: TileOperation, arguments: Arguments) -> Given:
    """Positional parameters take positions or names; keywords names only."""
    given, keywords = Given(), dict(arguments.keywords)
    rest = list(arguments.positional)
    for parameter in row.positional:
        if parameter.variadic:
            given.positional += [(parameter, value) for value in rest]
            rest = []
        elif rest:
            given.positional.append((parameter, rest.pop(0)))
        elif parameter.name in keywords:
            given.positional.append((parameter, keywords.pop(parameter.name)))
        elif parameter.optional:
            given.positional.append((parameter, None))
        else:
            raise MissingArgument(call=arguments.call, name=parameter.name)
    if rest:
        raise TooManyArguments(call=arguments.call, most=len(row.positional), got=len(arguments.positional))
    _bind_keywords(row, arguments, keywords, given)
    while given.positional and given.positional[-1][1] is None:
        given.positional.pop()
    return given


def _bind_keywords(row: TileOperation, arguments: Arguments, keywords: dict[str, Any], given: Given) -> None:
    for name, value in keywords.items():
        if name not in row.keywords:
            raise UnexpectedKeyword(call=arguments.call, name=name)
        if value != Static(None):
            given.keywords[name] = value
    for name, parameter in row.keywords.items():
        if not parameter.optional and name not in given.keywords:
            raise MissingKeyword(call=arguments.call, name=name)


def _attribute(arguments: Arguments, parameter: Parameter, value: Any) -> Any:
    """A keyword's value: plain Python where it is known, a value of the front end otherwise."""
    name, call = parameter.name, arguments.call
    if parameter.enum is not None:
        if not isinstance(value, Static) or not hasattr(value.value, "name") or is_number(value.value):
            raise EnumExpected(call=call, name=name, enum=parameter.enum.__name__, got=describe(value))
        if not isinstance(value.value, parameter.enum):
            raise EnumInvalid(call=call, name=name, enum=parameter.enum.__name__, got=describe(value))
        return value.value
    if parameter.kinds == {"integers"}:
        return _integers(arguments, name, value)
    if isinstance(value, Static):
        if "real" in parameter.kinds and type(value.value) is int:
            return float(value.value)
        return list(value.value) if isinstance(value.value, tuple) else value.value
    if parameter.constant:
        known = static_number(value)
        if known is None:
            raise ConstantExpected(call=call, name=name, got=describe(value))
        return known
    return value


def _integers(arguments: Arguments, name: str, value: Any) -> list[Any]:
    items = elements(value)
    found = None if items is None else [static_integer(item) for item in items]
    if found is None or None in found:
        raise IntegerListExpected(call=arguments.call, name=name, got=describe(value))
    return found


def _extra(reader: Any, row: TileOperation, arguments: Arguments, attributes: dict[str, Any]) -> dict[str, Any]:
    """What output operations are told of their place in the text."""
    extra: dict[str, Any] = {}
    if attributes.get("loc"):
        span = reader.frame.span(arguments.node)
        extra["location"] = f"{span.file.replace(chr(92), '/').rpartition('/')[2]}:{span.line}"
    if row.name == "pto_assert" and arguments.node.args:
        extra["condition"] = ast.unparse(arguments.node.args[0])
    return extra


# -- checking -----------------------------------------------------------------------------------------------------------------


def _check(reader: Any, row: TileOperation, given: Given, attributes: dict[str, Any]) -> None:
    if row.check is None:
        return
    operands = tuple(static_operand(value) for _, value in given.positional)
    known = {name: value for name, value in attributes.items() if _is_plain(value)}
    types = {name: _type(value) for name, value in attributes.items()}
    row.check(StaticCall(row.name, operands, known, types, reader.unit.chip, reader.unit.target))


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (Number, TileHandle, TensorHandle, GroupHandle, PointerHandle, StructHandle))


def _type(value: Any) -> Any:
    if isinstance(value, Number):
        return Scalar(value.dtype)
    return getattr(value, "type", None)


def static_operand(value: Any) -> Any:
    """What a row's check sees of an operand."""
    if value is None:
        return None
    items = elements(value)
    if items is not None:
        return tuple(static_operand(item) for item in items)
    if isinstance(value, Static):
        return StaticOperand(repr(value.value), None, value.value)
    if isinstance(value, Number):
        return StaticOperand(repr(value.expression), _type(value), static_number(value))
    address = value.address if isinstance(value, TileHandle) else None
    return StaticOperand(type(value).__name__, _type(value), None, address)


def _require_kind(arguments: Arguments, parameter: Parameter, value: Any) -> None:
    if value is None or any(_is_kind(kind, value) for kind in parameter.kinds):
        return
    if "text" in parameter.kinds:
        raise FormatLiteral(call=arguments.call)
    expected = " or ".join(f"a {kind}" for kind in sorted(parameter.kinds))
    raise ArgumentKind(call=arguments.call, name=parameter.name, expected=expected, got=describe(value))


def _is_kind(kind: str, value: Any) -> bool:
    if kind in KINDS:
        return isinstance(value, KINDS[kind])
    if kind == "scalar":
        return as_number(value) is not None
    if kind in ("offsets", "integers"):
        items = elements(value)
        return items is not None
    if kind == "text":
        return isinstance(value, Static) and isinstance(value.value, str)
    return isinstance(value, Static)


# -- emitting -----------------------------------------------------------------------------------------------------------------


def _operand(reader: Any, arguments: Arguments, value: Any) -> Any:
    return None if value is None else _expression(reader, value, "operand", arguments)


def _expression(reader: Any, value: Any, hint: str, arguments: Arguments) -> Any:
    """A value as the operand of an instruction; tiles that are no name yet get one, so that they are evaluated once."""
    if isinstance(value, TileHandle):
        if not isinstance(value.expression, Name):
            value = reader.hold(value, "tile", reader.frame.span(arguments.node))
        return value.expression
    number = as_number(value) if isinstance(value, (Number, Static)) else None
    if number is not None:
        return number.expression
    if isinstance(value, Static) and isinstance(value.value, str):
        return Constant(value.value, TEXT)  # type: ignore[arg-type]
    items = elements(value)
    if items is not None:
        return tuple(_expression(reader, item, hint, arguments) for item in items)
    return getattr(value, "expression", value.value if isinstance(value, Static) else value)


def _result_dtype(given: Given) -> DataType:
    """A scalar has the type of the tile or tensor it is read from."""
    kind = _type(given.positional[0][1]) if given.positional else None
    return kind.dtype if isinstance(kind, (Tile, Tensor)) else INDEX


def pipe_of(row: TileOperation, given: Given, keywords: dict[str, Any]) -> PipeType | None:
    """The pipe of a call: of the row, of the memories involved, or of the keywords of a synchronisation."""
    stated = pipe_of_call(row.name, keywords)
    if stated is not None:
        return stated
    if isinstance(row.pipe, PipeType):
        return row.pipe
    find_pipe: Callable[[list[MemorySpace | None]], PipeType | None] = row.pipe  # type: ignore[assignment]
    kinds = [_type(value) for _, value in given.positional]
    return find_pipe([kind.space if isinstance(kind, Tile) else None for kind in kinds])
