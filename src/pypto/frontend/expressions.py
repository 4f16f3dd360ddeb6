"""Expressions: Python's own evaluation, with symbols where Python would need a truth value, an index or a number."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from pypto.errors.frontend import (
    NotIterable,
    SymbolicCondition,
    SymbolicListIndex,
)
from pypto.frontend import branches
from pypto.frontend.frames import Deferred, Frame, Poison
from pypto.frontend.functions import InterpretedFunction
from pypto.frontend.interpret import Interpreter, evaluates
from pypto.frontend.names import bound_names
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.tensor import Tensor
from pypto.frontend.values import collapse, is_symbolic, truth_of
from pypto.ir import symbols as ir

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_INPLACE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod,
    ast.Pow: operator.ipow,
    ast.MatMult: operator.imatmul,
    ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
    ast.BitAnd: operator.iand,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


# -- names and literals -------------------------------------------------------------------------------------------------------


@evaluates(ast.Constant)
def constant(interpreter: Interpreter, frame: Frame, node: ast.Constant) -> Any:
    return node.value


@evaluates(ast.Name)
def name(interpreter: Interpreter, frame: Frame, node: ast.Name) -> Any:
    value = frame.locals.get(node.id, frame)  # the frame itself stands for "not there"
    if value is frame:
        frame.node = node
        value = frame.lookup(node.id)
    if value.__class__ is Poison or value.__class__ is Deferred:
        frame.node = node
        return value.resolve(interpreter.tracer)
    return value


@evaluates(ast.Attribute)
def attribute(interpreter: Interpreter, frame: Frame, node: ast.Attribute) -> Any:
    owner = interpreter.value(frame, node.value)
    frame.node = node
    value = getattr(owner, node.attr)
    frame.watch.saw_attribute(owner, node.attr, value)
    return value


def items(interpreter: Interpreter, frame: Frame, nodes: list[ast.expr]) -> Iterator[Any]:
    """Values of the elements of a display or call, ``*`` expanded."""
    for element in nodes:
        if isinstance(element, ast.Starred):
            whole = interpreter.value(frame, element.value)
            frame.node = element
            yield from iterate(whole)
        else:
            yield interpreter.value(frame, element)


def iterate(thing: Any) -> Any:
    """``iter(thing)``, refusing what has no elements at trace time."""
    if isinstance(thing, SymbolicScalar):
        raise NotIterable(what=f"the symbolic scalar `{thing}`", advice="loop with pypto.loop(...)")
    return iter(thing)


@evaluates(ast.List)
def list_display(interpreter: Interpreter, frame: Frame, node: ast.List) -> Any:
    return list(items(interpreter, frame, node.elts))


@evaluates(ast.Tuple)
def tuple_display(interpreter: Interpreter, frame: Frame, node: ast.Tuple) -> Any:
    return tuple(items(interpreter, frame, node.elts))


@evaluates(ast.Set)
def set_display(interpreter: Interpreter, frame: Frame, node: ast.Set) -> Any:
    return set(items(interpreter, frame, node.elts))


@evaluates(ast.Dict)
def dict_display(interpreter: Interpreter, frame: Frame, node: ast.Dict) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            made.update(interpreter.value(frame, value))
        else:
            made[interpreter.value(frame, key)] = interpreter.value(frame, value)
    return made


@evaluates(ast.Starred)
def starred(interpreter: Interpreter, frame: Frame, node: ast.Starred) -> Any:
    return interpreter.value(frame, node.value)


@evaluates(ast.JoinedStr)
def joined(interpreter: Interpreter, frame: Frame, node: ast.JoinedStr) -> str:
    return "".join(str(interpreter.value(frame, part)) for part in node.values)


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


@evaluates(ast.FormattedValue)
def formatted(interpreter: Interpreter, frame: Frame, node: ast.FormattedValue) -> str:
    value = interpreter.value(frame, node.value)
    specification = "" if node.format_spec is None else interpreter.value(frame, node.format_spec)
    if node.conversion in _CONVERSIONS:
        value = _CONVERSIONS[node.conversion](value)
    elif isinstance(value, (SymbolicScalar, Tensor)):
        value = str(value)
    frame.node = node
    return format(value, specification)


# -- operators ------------------------------------------------------------------------------------------------------------------


@evaluates(ast.BinOp)
def binary(interpreter: Interpreter, frame: Frame, node: ast.BinOp) -> Any:
    left = interpreter.value(frame, node.left)
    right = interpreter.value(frame, node.right)
    frame.node = node
    result = _BINARY[type(node.op)](left, right)
    if isinstance(node.op, ast.Div) and isinstance(result, SymbolicScalar):
        _note_flooring(interpreter, left, right)
    return result


def _note_flooring(interpreter: Interpreter, left: Any, right: Any) -> None:
    """``/`` of whole symbols floors, for the sake of code written for the reference; a reader of Python expects a fraction."""
    dividend, divisor = scalar_of(left), scalar_of(right)
    if dividend is None or divisor is None or "float" in (ir.kind_of(dividend), ir.kind_of(divisor)):
        return
    if SymbolicScalar(ir.mod(dividend, divisor)).simplify().concrete_or_none() != 0:
        fraction = f"float({left}) / {right}" if isinstance(left, SymbolicScalar) else f"{left} / float({right})"
        interpreter.tracer.warn(
            "`/` of whole symbolic scalars drops the fraction, as `//` does",
            help=f"write // to say so, or {fraction} for the fraction",
        )


def inplace(sign: type, left: Any, right: Any) -> Any:
    """``left op= right``; for tensors and symbols a new object, for Python's lists the same."""
    return (_BINARY if isinstance(left, (Tensor, SymbolicScalar)) else _INPLACE)[sign](left, right)


