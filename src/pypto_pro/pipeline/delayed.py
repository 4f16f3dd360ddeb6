"""Arguments of delayed stages: what has to be kept per iteration, and how the stage gets it back.

A stage with a delay of d works in iteration t + d on iteration t. What the loop changes in between is written into a slot of a ring when
iteration t begins (the *snapshot*), and read from there. Names that the loops never assign are passed as they are.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from pypto.dtypes import DataType
from pypto.errors.base import UserError
from pypto.errors.pipeline import (
    ArgumentNotDelayed,
    SlotCountUnknown,
    SlotCursorShared,
    StructArrayIntoStage,
    StructInLoop,
    StructWrittenByStage,
)
from pypto_pro.pipeline.kinds import FIRST_VALUES, HANDLE, Kinds
from pypto_pro.pipeline.places import bound_names, section_of, used_names
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.traces import Reading
from pypto_pro.pipeline.values import Slot, Struct, StructArray, options

CONTEXT = "_pl_ctx"  # stands for the slot of the stage's iteration until the emission knows its name


@dataclass(frozen=True)
class Kept:
    """A field of the ring: its first value and the expression it is filled with.

    ``sectioned``: the expression is known inside sections only; then it is filled on the ``cores`` whose stages need it.
    """

    name: str
    first: str
    source: ast.expr
    sectioned: bool
    cores: tuple[str, ...]


@dataclass(frozen=True)
class KeptStruct:
    """A struct of the user's that is kept whole, in a ring of its own. ``fields``: name, first value, length of an array field."""

    name: str
    ring: str
    fields: tuple[tuple[str, str, int | None], ...]
    sectioned: bool
    cores: tuple[str, ...]


@dataclass
class Snapshot:
    """All that a loop keeps. ``arguments``: by stage, the rewritten arguments; ``picks``: tiles taken outside, kept by number."""

    fields: dict[str, Kept] = field(default_factory=dict)
    structs: dict[str, KeptStruct] = field(default_factory=dict)
    picks: dict[str, Slot] = field(default_factory=dict)
    arguments: dict[StageCall, ast.Call] = field(default_factory=dict)


