"""Finds the loops of stages of a kernel and checks their form: sections, alternation, what may stand between stages.

In: the kernel's definition without constant branches. Out: one ``PipelineLoop`` per loop, in the order of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.errors.pipeline import (
    LoopsUnderOneLoop,
    NoPipelineLoop,
    NoStages,
    PipelineLoopRange,
    PipelineLoopVariable,
    PipelineStepsBackwards,
    ReturnInPipeline,
    SeveralStagesInSection,
    StageCallForm,
    StageInOtherBlock,
    StageInWhile,
    StageOutsideLoop,
    StageOutsideSection,
    StagesDoNotAlternate,
    StageTwice,
    StageUnderCondition,
    StatementBetweenStages,
)
from pypto_pro.pipeline.config import is_stage
from pypto_pro.pipeline.constants import UNKNOWN, Scope
from pypto_pro.pipeline.places import operation_name, section_of, span, statements


@dataclass(eq=False)
class Kernel:
    """A kernel on its way: its definition (without constant branches), where it stands, what its names mean."""

    node: ast.FunctionDef
    file: str
    scope: Scope

    def span(self, node: ast.AST) -> Span:
        return span(node, self.file, self.node.name)

    def fail(self, error: type[UserError], node: ast.AST, **facts: Any) -> UserError:
        """The error with the place of ``node``."""
        return error(span=self.span(node), **facts)


@dataclass(eq=False)
class StageCall:
    """One call of a stage: ``before`` and ``after`` are the other statements of its section."""

    order: int
    name: str
    function: Any
    call: ast.Call
    statement: ast.Expr
    core: str
    block: ast.With
    before: list[ast.stmt]
    after: list[ast.stmt]
    delay: int = 0


@dataclass(eq=False)
class PipelineLoop:
    """A loop of stages. ``outer`` is the outermost loop around it (itself, if there is none); ``head`` and ``tail`` are what its body
    holds before the first and after the last stage."""

    index: int
    node: ast.For
    outer: ast.For
    stages: list[StageCall]
    head: list[ast.stmt] = field(default_factory=list)
    tail: list[ast.stmt] = field(default_factory=list)
    preload: int = 0
    suffix: str = ""

    @property
    def depth(self) -> int:
        """Slots of the ring that keeps the arguments of iterations in flight."""
        return max(stage.delay for stage in self.stages) + 1

    @property
    def variable(self) -> str:
        return self.node.target.id if isinstance(self.node.target, ast.Name) else ""


@dataclass
class _Found:
    """A stage call with the statements around it, outermost first."""

    call: ast.Call
    function: Any
    path: list[ast.stmt]


def find_loops(kernel: Kernel) -> list[PipelineLoop]:
    """The loops of stages; raises a catalogue error for every form that cannot be pipelined."""
    marked = [name for name, value in kernel.scope.namespace.items() if is_stage(value)]
    found = list(_stage_calls(kernel, kernel.node.body, []))
    if not found and not marked:
        raise kernel.fail(NoStages, kernel.node, kernel=kernel.node.name)
    if not found:
        raise kernel.fail(NoPipelineLoop, kernel.node, kernel=kernel.node.name, stage=marked[0])
    for one in found:
        _check_surroundings(kernel, one)
    loops: list[PipelineLoop] = []
    for one in found:
        _add(kernel, loops, one)
    for loop in loops:
        _check_loop(kernel, loop)
    _check_outer_loops(kernel, loops)
    return loops


def _stage_calls(kernel: Kernel, body: list[ast.stmt], path: list[ast.stmt]) -> Iterator[_Found]:
    for statement in body:
        here = [*path, statement]
        nested = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
        blocks = [block for block in nested if isinstance(block, list) and block]
        if not blocks:
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and is_stage(function := kernel.scope.value(node.func)):
                    yield _Found(node, function, here)
        for block in blocks:
            yield from _stage_calls(kernel, block, here)


def _check_surroundings(kernel: Kernel, found: _Found) -> None:
    """Expression statement in a section in a for loop, and nothing else around it but for loops."""
    stage, statement = ast.unparse(found.call.func), found.path[-1]
    around = found.path[:-1]
    for outer in around:
        if isinstance(outer, ast.If):
            raise kernel.fail(StageUnderCondition, outer.test, stage=stage, condition=ast.unparse(outer.test))
        if isinstance(outer, (ast.While, ast.Try)):
            raise kernel.fail(StageInWhile, found.call, stage=stage, word=type(outer).__name__.lower())
        if isinstance(outer, ast.With) and section_of(outer, kernel.scope) is None:
            block = f"with {ast.unparse(outer.items[0].context_expr)}"
            raise kernel.fail(StageInOtherBlock, outer.items[0].context_expr, stage=stage, block=block)
    if not any(isinstance(outer, ast.For) for outer in around):
        raise kernel.fail(StageOutsideLoop, found.call, stage=stage)
    _check_form(kernel, found, stage, statement)
    if not isinstance(around[-1], ast.With):
        raise kernel.fail(StageOutsideSection, found.call, stage=stage, call=ast.unparse(found.call))
    if not isinstance(around[-2], ast.For):
        block = f"with {ast.unparse(around[-2].items[0].context_expr)}" if isinstance(around[-2], ast.With) else ""
        raise kernel.fail(StageInOtherBlock, around[-1], stage=stage, block=block)
    outside = [outer for outer in around[:-1] if isinstance(outer, ast.With)]
    if outside:
        block = f"with {ast.unparse(outside[0].items[0].context_expr)}"
        raise kernel.fail(StageInOtherBlock, outside[0].items[0].context_expr, stage=stage, block=block)


def _check_form(kernel: Kernel, found: _Found, stage: str, statement: ast.stmt) -> None:
    if not (isinstance(statement, ast.Expr) and statement.value is found.call):
        raise kernel.fail(StageCallForm, found.call, stage=stage, reason=": it has no value")
    if any(isinstance(a, ast.Starred) for a in found.call.args) or any(k.arg is None for k in found.call.keywords):
        raise kernel.fail(StageCallForm, found.call, stage=stage, reason=", without * or **")


def _add(kernel: Kernel, loops: list[PipelineLoop], found: _Found) -> None:
    node, block = found.path[-3], found.path[-2]
    if not isinstance(node, ast.For) or not isinstance(block, ast.With):
        return
    loop = next((loop for loop in loops if loop.node is node), None)
    if loop is None:
        outer = next(statement for statement in found.path if isinstance(statement, ast.For))
        loop = PipelineLoop(len(loops), node, outer, [])
        loops.append(loop)
    name = ast.unparse(found.call.func)
    for stage in loop.stages:
        if stage.block is block:
            raise kernel.fail(SeveralStagesInSection, found.call, first=stage.name, second=name)
    statement = found.path[-1]
    position = block.body.index(statement)
    if isinstance(statement, ast.Expr):
        core = section_of(block, kernel.scope) or ""
        before, after = block.body[:position], block.body[position + 1 :]
        loop.stages.append(StageCall(len(loop.stages), name, found.function, found.call, statement, core, block, before, after))


def _check_loop(kernel: Kernel, loop: PipelineLoop) -> None:
    _check_header(kernel, loop.node)
    for stage, following in zip(loop.stages, loop.stages[1:], strict=False):
        if stage.core == following.core:
            error = StagesDoNotAlternate
            raise kernel.fail(error, following.call, first=stage.name, second=following.name, core=stage.core)
    for position, stage in enumerate(loop.stages):
        if any(earlier.function is stage.function for earlier in loop.stages[:position]):
            raise kernel.fail(StageTwice, stage.call, stage=stage.name)
    for statement in statements(loop.outer.body):
        if isinstance(statement, ast.Return):
            raise kernel.fail(ReturnInPipeline, statement)
    _split_body(kernel, loop)


def _check_header(kernel: Kernel, node: ast.For) -> None:
    if not isinstance(node.target, ast.Name):
        raise kernel.fail(PipelineLoopVariable, node.target, got=ast.unparse(node.target))
    is_range = operation_name(node.iter, kernel.scope) == "range" or (
        isinstance(node.iter, ast.Call) and kernel.scope.value(node.iter.func) is range
    )
    if not is_range or not isinstance(node.iter, ast.Call) or not node.iter.args:
        raise kernel.fail(PipelineLoopRange, node.iter, got=ast.unparse(node.iter), variable=node.target.id)
    if len(node.iter.args) > 2:
        step = node.iter.args[2]
        value = kernel.scope.value(step)
        backwards = isinstance(value, (int, float)) and value <= 0
        if backwards or (value is UNKNOWN and isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub)):
            raise kernel.fail(PipelineStepsBackwards, step, step=ast.unparse(step), variable=node.target.id)


def _split_body(kernel: Kernel, loop: PipelineLoop) -> None:
    """What stands before the first and after the last stage; nothing may stand between."""
    body, stages = loop.node.body, loop.stages
    first, last = body.index(stages[0].block), body.index(stages[-1].block)
    loop.head, loop.tail = body[:first], body[last + 1 :]
    blocks = {id(stage.block) for stage in stages}
    between = [statement for statement in body[first : last + 1] if id(statement) not in blocks]
    for stage in stages:
        between += stage.before if stage is not stages[0] else []
        between += stage.after if stage is not stages[-1] else []
    for statement in between:
        if not isinstance(statement, ast.Pass):
            raise kernel.fail(StatementBetweenStages, statement, first=stages[0].name, last=stages[-1].name)


def _check_outer_loops(kernel: Kernel, loops: list[PipelineLoop]) -> None:
    for position, loop in enumerate(loops):
        if any(earlier.outer is loop.outer for earlier in loops[:position]):
            raise kernel.fail(LoopsUnderOneLoop, loop.node)


def set_delays(loop: PipelineLoop, preload: int) -> None:
    """How many iterations every stage lags behind the first one.

    The first stage of a core follows its upstream by one iteration; the next ones on a core run ``preload`` iterations ahead of each other.
    """
    loop.preload = preload
    last: dict[str, int] = {}
    previous = -1
    for stage in loop.stages:
        delay = 0 if preload == 0 else last[stage.core] + preload if stage.core in last else previous + 1
        stage.delay = last[stage.core] = previous = delay
