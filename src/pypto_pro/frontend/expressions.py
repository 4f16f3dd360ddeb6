"""Expressions of a kernel: names, constants, operators, comparisons, conditionals, attributes (tile API section 2.10)."""

from __future__ import annotations

import ast
import enum
from typing import Any

from pypto.cores.program import Assign, Constant, If, Operation, Slot
from pypto.dtypes import DataType
from pypto_pro.errors.expressions import (
    ChainedComparison,
    EnumOrder,
    InContainer,
    IsWithoutNone,
    LiteralType,
    NoneTestName,
    NoneTestType,
    NotAScalar,
    PowerAtRunTime,
    TernaryIds,
    TernaryValue,
    TileOffset,
    UnsupportedExpression,
    UnsupportedOperator,
    UseOfVoid,
)
from pypto_pro.frontend import pointers, scalars, tidy
from pypto_pro.frontend.order import in_order
from pypto_pro.frontend.state import State
from pypto_pro.frontend.values import (
    Conflict,
    Number,
    PointerHandle,
    Static,
    TensorHandle,
    TileHandle,
    Void,
    as_number,
    bundle,
    category,
    describe,
    elements,
    expression_of,
    is_number,
    same,
    static_number,
)
from pypto_pro.frontend.variables import look_up, merge_two, store

BOOL = DataType.DT_BOOL

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
UNARY = {ast.USub: "negate", ast.Invert: "~", ast.Not: "not"}


def name(reader: Any, node: ast.Name) -> Any:
    return look_up(reader, node.id)


def constant(reader: Any, node: ast.Constant) -> Any:
    if node.value is None or is_number(node.value) or isinstance(node.value, str):
        return Static(node.value)
    raise LiteralType(got=type(node.value).__name__)


def sequence(reader: Any, node: ast.Tuple | ast.List) -> Any:
    if any(isinstance(element, ast.Starred) for element in node.elts):
        raise UnsupportedExpression(kind="Starred")
    return bundle(in_order(reader, node.elts, lambda element: usable(reader.expression(element))))


def usable(value: Any) -> Any:
    """Anything but the result of a call that returns nothing."""
    if isinstance(value, Void):
        raise UseOfVoid(text=value.text)
    return value


# -- operators ------------------------------------------------------------------------------------------------------------


def binary(reader: Any, node: ast.BinOp) -> Any:
    symbol = BINARY[type(node.op)]
    left, right = pair(reader, node.left, node.right)
    return binary_values(reader, symbol, left, right, node)


def pair(reader: Any, first: ast.expr, second: ast.expr) -> tuple[Any, Any]:
    """Two operands in Python's order: what the second one does is not seen by the first."""
    left, right = in_order(reader, (first, second), lambda node: usable(reader.expression(node)))
    return left, right


def binary_values(reader: Any, symbol: str, left: Any, right: Any, node: ast.AST) -> Any:
    if isinstance(left, PointerHandle):
        return pointers.advance(reader, symbol, left, right, node)
    if isinstance(left, TileHandle) and symbol == "+":
        raise TileOffset()
    if symbol == "**" and not (isinstance(left, Static) and isinstance(right, Static)):
        raise PowerAtRunTime()
    if isinstance(left, Static) and isinstance(right, Static):
        return _static(symbol, left, right)
    found = scalars.binary(symbol, left, right) if symbol != "@" else None
    if found is None:
        raise UnsupportedOperator(symbol=symbol, left=describe(left), right=describe(right))
    return found


def _static(symbol: str, left: Static, right: Static) -> Static:
    if symbol == "@":
        raise UnsupportedOperator(symbol=symbol, left=describe(left), right=describe(right))
    return Static(scalars.compute(symbol, left.value, right.value))


def unary(reader: Any, node: ast.UnaryOp) -> Any:
    value = usable(reader.expression(node.operand))
    symbol = UNARY.get(type(node.op))
    if symbol is None:  # unary plus
        return value
    found = scalars.unary(symbol, value)
    if found is None:
        raise UnsupportedOperator(symbol=symbol, left=describe(value), right="nothing")
    return found