class _Builder:
    def __init__(self, kernel: Kernel, loop: PipelineLoop, reading: Reading, sectioned: set[str]) -> None:
        self.kernel = kernel
        self.loop = loop
        self.reading = reading
        self.sectioned = sectioned
        self.kinds = Kinds(kernel, tiles=self.element_type)
        self.varying = set(bound_names([loop.outer]))
        self.written = {use.struct for trace, _ in reading.around.get(loop, []) for use in trace.fields if use.written}
        self.snapshot = Snapshot()

    def element_type(self, name: str) -> DataType | None:
        held = self.reading.names.get(name)
        return self.reading.buffers[held.buffer].dtype if isinstance(held, Slot) else None

    def fail(self, stage: StageCall, node: ast.expr, error: type[UserError] = ArgumentNotDelayed, **facts: Any) -> UserError:
        return self.kernel.fail(error, node, **({"stage": stage.name, "argument": ast.unparse(node)} | facts))

    # -- structs ------------------------------------------------------------------------------------------------------------

    def check_structs(self, stage: StageCall) -> None:
        """Structs are made outside the loop; what a stage writes into one is its own business only."""
        for name, value in self.reading.stages[stage].arguments.items():
            for one in options(value):
                if isinstance(one, StructArray):
                    raise self.fail(stage, stage.call, StructArrayIntoStage, name=one.name or name)
                if isinstance(one, Struct) and one.name in self.varying:
                    raise self.fail(stage, stage.call, StructInLoop, name=one.name)
        if self.loop.preload == 0:
            return
        for use in self.reading.stages[stage].fields:
            others = [
                f"stage '{o.name}'"
                for o in self.loop.stages
                if o is not stage and o.core == stage.core and self.uses(o, use.struct)
            ]
            if use.struct in self.written:
                others.append("the loop's body")
            if use.written and others:
                facts: dict[str, Any] = {"stage": stage.name, "field": use.field, "name": use.struct, "other": others[0]}
                raise StructWrittenByStage(span=use.place, preload=self.loop.preload, **facts)

    def uses(self, stage: StageCall, struct: str) -> bool:
        return any(use.struct == struct for use in self.reading.stages[stage].fields)

    def struct_argument(self, stage: StageCall, node: ast.Name, struct: str) -> ast.expr:
        found = self.snapshot.structs.get(struct)
        first = [(name, *self.first_of(value)) for (owner, name), value in self.kinds.fields.items() if owner == struct]
        cores = _with(found.cores if found else (), stage.core)
        ring = f"_pl_ctx_{struct}{self.loop.suffix}"
        self.snapshot.structs[struct] = KeptStruct(struct, ring, tuple(first), struct in self.sectioned, cores)
        return ast.copy_location(ast.Name(f"{CONTEXT}.{struct}", ast.Load()), node)

    def first_of(self, value: ast.expr) -> tuple[str, int | None]:
        if isinstance(value, (ast.List, ast.Tuple)):
            kind = self.kinds.of(value.elts[0]) if value.elts else "int"
            return FIRST_VALUES.get(kind or "int", "0"), len(value.elts)
        return FIRST_VALUES.get(self.kinds.of(value) or "int", "0"), None

    # -- arguments ----------------------------------------------------------------------------------------------------------

    def rewrite(self, stage: StageCall) -> ast.Call:
        """The call of a delayed stage, with everything that changes taken from the ring."""
        call = stage.call
        positional = [self.delayed(stage, node, f"{i}") for i, node in enumerate(call.args)]
        named = [ast.keyword(k.arg, self.delayed(stage, k.value, k.arg or "")) for k in call.keywords]
        return ast.copy_location(ast.Call(call.func, positional, named), call)

    def changes(self, node: ast.expr) -> bool:
        names = used_names(node)
        return bool(names & self.varying) or bool(names & self.written)

    def delayed(self, stage: StageCall, node: ast.expr, position: str) -> ast.expr:
        if not self.changes(node):
            return node
        if isinstance(node, ast.Name):
            return self.name(stage, node)
        kind = self.kinds.of(node)
        if kind in FIRST_VALUES:
            stage_name = stage.name.replace(".", "_")
            return self.kept(stage, f"_pl_arg_{stage_name}_{position}", kind, node)
        if isinstance(node, (ast.Subscript, ast.Tuple, ast.List)):
            return self.inside(stage, node, position)
        raise self.fail(stage, node)

    def inside(self, stage: StageCall, node: ast.expr, position: str) -> ast.expr:
        """A tile of a group by number, a part of a tile, a tuple: the numbers inside are kept."""
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Slice) or any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
                raise self.fail(stage, node)
            base = self.delayed(stage, node.value, position)
            index = self.delayed(stage, node.slice, f"{position}_index")
            return ast.copy_location(ast.Subscript(base, index, node.ctx), node)
        elements = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
        rewritten = [self.delayed(stage, one, f"{position}_{i}") for i, one in enumerate(elements)]
        made: ast.expr = ast.Tuple(rewritten, ast.Load()) if isinstance(node, ast.Tuple) else ast.List(rewritten, ast.Load())
        return ast.copy_location(made, node)

    def name(self, stage: StageCall, node: ast.Name) -> ast.expr:
        held = self.reading.names.get(node.id)
        if isinstance(held, Struct):
            return self.struct_argument(stage, node, held.name)
        if node.id in self.reading.picks:
            return self.picked(stage, node)
        kind = self.kinds.of(node)
        if kind == HANDLE or (held is not None and any(isinstance(one, Slot) for one in options(held))):
            raise self.fail(stage, node)
        return self.kept(stage, node.id, kind or "int", node)

    def picked(self, stage: StageCall, node: ast.Name) -> ast.expr:
        slot = self.reading.picks[node.id][0]
        buffer = self.reading.buffers[slot.buffer]
        if buffer.slots is None:
            raise self.fail(stage, node, SlotCountUnknown, group=slot.buffer, name=node.id)
        self.snapshot.picks[node.id] = slot
        number = ast.copy_location(ast.Name(f"_pl_slot_{node.id}", ast.Load()), node)
        index = self.kept(stage, number.id, "int", number, node.id in self.sectioned)
        return ast.copy_location(ast.Subscript(ast.Name(slot.buffer, ast.Load()), index, ast.Load()), node)

    def kept(self, stage: StageCall, name: str, kind: str, source: ast.expr, sectioned: bool = False) -> ast.expr:
        found = self.snapshot.fields.get(name)
        cores = _with(found.cores if found else (), stage.core)
        sectioned = sectioned or bool(used_names(source) & self.sectioned)
        self.snapshot.fields[name] = Kept(name, FIRST_VALUES[kind], source, sectioned, cores)
        return ast.copy_location(ast.Name(f"{CONTEXT}.{name}", ast.Load()), source)

    def check_cursors(self) -> None:
        """A tile kept by number: nobody but the kernel itself may turn the group."""
        for name, slot in self.snapshot.picks.items():
            for stage in self.loop.stages:
                for turn in self.reading.stages[stage].turns:
                    if turn.slot.buffer == slot.buffer and turn.slot.how == "next":
                        facts: dict[str, Any] = {"group": slot.buffer, "slots": self.reading.buffers[slot.buffer].slots}
                        other = f"the kernel, which takes '{name}'"
                        raise SlotCursorShared(span=turn.place, stage=stage.name, other=other, **facts)


def _with(cores: tuple[str, ...], core: str) -> tuple[str, ...]:
    return cores if core in cores else (*cores, core)


def keep(kernel: Kernel, loop: PipelineLoop, reading: Reading) -> Snapshot:
    """What the loop must keep for its delayed stages; raises for arguments that cannot be kept."""
    builder = _Builder(kernel, loop, reading, sectioned_names(kernel))
    for stage in loop.stages:
        builder.check_structs(stage)
        builder.snapshot.arguments[stage] = builder.rewrite(stage) if stage.delay else stage.call
    builder.check_cursors()
    return builder.snapshot


def sectioned_names(kernel: Kernel) -> set[str]:
    """Names that are bound inside sections only: the other core does not know them."""
    inside: set[str] = set()
    outside = {argument.arg for argument in kernel.node.args.args}
    _collect(kernel, kernel.node.body, False, inside, outside)
    return inside - outside


def _collect(kernel: Kernel, body: list[ast.stmt], in_section: bool, inside: set[str], outside: set[str]) -> None:
    for statement in body:
        blocks = [block for name in ("body", "orelse") if isinstance(block := getattr(statement, name, None), list)]
        own = [statement.target] if isinstance(statement, ast.For) else [] if blocks else [statement]
        (inside if in_section else outside).update(bound_names(own))
        here = in_section or section_of(statement, kernel.scope) is not None
        for block in blocks:
            _collect(kernel, block, here, inside, outside)
