"""``for`` over ``pl.range``, ``while``, ``break`` and ``continue``.

The body is read until what it leaves bound agrees with what it starts from: a variable that an iteration changes is no constant inside
the loop, and its type is that of all its values.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto.cores.program import Break, Constant, Continue, If, Loop, Name, Operation, Repeat
from pypto.cores.types import INDEX
from pypto.dtypes import DataType
from pypto.frontend.names import bound_names as _bound_names
from pypto_pro.errors.statements import (
    JumpOutsideLoop,
    LoopElse,
    LoopIterator,
    LoopTarget,
    RangeBound,
    RangeCount,
    RangeKeywords,
    RangeStep,
)
from pypto_pro.frontend.expressions import condition
from pypto_pro.frontend.state import LoopContext
from pypto_pro.frontend.values import Intrinsic, Number, Static, as_number, describe, expression_of, same, static_integer
from pypto_pro.frontend.variables import bind, ensure_stored, general, merge, merge_values

MOST_READINGS = 8  # types only widen, so this is never reached; it keeps a mistake of ours from hanging


def bound_names(statements: Sequence[ast.AST]) -> tuple[str, ...]:
    """Names that statements bind."""
    return _bound_names(list(statements))


# -- for --------------------------------------------------------------------------------------------------------------------


def for_statement(reader: Any, node: ast.For) -> bool:
    if node.orelse:
        raise LoopElse()
    if not isinstance(node.target, ast.Name):
        raise LoopTarget(text=ast.unparse(node.target))
    bounds = range_bounds(reader, node.iter)
    if bounds is None:
        raise LoopIterator(text=ast.unparse(node.iter))
    place = reader.frame.span(node)
    start, stop, step = (expression_of(bound) for bound in bounds)
    name = node.target.id
    ensure_stored(reader, [name], place)
    variable = reader.home(name, Number(Constant(0), INDEX))
    index = Number(Name(variable), INDEX)
    context = _read(reader, node, (name, *bound_names(node.body)), lambda: _enter(reader, name, index))
    reader.emit(Loop(variable, start, stop, step, context.body, place))
    return True


def _enter(reader: Any, name: str, index: Number) -> None:
    reader.frame.env[name] = index
    reader.frame.stored.add(name)


def range_bounds(reader: Any, node: ast.expr) -> tuple[Any, Any, Any] | None:
    """Start, stop and step of ``pl.range(…)``; None for any other expression."""
    if not isinstance(node, ast.Call):
        return None
    callee = reader.callee(node.func)
    if not isinstance(callee, Intrinsic) or callee.path != "range":
        return None
    if node.keywords:
        raise RangeKeywords()
    if not 1 <= len(node.args) <= 3:
        raise RangeCount(got=len(node.args))
    values = [_bound(reader, argument) for argument in node.args]
    if len(values) == 1:
        values.insert(0, Static(0))
    if len(values) == 2:
        values.append(Static(1))
    if static_integer(values[2]) == 0:
        raise RangeStep()
    return values[0], values[1], values[2]


def _bound(reader: Any, node: ast.expr) -> Any:
    with reader.placed(node):
        value = reader.expression(node)
        number = as_number(value)
        if number is None or number.dtype.is_float:
            raise RangeBound(got=describe(value))
        return value


# -- while ------------------------------------------------------------------------------------------------------------------


def while_statement(reader: Any, node: ast.While) -> bool:
    """``while test: body`` repeats the test and the body; a test that is always true is left out."""
    if node.orelse:
        raise LoopElse()
    place = reader.frame.span(node)
    endless: list[bool] = []

    def test() -> None:
        value = reader.test(node.test)
        endless[:] = [isinstance(value, Static) and bool(value.value)]
        if endless[0]:
            return
        reader.frame.loops[-1].breaks.append(dict(reader.frame.env))
        stop = Constant(True, DataType.DT_BOOL) if isinstance(value, Static) else _negated(condition(value))
        reader.emit(If(stop, (Break(),), (), place))

    context = _read(reader, node, bound_names([node.test, *node.body]), test, falls_out=False)
    reader.emit(Repeat(context.body, place))
    return bool(context.breaks)  # an endless loop without break is only left by return


def _negated(test: Number) -> Any:
    return Operation("not", (test.expression,), DataType.DT_BOOL)


# -- both -------------------------------------------------------------------------------------------------------------------


class Body(LoopContext):
    """A loop that has been read."""

    def __init__(self, context: LoopContext, body: tuple) -> None:
        super().__init__(context.breaks, context.continues)
        self.body = body


def _read(reader: Any, node: Any, assigned: Sequence[str], enter: Any, falls_out: bool = True) -> Body:
    """Reads the body until types and constants are stable; leaves the frame as it is after the loop."""
    frame = reader.frame
    place = frame.span(node)
    _open_flag(reader, node, place)
    ensure_stored(reader, assigned, place)
    known = [name for name in assigned if name in frame.env]
    before = dict(frame.env)
    for name in known:
        before[name] = general(reader, name, before[name])
    for _ in range(MOST_READINGS):
        context, body, ends = _once(reader, node, before, enter)
        merged = {name: merge_values(reader, name, [before[name], *(end[name] for end in ends)]) for name in known}
        if all(same(before[name], merged[name]) for name in known):
            break
        before.update(merged)
    exits = [*([_after(reader, before, ends)] if falls_out else []), *context.breaks]
    frame.env = merge(reader, exits) if exits else dict(before)
    return Body(context, body)


def _once(reader: Any, node: Any, before: dict[str, Any], enter: Any) -> tuple[LoopContext, tuple, list[dict[str, Any]]]:
    frame = reader.frame
    returned, temporaries = len(frame.returned), reader.unit.temporaries
    frame.env = dict(before)
    context = LoopContext()
    frame.loops.append(context)
    frame.depth += 1
    outer, reader.block = reader.block, []
    del frame.returned[returned:]
    try:
        enter()
        falls = reader.statements(node.body)
        body = tuple(reader.block)
    finally:
        reader.block = outer
        frame.depth -= 1
        frame.loops.pop()
        reader.unit.temporaries = temporaries
    ends = [*context.continues, *([dict(frame.env)] if falls else [])]
    return context, body, ends


def _after(reader: Any, before: dict[str, Any], ends: list[dict[str, Any]]) -> dict[str, Any]:
    """What is bound when the loop has run to its end: as before, and what iterations bound for the first time (if there were any)."""
    return merge(reader, [before, *ends]) if ends else dict(before)


def _open_flag(reader: Any, node: Any, place: Any) -> None:
    """A helper that returns from a loop says so in a variable, set to False before the outermost loop."""
    frame = reader.frame
    if not frame.helper or frame.loops or not has_return(node):
        return
    bind(reader, "returned", Static(False), place)
    frame.flag = reader.home("returned", Static(False))


def has_return(node: ast.AST) -> bool:
    """Whether a return stands in ``node``, nested functions left out."""
    found = getattr(node, "pypto_returns", None)
    if found is None:
        found = isinstance(node, ast.Return) or any(
            has_return(child) for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.FunctionDef, ast.Lambda))
        )
        node.pypto_returns = found  # type: ignore[attr-defined]
    return found


def break_statement(reader: Any, node: ast.Break) -> bool:
    return _jump(reader, "break", Break())


def continue_statement(reader: Any, node: ast.Continue) -> bool:
    return _jump(reader, "continue", Continue())


def _jump(reader: Any, word: str, statement: Any) -> bool:
    frame = reader.frame
    if not frame.loops:
        raise JumpOutsideLoop(word=word)
    context = frame.loops[-1]
    (context.breaks if word == "break" else context.continues).append(dict(frame.env))
    reader.emit(statement)
    return False
