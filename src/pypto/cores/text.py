"""Core programs as text: one line per statement, instructions behind the pipe they are handed to.

>>> from pypto.cores.program import Constant, Name, Operation
>>> expression_text(Operation("+", (Operation("*", (Name("i"), Constant(64))), Constant(1))))
'i * 64 + 1'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from pypto.cores.enums import TensorLayout
from pypto.cores.program import (
    Assign,
    Break,
    Constant,
    Continue,
    CoreProgram,
    DeclareGroup,
    DeclareStruct,
    DeclareTensor,
    DeclareTile,
    Extent,
    Field,
    If,
    Instruction,
    Item,
    Loop,
    Name,
    Operation,
    Repeat,
    Return,
    SetField,
    Slot,
    Statement,
    System,
    TileProgram,
    ValidExtent,
    Window,
)
from pypto.cores.types import Group, Pointer, Scalar, Struct, Tensor, Tile

STEP = "  "
PIPE_WIDTH = 5  # of the longest pipe name and a space

# How tightly operators bind, as in Python; what is missing is written as a call.
BINDING = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 4),
    "|": 5,
    "^": 6,
    "&": 7,
    **dict.fromkeys(("<<", ">>"), 8),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("*", "/", "//", "%"), 10),
    "negate": 11,
    "~": 11,
}
UNARY = {"not": "not ", "negate": "-", "~": "~"}
LOOSEST, TIGHTEST = 0, 12


def print_program(program: TileProgram) -> str:
    """The whole kernel: parameters, then what each kind of core runs."""
    parameters = ", ".join(f"{one.name}: {type_text(one.type)}" for one in program.parameters)
    lines = [f"kernel {program.name}({parameters}) on {program.chip}"]
    for core in program.cores:
        lines += ["", f"{core.core.name.lower()}:", *core_lines(core)]
    return "\n".join(lines) + "\n"


def core_lines(core: CoreProgram) -> list[str]:
    """The statements of one core, indented once."""
    return list(_body(core.body, 1))


# -- types --------------------------------------------------------------------------------------------------------------------


def type_text(kind: Any) -> str:
    """``Vec[64, 64] fp32``, ``tensor[64, n] fp16``, ``pointer fp32``, ``int64``."""
    if isinstance(kind, Tile):
        return _tile_text(kind)
    if isinstance(kind, Group):
        return f"{kind.depth} x {_tile_text(kind.tile)}"
    if isinstance(kind, Tensor):
        layout = "" if kind.layout is TensorLayout.ND else f" {kind.layout.name}"
        return f"tensor[{', '.join(map(str, kind.shape))}] {kind.dtype.label}{layout}"
    if isinstance(kind, Pointer):
        return f"pointer {kind.dtype.label}"
    if isinstance(kind, Struct):
        fields = ", ".join(f"{name}: {dtype.label}{f'[{length}]' if length else ''}" for name, dtype, length in kind.fields)
        return f"struct {kind.name}({fields})" + (f"[{kind.count}]" if kind.count is not None else "")
    return kind.dtype.label if isinstance(kind, Scalar) else str(kind)


def _tile_text(tile: Tile) -> str:
    parts = [f"{tile.space.name}[{tile.shape[0]}, {tile.shape[1]}] {tile.dtype.label}"]
    if tile.layout is not TensorLayout.ND:
        parts.append(tile.layout.name)
    if tile.valid is not None:
        parts.append(f"valid [{tile.valid[0]}, {tile.valid[1]}]")
    if int(tile.pad):
        parts.append(f"pad {tile.pad.name}")
    return " ".join(parts)


# -- statements ---------------------------------------------------------------------------------------------------------------


def _body(body: Sequence[Statement], depth: int) -> Iterator[str]:
    for statement in body or ():
        yield from _statement(statement, depth)
    if not body:
        yield STEP * depth + "pass"


def _statement(statement: Statement, depth: int) -> Iterator[str]:
    indent = STEP * depth
    if isinstance(statement, Loop):
        bounds = ", ".join(map(expression_text, (statement.start, statement.stop, statement.step)))
        yield f"{indent}for {statement.variable} in range({bounds}):"
        yield from _body(statement.body, depth + 1)
    elif isinstance(statement, Repeat):
        yield f"{indent}repeat:"
        yield from _body(statement.body, depth + 1)
    elif isinstance(statement, If):
        yield f"{indent}if {expression_text(statement.condition)}:"
        yield from _body(statement.then, depth + 1)
        if statement.otherwise:
            yield f"{indent}else:"
            yield from _body(statement.otherwise, depth + 1)
    else:
        yield indent + statement_text(statement)


def statement_text(statement: Statement) -> str:
    """A statement without a body, on one line."""
    return _LINES[type(statement)](statement)


def _declare_tile(tile: DeclareTile) -> str:
    return f"tile {tile.name}: {type_text(tile.type)} at {tile.address:#x}{_tokens([tile.ids])}"


def _declare_group(group: DeclareGroup) -> str:
    addresses = ", ".join(f"{address:#x}" for address in group.addresses)
    events = "".join(
        f" {name} {', '.join(map(str, ids))}" for name, ids in (("forward", group.forward), ("backward", group.backward)) if ids
    )
    return f"group {group.name}: {len(group.addresses)} x {type_text(group.type)} at {addresses}{_tokens(group.ids)}{events}"


def _tokens(ids: Sequence[Sequence[int]]) -> str:
    """Tokens of every tile; several of one tile joined by ``+``."""
    if not any(ids):
        return ""
    return f" tokens {', '.join('+'.join(map(str, one)) for one in ids)}"


def _declare_struct(struct: DeclareStruct) -> str:
    fields = ", ".join(f"{name}={_value(value)}" for name, value in struct.fields)
    count = f"[{struct.count}]" if struct.count is not None else ""
    return f"struct {struct.name}: {struct.kind}{count}({fields})"


def _declare_tensor(tensor: DeclareTensor) -> str:
    shape = "pointer" if tensor.shape is None else f"tensor{_value(tensor.shape)}"
    text = f"view {tensor.name}: {shape} {tensor.dtype.label} of {expression_text(tensor.base)}"
    if tensor.strides is not None:
        text += f" strides {_value(tensor.strides)}"
    return text if tensor.offset == Constant(0) else f"{text} offset {expression_text(tensor.offset)}"


def _set_field(setting: SetField) -> str:
    index = f"[{expression_text(setting.index)}]" if setting.index is not None else ""
    return f"{_inner(setting.struct)}.{setting.name}{index} = {_value(setting.value)}"


def _instruction(instruction: Instruction) -> str:
    operands = [_value(operand) for operand in _without_tail(instruction.operands)]
    operands += [f"{name}={_value(value)}" for name, value in instruction.attributes.items() if _is_told(instruction, name)]
    result = f"{instruction.result} = " if instruction.result else ""
    return f"{instruction.pipe.name:<{PIPE_WIDTH}}{result}{instruction.operation}({', '.join(operands)})"


def _without_tail(operands: Sequence[Any]) -> Sequence[Any]:
    """Optional operands that were left out at the end are not shown."""
    shown = list(operands)
    while shown and shown[-1] is None:
        shown.pop()
    return shown


def _is_told(instruction: Instruction, name: str) -> bool:
    """Keywords that were left out are not shown, and the pipe stands in front of the line already."""
    value = instruction.attributes[name]
    return value is not None and not (name == "pipe" and value is instruction.pipe)


_LINES: dict[type, Any] = {
    Assign: lambda one: f"{one.name} = {expression_text(one.value)}",
    DeclareTile: _declare_tile,
    DeclareGroup: _declare_group,
    DeclareStruct: _declare_struct,
    DeclareTensor: _declare_tensor,
    SetField: _set_field,
    Instruction: _instruction,
    Break: lambda one: "break",
    Continue: lambda one: "continue",
    Return: lambda one: "return",
}


# -- expressions --------------------------------------------------------------------------------------------------------------


def _value(value: Any) -> str:
    """An operand or attribute: an expression, a list of them, or a plain value."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (int, float, str, bool)):
        return repr(value)
    return expression_text(value)