@evaluates(ast.UnaryOp)
def unary(interpreter: Interpreter, frame: Frame, node: ast.UnaryOp) -> Any:
    value = interpreter.value(frame, node.operand)
    frame.node = node
    if isinstance(node.op, ast.Not):
        return collapse(SymbolicScalar(ir.logical_not(truth_of(value)))) if is_symbolic(value) else not value
    if isinstance(node.op, ast.USub):
        return -value
    return +value if isinstance(node.op, ast.UAdd) else ~value


@evaluates(ast.Compare)
def compare(interpreter: Interpreter, frame: Frame, node: ast.Compare) -> Any:
    left = interpreter.value(frame, node.left)
    result: Any = True
    for position, (sign, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = interpreter.value(frame, comparator)
        frame.node = node
        one = _membership(sign, left, right) if isinstance(sign, (ast.In, ast.NotIn)) else _COMPARE[type(sign)](left, right)
        one = collapse(one)
        if position == len(node.ops) - 1:
            return one if result is True else both(result, one)
        if not is_symbolic(one):
            if not one:
                return one
        else:
            result = one if result is True else both(result, one)
        left = right
    return result


def both(first: Any, second: Any) -> Any:
    """The conjunction of two conditions of which one is symbolic (or a number)."""
    return collapse(SymbolicScalar(ir.logical_and(truth_of(first), truth_of(second))))


def _membership(sign: ast.cmpop, element: Any, container: Any) -> Any:
    """``in`` and ``not in``; with symbols a disjunction of comparisons."""
    negated = isinstance(sign, ast.NotIn)
    if isinstance(container, (list, tuple, set, frozenset, range)) and (
        is_symbolic(element) or any(is_symbolic(e) for e in container)
    ):
        found: ir.Scalar = False
        for candidate in container:
            found = ir.logical_or(found, truth_of(collapse(element == candidate)))
        return SymbolicScalar(ir.logical_not(found) if negated else found)
    if is_symbolic(element):
        advice = "compare with a list, a tuple or single values"
        raise SymbolicCondition(where=f"`in` a {type(container).__name__}", text=str(element), advice=advice)
    return (element not in container) if negated else (element in container)


@evaluates(ast.BoolOp)
def logic(interpreter: Interpreter, frame: Frame, node: ast.BoolOp) -> Any:
    return _logic(interpreter, frame, node, 0)


def _logic(interpreter: Interpreter, frame: Frame, node: ast.BoolOp, position: int) -> Any:
    value = interpreter.value(frame, node.values[position])
    frame.node = node
    if position == len(node.values) - 1:
        return value
    conjunction = isinstance(node.op, ast.And)
    if not is_symbolic(value):
        return _logic(interpreter, frame, node, position + 1) if bool(value) == conjunction else value

    def rest() -> Any:
        return _logic(interpreter, frame, node, position + 1)

    return branches.short_circuit(interpreter, frame, value, rest, conjunction)


@evaluates(ast.IfExp)
def conditional(interpreter: Interpreter, frame: Frame, node: ast.IfExp) -> Any:
    condition = collapse(interpreter.value(frame, node.test))
    frame.node = node.test
    if not is_symbolic(condition):
        return interpreter.value(frame, node.body if condition else node.orelse)
    return branches.choose(
        interpreter,
        frame,
        truth_of(condition),
        lambda: interpreter.value(frame, node.body),
        lambda: interpreter.value(frame, node.orelse),
        "the conditional expression",
    )


@evaluates(ast.NamedExpr)
def named(interpreter: Interpreter, frame: Frame, node: ast.NamedExpr) -> Any:
    value = collapse(interpreter.value(frame, node.value))
    owner = frame
    while node.target.id not in owner.code.bound and owner.parent is not None:
        owner = owner.parent
    while owner.bound is not owner.code.bound and owner.parent is not None:  # out of comprehensions
        owner = owner.parent
    owner.locals[node.target.id] = value
    return value


# -- subscripts -------------------------------------------------------------------------------------------------------------------


@evaluates(ast.Slice)
def slice_(interpreter: Interpreter, frame: Frame, node: ast.Slice) -> slice:
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if part is None else interpreter.value(frame, part) for part in parts))


