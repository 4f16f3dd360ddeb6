"""Device loops: which device loops a user's loop becomes, and what must hold around them; the body is in ``carrying.py``.

The body is traced once, once per factor for ``loop_unroll``; names rebound in it are carried.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pypto.errors.frontend import DuplicateIndexName, JumpInLoop, LoopTarget, NestedParallel
from pypto.frontend.branches import jump_in
from pypto.frontend.carrying import Body
from pypto.frontend.control import DeviceRange
from pypto.frontend.frames import MISSING, Deferred, Frame
from pypto.frontend.interpret import Interpreter
from pypto.frontend.names import bound_names, contains
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.trace import Tracer
from pypto.frontend.values import collapse, is_number
from pypto.ir import symbols as ir
from pypto.ir.symbols import Scalar


@dataclass(frozen=True)
class Segment:
    """One device loop: ``factor`` iterations per step."""

    factor: int
    start: Scalar
    stop: Scalar
    step: Scalar


def segments(loop: DeviceRange) -> Iterator[Segment]:
    """The device loops of a user's loop: one, or for ``loop_unroll`` one per factor, each covering whole chunks of what remains."""
    if loop.function == "loop" or loop.factors == (1,):
        yield Segment(1, loop.start, loop.stop, loop.step)
        return
    done: Scalar = 0
    total = loop.trips
    for factor in loop.factors:
        start = ir.add(loop.start, ir.mul(loop.step, done))
        if factor == 1:
            yield Segment(1, start, loop.stop, loop.step)
            return
        done = ir.add(done, ir.mul(ir.floordiv(ir.sub(total, done), factor), factor))
        yield Segment(factor, start, ir.add(loop.start, ir.mul(loop.step, done)), ir.mul(loop.step, factor))


def run_loop(interpreter: Interpreter, frame: Frame, node: ast.For, loop: DeviceRange) -> None:
    """Trace ``for target in pypto.loop(...)`` and bind what it leaves behind."""
    refuse_jumps(frame, node)
    targets = target_names(frame, node, loop)
    tracer = interpreter.tracer
    check_nesting(tracer, loop)
    before = dict(frame.locals)
    for segment in segments(loop):
        Body(interpreter, frame, node, loop, segment, targets).trace()
        frame.node = node
    bind_index_after(frame, node, loop, targets[0], before.get(targets[0], MISSING))


def refuse_jumps(frame: Frame, node: ast.For) -> None:
    found = contains(node.body, (ast.Return,)) or jump_in(node.body)
    if found is not None:
        frame.node = found
        raise JumpInLoop(word=type(found).__name__.lower())


def target_names(frame: Frame, node: ast.For, loop: DeviceRange) -> list[str]:
    """One name for ``loop``, two for ``loop_unroll``."""
    target = node.target
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    wanted = 2 if loop.function == "loop_unroll" else 1
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    if len(names) != len(parts) or len(names) != wanted:
        frame.node = target
        example = "two values per step: `for i, size in" if wanted == 2 else "one value per step: `for i in"
        raise LoopTarget(text=f"pypto.{loop.function} gives {example} pypto.{loop.function}(...)`")
    return names


def check_nesting(tracer: Tracer, loop: DeviceRange) -> None:
    for outer in tracer.loops:
        if loop.idx_name and outer.name == loop.idx_name:
            raise DuplicateIndexName(name=loop.idx_name, line=outer.line)
        if loop.parallel and outer.parallel:
            raise NestedParallel(line=outer.line)


def bind_index_after(frame: Frame, node: ast.For, loop: DeviceRange, name: str, before: Any) -> None:
    """After the loop the index holds its last value, as in Python; after zero trips what it held before."""
    if name in bound_names(node.body):
        return
    trips = loop.trips
    ran = ir.compare("gt", trips, 0)
    last = ir.add(loop.start, ir.mul(loop.step, ir.sub(trips, 1)))
    if ran is True:
        frame.locals[name] = collapse(SymbolicScalar(last))
    elif ran is False:
        frame.restore(name, before)
    elif isinstance(before, Deferred) and is_number(before.value) and before.origin is not node:
        value = collapse(SymbolicScalar(ir.select(ran, last, scalar_of(before.value))))  # type: ignore[arg-type]
        frame.locals[name] = Deferred.after_loop(value, ir.logical_or(before.condition, ran), node, name, node.lineno)
    elif is_number(before) and ir.kind_of(scalar_of(before)) != "float":  # type: ignore[arg-type]
        frame.locals[name] = collapse(SymbolicScalar(ir.select(ran, last, scalar_of(before))))  # type: ignore[arg-type]
    else:
        frame.locals[name] = Deferred.after_loop(collapse(SymbolicScalar(last)), ran, node, name, node.lineno)