def expression_text(expression: Any) -> str:
    """An expression in Python's operators, with no more parentheses than needed."""
    return _expression(expression, LOOSEST)


def _inner(expression: Any) -> str:
    """An expression that something is taken from."""
    return _expression(expression, TIGHTEST)


def _expression(expression: Any, around: int) -> str:
    if isinstance(expression, Operation):
        return _operation(expression, around)
    if isinstance(expression, Constant):
        text = repr(expression.value)
        return f"({text})" if text.startswith("-") and around > LOOSEST else text
    return _SIMPLE[type(expression)](expression)


def _operation(operation: Operation, around: int) -> str:
    operator, operands = operation.operator, operation.operands
    if operator == "choose":
        condition, then, otherwise = operands
        text, binds = f"{_expression(then, 1)} if {_expression(condition, 1)} else {_expression(otherwise, 0)}", LOOSEST
    elif operator == "convert":
        return f"{operation.dtype.label}({expression_text(operands[0])})"
    elif operator in UNARY:
        binds = BINDING[operator]
        text = UNARY[operator] + _expression(operands[0], binds)
    elif operator in BINDING and len(operands) == 2:
        binds = BINDING[operator]
        text = f"{_expression(operands[0], binds)} {operator} {_expression(operands[1], binds + 1)}"
    else:
        return f"{operator}({', '.join(map(expression_text, operands))})"
    return f"({text})" if binds < around or (operator == "choose" and around > LOOSEST) else text


def _item(item: Item) -> str:
    of = _value(item.of) if isinstance(item.of, tuple) else _inner(item.of)
    return f"{of}[{expression_text(item.index)}]"


def _field(field: Field) -> str:
    index = f"[{expression_text(field.index)}]" if field.index is not None else ""
    return f"{_inner(field.struct)}.{field.name}{index}"


def _slot(slot: Slot) -> str:
    if slot.index is not None:
        return f"{_inner(slot.group)}[{expression_text(slot.index)}]"
    return f"{_inner(slot.group)}.{slot.how}()"


def _window(window: Window) -> str:
    rows = f"{expression_text(window.row)}:{expression_text(window.row_end)}"
    columns = f"{expression_text(window.column)}:{expression_text(window.column_end)}"
    return f"{_inner(window.tile)}[{rows}, {columns}]"


_SIMPLE: dict[type, Any] = {
    Name: lambda one: one.name,
    Slot: _slot,
    Window: _window,
    Field: _field,
    Item: _item,
    Extent: lambda one: f"{_inner(one.tensor)}.shape[{one.axis}]",
    ValidExtent: lambda one: f"{_inner(one.tile)}.valid_shape[{one.axis}]",
    System: lambda one: f"{one.name}()",
}