@evaluates(ast.Subscript)
def subscript(interpreter: Interpreter, frame: Frame, node: ast.Subscript) -> Any:
    container = interpreter.value(frame, node.value)
    key = collapse(interpreter.value(frame, node.slice))
    frame.node = node
    check_key(container, key)
    return container[key]


def check_key(container: Any, key: Any) -> None:
    """A symbol cannot index a Python sequence."""
    if is_symbolic(key) and isinstance(container, (list, tuple, dict, str, bytes, range)):
        raise SymbolicListIndex(container=type(container).__name__, text=str(key))


# -- functions and comprehensions -------------------------------------------------------------------------------------------------


@evaluates(ast.Lambda)
def lambda_(interpreter: Interpreter, frame: Frame, node: ast.Lambda) -> Any:
    return InterpretedFunction.define(interpreter, frame, node, "<lambda>")


def _elements(interpreter: Interpreter, frame: Frame, node: Any, produce: Callable[[Frame], Any]) -> Iterator[Any]:
    """Runs the generators of a comprehension; the first iterable is evaluated outside, as in Python."""
    first = interpreter.value(frame, node.generators[0].iter)
    frame.node = node.generators[0].iter
    source = iterate(first)
    inner = frame.inner(frozenset(bound_names([g.target for g in node.generators])))
    return _generate(interpreter, inner, node.generators, 0, source, produce)


def _generate(
    interpreter: Interpreter, frame: Frame, generators: list[ast.comprehension], depth: int, source: Any, produce: Any
) -> Iterator[Any]:
    from pypto.frontend.statements import assign

    generator = generators[depth]
    for element in source:
        assign(interpreter, frame, generator.target, element)
        if not all(_passes(interpreter, frame, test) for test in generator.ifs):
            continue
        if depth + 1 == len(generators):
            yield produce(frame)
        else:
            inner = iterate(interpreter.value(frame, generators[depth + 1].iter))
            yield from _generate(interpreter, frame, generators, depth + 1, inner, produce)


def _passes(interpreter: Interpreter, frame: Frame, test: ast.expr) -> bool:
    value = collapse(interpreter.value(frame, test))
    if is_symbolic(value):
        frame.node = test
        raise SymbolicCondition(where="the filter of a comprehension", text=str(value), advice="use `if` inside pypto.loop")
    return bool(value)


@evaluates(ast.ListComp)
def list_comprehension(interpreter: Interpreter, frame: Frame, node: ast.ListComp) -> Any:
    return list(_elements(interpreter, frame, node, lambda inner: interpreter.value(inner, node.elt)))


@evaluates(ast.SetComp)
def set_comprehension(interpreter: Interpreter, frame: Frame, node: ast.SetComp) -> Any:
    return set(_elements(interpreter, frame, node, lambda inner: interpreter.value(inner, node.elt)))


@evaluates(ast.GeneratorExp)
def generator(interpreter: Interpreter, frame: Frame, node: ast.GeneratorExp) -> Any:
    return _elements(interpreter, frame, node, lambda inner: interpreter.value(inner, node.elt))


@evaluates(ast.DictComp)
def dict_comprehension(interpreter: Interpreter, frame: Frame, node: ast.DictComp) -> Any:
    def pair(inner: Frame) -> tuple[Any, Any]:
        return interpreter.value(inner, node.key), interpreter.value(inner, node.value)

    return dict(_elements(interpreter, frame, node, pair))
