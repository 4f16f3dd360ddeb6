"""Writes the new loop: serial with synchronisation (preload 0), or pipelined with a ring of iterations in flight.

Before → after, for two stages with preload 1 (waits, sets and the drain left out)::

    for k in pl.range(0, N):                    for k in pl.range(0, N):
        with pl.section_cube():                     _pl_ctx_0 = _pl_ctx_arr[_pl_task_id % 2]
            produce(k, a, tiles)                    _pl_ctx_0._pl_is_valid = 1
        with pl.section_vector():                   _pl_ctx_0.k = k
            consume(k, out, tiles)                  with pl.section_cube():
                                                        produce(k, a, tiles)
                                                    _pl_ctx_neg1 = _pl_ctx_arr[(_pl_task_id + 1) % 2]
                                                    with pl.section_vector():
                                                        if _pl_ctx_neg1._pl_is_valid == 1:
                                                            consume(_pl_ctx_neg1.k, out, tiles)
                                                    _pl_task_id = _pl_task_id + 1

The drain after the outermost loop runs the same stages ``depth - 1`` times more, without new iterations.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from pypto_pro.pipeline.delayed import CONTEXT, Snapshot
from pypto_pro.pipeline.events import Signal
from pypto_pro.pipeline.placement import Placement
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.writing import language_alias, made, placed, renamed


@dataclass(eq=False)
class _Writer:
    """One loop. ``before`` and ``after`` stand around the outermost loop."""

    kernel: Kernel
    loop: PipelineLoop
    placement: Placement
    snapshot: Snapshot

    def __post_init__(self) -> None:
        self.alias = language_alias(self.kernel)
        self.suffix = self.loop.suffix

    # -- events -------------------------------------------------------------------------------------------------------------

    def event(self, way: str, signal: Signal, task: str) -> str:
        """One set or wait; ``task`` is the number of the iteration."""
        end = signal.edge.source if way == "set" else signal.edge.target
        index = "0" if len(signal.ids) == 1 else task if task.isdigit() else f"{task} % {len(signal.ids)}"
        pipe = end.pipe.name if end.pipe is not None else "S"
        return f"{self.alias}.system.{way}_cross_core(pipe={self.alias}.PipeType.{pipe}, event_id={signal.name}[{index}])"

    def around_loop(self, way: str, sites: dict[str, list[Signal]]) -> list[ast.stmt]:
        """The sets before and the waits after the loop, one section per core."""
        found: list[ast.stmt] = []
        for core, signals in sites.items():
            lines = [f"with {self.alias}.section_{core}():"]
            for signal in signals:
                lines += [f"    {self.event(way, signal, str(turn % len(signal.ids)))}" for turn in range(signal.edge.offset)]
            found += made("\n".join(lines), self.loop.outer)
        return found

    def id_lists(self) -> str:
        """Variables for the ids that have no name of their own."""
        signals = [signal for signals in self.placement.sets.values() for signal in signals]
        named = [signal for signal in signals if signal.declared is None or not signal.declared.named]
        return "".join(f"{signal.name} = {list(signal.ids)}\n" for signal in named)

    def site(self, stage: StageCall, call: ast.Call, task: str) -> list[ast.stmt]:
        """Waits, the call, sets."""
        waits = "\n".join(self.event("wait", signal, task) for signal in self.placement.waits.get(stage, []))
        sets = "\n".join(self.event("set", signal, task) for signal in self.placement.sets.get(stage, []))
        statement = ast.copy_location(ast.Expr(call), stage.statement)
        return [*made(waits, stage.statement), statement, *made(sets, stage.statement)]

    def section(self, stage: StageCall, body: list[ast.stmt]) -> ast.With:
        """The section of a stage with another body."""
        block = stage.block
        item = copy.deepcopy(block.items[0])
        return ast.copy_location(ast.With([item], body), block)

    # -- serial -------------------------------------------------------------------------------------------------------------

    def serial(self) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Preload 0: the loop stays as it is, with waits before and sets after every stage."""
        loop, counter = self.loop, f"_pl_sync_id{self.suffix}"
        if not self.placement.sets:
            return [], []
        for stage in loop.stages:
            stage.block.body = [*stage.before, *self.site(stage, stage.call, counter), *stage.after]
        last = loop.node.body.index(loop.stages[-1].block) + 1
        loop.node.body[last:last] = made(f"{counter} = {counter} + 1", loop.node)
        before = made(f"{self.id_lists()}{counter} = 0", loop.outer)
        return [*before, *self.around_loop("set", self.placement.prefire)], self.around_loop("wait", self.placement.drain)

    # -- pipelined ----------------------------------------------------------------------------------------------------------

    def pipelined(self) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The ring, the new body of the loop, and the drain."""
        loop = self.loop
        first, last = loop.stages[0], loop.stages[-1]
        loop.node.body = [
            *loop.head,
            *([self.section(first, first.before)] if first.before else []),
            *self.fill(),
            *self.beat(drain=False),
            *([self.section(last, last.after)] if last.after else []),
            *loop.tail,
        ]
        before = [*made(self.declarations(), loop.outer), *self.around_loop("set", self.placement.prefire)]
        return before, [*self.drain(), *self.around_loop("wait", self.placement.drain)]

    def name(self, text: str) -> str:
        return f"{text}{self.suffix}"

    def declarations(self) -> str:
        ring = ", ".join(f"{kept.name}={kept.first}" for kept in sorted(self.snapshot.fields.values(), key=lambda k: k.name))
        ring = f"_pl_is_valid=0, {ring + ', ' if ring else ''}_pl_task_id=0"
        depth = self.loop.depth
        lines = [f'{self.name("_pl_ctx_arr")} = {self.alias}.struct_array({depth}, "PipeCtx{self.suffix}", {ring})']
        for kept in self.snapshot.structs.values():
            fields = ", ".join(
                f"{n}={first if length is None else [float(first)] * length if '.' in first else [0] * length}"
                for n, first, length in kept.fields
            )
            lines.append(f'{kept.ring} = {self.alias}.struct_array({depth}, "PipeCtx_{kept.name}{self.suffix}", {fields})')
        return "\n".join([*lines, f"{self.name('_pl_task_id')} = 0", self.id_lists()])

    def fill(self) -> list[ast.stmt]:
        """Takes the next slot of the ring and writes down what the iteration needs later."""
        task, here = self.name("_pl_task_id"), self.name("_pl_ctx_0")
        lines = [f"{here} = {self.name('_pl_ctx_arr')}[{task} % {self.loop.depth}]"]
        lines += [f"{here}._pl_is_valid = 1", f"{here}._pl_task_id = {task}"]
        sections: dict[str, list[str]] = {}
        for kept in sorted(self.snapshot.fields.values(), key=lambda kept: kept.name):
            line = f"{here}.{kept.name} = {ast.unparse(kept.source)}"
            for core in kept.cores if kept.sectioned else ("",):
                sections.setdefault(core, []).append(line)
        for struct in self.snapshot.structs.values():
            target = f"{struct.ring}_0"
            lines.append(f"{target} = {struct.ring}[{task} % {self.loop.depth}]")
            for name, _, length in struct.fields:
                parts = [""] if length is None else [f"[{i}]" for i in range(length)]
                copies = [f"{target}.{name}{part} = {struct.name}.{name}{part}" for part in parts]
                for core in struct.cores if struct.sectioned else ("",):
                    sections.setdefault(core, []).extend(copies)
        lines += sections.pop("", [])
        for core, inner in sorted(sections.items()):
            lines += [f"with {self.alias}.section_{core}():", *(f"    {line}" for line in inner)]
        return made("\n".join(lines), self.loop.node)

    def beat(self, drain: bool) -> list[ast.stmt]:
        """All stages once, each on its own iteration; the drain has nothing to do for the stages without delay."""
        task = self.name("_pl_task_id")
        found: list[ast.stmt] = []
        bound: set[str] = set()
        for stage in self.loop.stages:
            if stage.delay == 0:
                found += [] if drain else [self.section(stage, self.site(stage, stage.call, task))]
                continue
            context = self.name(f"_pl_ctx_neg{stage.delay}")
            index = f"({task} + {self.loop.depth - stage.delay}) % {self.loop.depth}"
            if context not in bound:
                found += made(f"{context} = {self.name('_pl_ctx_arr')}[{index}]", stage.block)
                bound.add(context)
            found += self.delayed_stage(stage, context, index, bound)
        return [*found, *made(f"{task} = {task} + 1", self.loop.node)]

    def delayed_stage(self, stage: StageCall, context: str, index: str, bound: set[str]) -> list[ast.stmt]:
        meaning = {f"{CONTEXT}.{name}": f"{context}.{name}" for name in self.snapshot.fields}
        found: list[ast.stmt] = []
        call = copy.deepcopy(self.snapshot.arguments[stage])
        used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
        for struct in self.snapshot.structs.values():
            if f"{CONTEXT}.{struct.name}" in used:
                name = f"{struct.ring}_neg{stage.delay}"
                meaning[f"{CONTEXT}.{struct.name}"] = name
                if name not in bound:
                    found += made(f"{name} = {struct.ring}[{index}]", stage.block)
                    bound.add(name)
        body = self.site(stage, renamed(call, meaning), f"{context}._pl_task_id")
        guard = made(f"if {context}._pl_is_valid == 1:\n    pass", stage.block)[0]
        guard.body = body  # type: ignore[attr-defined]
        return [*found, self.section(stage, [guard])]

    def drain(self) -> list[ast.stmt]:
        task, here = self.name("_pl_task_id"), self.name("_pl_ctx_0")
        text = f"for {self.name('_pl_drain')} in {self.alias}.range(0, {self.loop.depth - 1}):\n    pass"
        drain = made(text, self.loop.outer)[0]
        slot = f"{here} = {self.name('_pl_ctx_arr')}[{task} % {self.loop.depth}]\n{here}._pl_is_valid = 0"
        drain.body = [*made(slot, self.loop.outer), *self.beat(drain=True)]  # type: ignore[attr-defined]
        return [drain]


def write(kernel: Kernel, loop: PipelineLoop, placement: Placement, snapshot: Snapshot) -> None:
    """Puts the new loop into the kernel's body; changes ``kernel.node``."""
    writer = _Writer(kernel, loop, placement, snapshot)
    before, after = writer.serial() if loop.preload == 0 or loop.depth == 1 else writer.pipelined()
    body = kernel.node.body
    position = body.index(loop.outer)
    body[position : position + 1] = [*before, loop.outer, *after]
    for statement in body:
        placed(statement, loop.outer)
    ast.fix_missing_locations(kernel.node)
