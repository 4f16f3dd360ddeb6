"""``if``: a known test keeps one branch only, a run-time test reads both and joins what they bind."""

from __future__ import annotations

import ast
from typing import Any

from pypto.cores.program import Break, If, Name
from pypto.dtypes import DataType
from pypto_pro.errors.expressions import ConstexprCount, ConstexprRunTime
from pypto_pro.frontend.expressions import condition
from pypto_pro.frontend.loops import bound_names
from pypto_pro.frontend.values import Intrinsic, Number, Static, static_number
from pypto_pro.frontend.variables import ensure_stored, merge


def test(reader: Any, node: ast.expr) -> Any:
    """A condition: ``Static`` when it is known. ``pl.constexpr(x)`` insists that it is."""
    if isinstance(node, ast.Call):
        callee = reader.callee(node.func)
        if isinstance(callee, Intrinsic) and callee.path == "constexpr":
            return _insist(reader, node)
    with reader.placed(node):
        value = reader.expression(node)
        if isinstance(value, Static):
            return Static(bool(value.value))
        known = static_number(value)
        return Static(bool(known)) if known is not None else condition(value)


def _insist(reader: Any, node: ast.Call) -> Static:
    if len(node.args) != 1 or node.keywords:
        raise ConstexprCount(count=len(node.args) + len(node.keywords))
    value = reader.expression(node.args[0])
    known = value.value if isinstance(value, Static) else static_number(value)
    if not isinstance(value, Static) and known is None:
        raise ConstexprRunTime()
    return Static(bool(known))


def if_statement(reader: Any, node: ast.If, rest: list[ast.stmt]) -> bool:
    """Reads both branches; ``rest`` follows each of them (helpers that return from a branch)."""
    value = reader.test(node.test)
    if isinstance(value, Static):
        return reader.statements([*(node.body if value.value else node.orelse), *rest])
    place = reader.frame.span(node)
    return two_paths(reader, value, [*node.body, *rest], [*node.orelse, *rest], place)


def two_paths(reader: Any, value: Number, then: list[ast.stmt], other: list[ast.stmt], place: Any) -> bool:
    """A run-time ``if``; gives whether any path goes on."""
    frame = reader.frame
    ensure_stored(reader, bound_names([*then, *other]), place)
    before = dict(frame.env)
    paths, bodies = [], []
    for statements in (then, other):
        falls, body = _arm(reader, statements, before)
        bodies.append(body)
        if falls:
            paths.append(frame.env)
    reader.emit(If(value.expression, bodies[0], bodies[1], place))
    frame.env = merge(reader, paths) if paths else dict(before)
    return bool(paths)


def _arm(reader: Any, statements: list[ast.stmt], before: dict[str, Any], branch: int = 1) -> tuple[bool, tuple]:
    frame = reader.frame
    frame.env = dict(before)
    frame.depth += 1
    reader.unit.branches += branch
    outer, reader.block = reader.block, []
    try:
        return reader.statements(statements), tuple(reader.block)
    finally:
        reader.block = outer
        frame.depth -= 1
        reader.unit.branches -= branch


def after_loop_with_return(reader: Any, rest: list[ast.stmt], place: Any) -> bool:
    """Behind a loop that a helper may have returned from: on with ``rest`` only if it has not."""
    frame = reader.frame
    flag = Number(Name(frame.flag), DataType.DT_BOOL)
    before = dict(frame.env)
    leave = (Break(),) if frame.loops else ()
    if frame.loops:
        frame.loops[-1].breaks.append(dict(frame.env))
    falls, body = _arm(reader, rest, before, branch=0)
    reader.emit(If(flag.expression, leave, body, place))
    return falls