def compare(reader: Any, node: ast.Compare) -> Any:
    if len(node.ops) != 1:
        raise ChainedComparison()
    operator, other = node.ops[0], node.comparators[0]
    if isinstance(operator, (ast.Is, ast.IsNot)):
        return none_test(reader, node, other)
    if isinstance(operator, (ast.In, ast.NotIn)):
        return contains(reader, node, other, isinstance(operator, ast.NotIn))
    symbol = COMPARE[type(operator)]
    left, right = pair(reader, node.left, other)
    return compare_values(symbol, left, right)


def compare_values(symbol: str, left: Any, right: Any) -> Any:
    static = isinstance(left, Static) and isinstance(right, Static)
    enums = any(isinstance(v, Static) and isinstance(v.value, enum.Enum) for v in (left, right))
    if enums and symbol not in ("==", "!="):
        raise EnumOrder(symbol=symbol)
    if static and enums:
        return Static((left.value == right.value) is (symbol == "=="))
    found = scalars.binary(symbol, left, right)
    if found is None:
        raise UnsupportedOperator(symbol=symbol, left=describe(left), right=describe(right))
    return found


def none_test(reader: Any, node: ast.Compare, other: ast.expr) -> Any:
    """``p is None``: a run-time question for pointer parameters, a compile-time one for what is static."""
    if not (isinstance(other, ast.Constant) and other.value is None):
        raise IsWithoutNone()
    if not isinstance(node.left, ast.Name):
        raise NoneTestName()
    negated = isinstance(node.ops[0], ast.IsNot)
    value = reader.expression(node.left)
    if isinstance(value, Static):
        return Static((value.value is None) is not negated)
    if not isinstance(value, (PointerHandle, TensorHandle)):
        raise NoneTestType(name=node.left.id, got=describe(value))
    if isinstance(value, PointerHandle) and not value.parameter:
        raise NoneTestType(name=node.left.id, got="a pointer made in the kernel")
    found = Number(Operation("is_null", (value.expression,), BOOL), BOOL)
    return scalars.unary("not", found) if negated else found


def contains(reader: Any, node: ast.Compare, other: ast.expr, negated: bool) -> Any:
    """``x in (1, 2)`` and ``x in pl.range(a, b)``."""
    value = usable(reader.expression(node.left))
    bounds = reader.range_bounds(other)
    if bounds is not None:
        found = _in_range(value, *bounds)
    else:
        items = elements(reader.expression(other))
        if items is None:
            raise InContainer()
        found = Static(False)
        for item in items:
            found = either(found, compare_values("==", value, item))
    return scalars.unary("not", found) if negated else found


def _in_range(value: Any, start: Any, stop: Any, step: Any) -> Any:
    inside = both(compare_values(">=", value, start), compare_values("<", value, stop))
    if static_number(step) == 1:
        return inside
    distance = scalars.binary("-", value, start)
    return both(inside, compare_values("==", scalars.binary("%", distance, step), Static(0)))


def both(first: Any, second: Any) -> Any:
    return _logical("and", first, second)


def either(first: Any, second: Any) -> Any:
    return _logical("or", first, second)


def _logical(word: str, first: Any, second: Any) -> Any:
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Static):
            return other if bool(one.value) is (word == "and") else Static(word == "or")
    operands = tuple(condition(one).expression for one in (first, second))
    return Number(Operation(word, operands, BOOL), BOOL)


# -- and, or, conditional expressions ---------------------------------------------------------------------------------------


def boolean(reader: Any, node: ast.BoolOp) -> Any:
    """``and``/``or``: a known side decides at once; the right side is evaluated only when it is needed."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    value = usable(reader.expression(node.values[0]))
    for operand in node.values[1:]:
        value = _next_operand(reader, word, value, operand, node)
    return value


def _next_operand(reader: Any, word: str, value: Any, operand: ast.expr, node: ast.AST) -> Any:
    if isinstance(value, Static):
        decided = bool(value.value) is (word == "or")
        return value if decided else usable(reader.expression(operand))
    left = condition(value, "an operand of `and` or `or`")
    right, statements = reader.aside(operand)
    right = usable(right)
    if not statements:
        return _logical(word, left, right if isinstance(right, Static) else condition(right))
    place = reader.frame.span(node)
    found = reader.hold(left, "decided", place)
    body = (*statements, Assign(found.expression.name, condition(right).expression, place))
    test = found.expression if word == "and" else Operation("not", (found.expression,), BOOL)
    reader.emit(If(test, body, (), place))
    return found


def condition(value: Any, what: str = "a condition") -> Number:
    """A value as a truth value of the core program."""
    number = as_number(value)
    if number is None:
        raise NotAScalar(what=what, got=describe(value))
    return scalars.truth(number)


def conditional(reader: Any, node: ast.IfExp) -> Any:
    """``a if test else b``: one of them when the test is known, else a choice at run time."""
    test = reader.test(node.test)
    if isinstance(test, Static):
        return reader.expression(node.body if test.value else node.orelse)
    (then, then_statements), (other, other_statements) = reader.aside(node.body), reader.aside(node.orelse)
    then, other = usable(then), usable(other)
    first, second = as_number(then), as_number(other)
    plain = not then_statements and not other_statements
    if first is not None and second is not None:
        if plain and same(then, other):
            return then
        dtype = scalars.join(first.dtype, second.dtype)
        first, second = of_category(first, dtype), of_category(second, dtype)
        if plain and not turns(first, second):
            return Number(Operation("choose", (test.expression, first.expression, second.expression), dtype), dtype)
        then, other = first, second
    check_branches(then, other)
    return _chosen(reader, node, test, (then, then_statements), (other, other_statements))


def of_category(number: Number, dtype: DataType) -> Number:
    """An integer where ``dtype`` is a float becomes one."""
    return number if number.dtype.is_float is dtype.is_float else scalars.convert(number, dtype)


def turns(*values: Any) -> bool:
    """Whether evaluating turns a ring: then it must happen on one branch only."""
    return any(tidy.turns(expression_of(value)) for value in values)


def check_branches(then: Any, other: Any) -> None:
    if isinstance(then, TileHandle) and isinstance(other, TileHandle) and then.ids != other.ids:
        raise TernaryIds(first=then.ids, second=other.ids)
    if category(then) is None or category(then) != category(other):
        raise TernaryValue(first=describe(then), second=describe(other))


def _chosen(reader: State, node: ast.IfExp, test: Number, then: tuple, other: tuple) -> Any:
    """The branches as statements that fill one variable."""
    place = reader.frame.span(node)
    reader.unit.temporaries += 1
    label = f"chosen_{reader.unit.temporaries}" if reader.frame.helper else "chosen"
    arms, stored = [], []
    for value, statements in (then, other):
        outer, reader.block = reader.block, list(statements)
        stored.append(store(reader, label, value, place))
        arms.append(tuple(reader.block))
        reader.block = outer
    reader.emit(If(test.expression, arms[0], arms[1], place))
    merged = merge_two(reader, label, *stored)
    if isinstance(merged, Conflict):
        raise merged.error()
    return reader.hold(merged, "chosen", place)


def slot(group: Any, how: str, index: Any = None) -> TileHandle:
    """A tile of a group."""
    address = None
    position = static_number(index) if index is not None else None
    if len(group.addresses) == 1:
        position = 0
    if position is not None and 0 <= position < len(group.addresses):
        address = group.addresses[position]
    expression = index.expression if isinstance(index, Number) else None
    if isinstance(index, Static):
        expression = Constant(index.value)
    ids = len(group.type.ids[0]) if group.type.ids else 0
    return TileHandle(Slot(group.expression, how, expression), group.type.tile, address, ids)
