"""Data that stays on one core: what a stage leaves in a local buffer for a later stage, or for the statements around the stages.

Locks and queues order the pipes of a core, but in program order, and the pipeline changes that order: the writer is ``gap`` iterations
ahead of the reader. The data survives when the buffer has at least ``gap + 1`` tiles and tile t belongs to iteration t. Buffers that
every stage writes before it reads (operands in L0, scratch in UB) are shared freely.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.errors.pipeline import LocalDataBackwards, LocalDataTooDeep, SlotCursorShared
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.constants import Scope
from pypto_pro.pipeline.overlaps import overlapping
from pypto_pro.pipeline.places import bound_names, statements, used_names
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.traces import Reading, Trace
from pypto_pro.pipeline.values import Access, Step, Turn


@dataclass(frozen=True)
class _Use:
    """A stage (with None: the code around the stages) reads what it has not written, or writes. ``turn``: how it took the tile."""

    stage: StageCall | None
    buffer: str
    turn: Turn | None
    place: Span

    @property
    def delay(self) -> int:
        return self.stage.delay if self.stage is not None else 0

    @property
    def name(self) -> str:
        return f"stage '{self.stage.name}'" if self.stage is not None else "the code around the stages"


class _Carried:
    def __init__(self, kernel: Kernel, loop: PipelineLoop, reading: Reading, counted: set[str]) -> None:
        self.kernel = kernel
        self.loop = loop
        self.buffers = reading.buffers
        self.counted = counted
        self.reading = reading
        self.partners: dict[str, set[str]] = {}
        for first, second in overlapping(reading.buffers):
            self.partners.setdefault(first.name, set()).add(second.name)
            self.partners.setdefault(second.name, set()).add(first.name)
        self.reads: list[_Use] = []
        self.writes: list[_Use] = []
        self.turned: dict[str, list[_Use]] = {}
        self.warnings: list[str] = []

    def collect(self) -> None:
        for stage in self.loop.stages:
            self.collect_trace(stage, self.reading.stages[stage])
        around = Trace()
        for trace, _ in self.reading.around.get(self.loop, []):
            around.steps += trace.steps
            around.turns += trace.turns
        self.collect_trace(None, around)

    def collect_trace(self, stage: StageCall | None, trace: Trace) -> None:
        turns = {turn.slot.pick: turn for turn in trace.turns}
        for turn in trace.turns:
            if turn.slot.how == "next":
                self.turned.setdefault(turn.slot.buffer, []).append(_Use(stage, turn.slot.buffer, turn, turn.place))
        written: set[tuple[str, object]] = set()
        for step in trace.steps:
            for access in step.accesses:
                if access.buffer in self.counted:
                    continue
                tile = _tile(access, turns, trace)
                use = _Use(stage, access.buffer, turns.get(access.slot.pick), step.place)
                if access.role == "W":
                    written.add((access.buffer, tile))
                    self.writes.append(use)
                elif (access.buffer, tile) not in written and not _begun(step, access, trace):
                    self.reads.append(use)

    def check(self) -> list[str]:
        """Raises where a reader would find newer data; returns what could not be decided."""
        self.collect()
        for read in self.reads:
            for write in self.writes:
                related = write.buffer == read.buffer or write.buffer in self.partners.get(read.buffer, ())
                if related and not _apart(read, write) and write.stage is not read.stage and write.delay != read.delay:
                    self.check_pair(read, write)
        return list(dict.fromkeys(self.warnings))

    def check_pair(self, read: _Use, write: _Use) -> None:
        buffer = self.buffers[read.buffer]
        gap = read.delay - write.delay
        if gap < 0:
            raise self.error(LocalDataBackwards, read, write, distance=-gap, preload=self.loop.preload)
        if self.rotates(read) and self.rotates(write) and read.buffer == write.buffer and buffer.slots != 1:
            facts = {"stage": read.stage.name if read.stage is not None else "", "slots": buffer.slots}
            raise self.error(SlotCursorShared, read, write, other=write.name, **facts)
        fixed = _number(read) is not None and _number(write) is not None
        slots = 1 if buffer.slots == 1 or fixed else self.slots(read, write, buffer)
        if slots is None:
            self.warnings.append(self.undecided(read, write))
        elif slots < gap + 1:
            raise self.error(LocalDataTooDeep, read, write, distance=gap, needed=gap + 1, slots=slots)

    def error(self, error: type[UserError], read: _Use, write: _Use, **facts: Any) -> UserError:
        chain = (self.kernel.span(read.stage.call),) if read.stage is not None else ()
        notes = (f"the data is written at {write.place}",)
        names = {"group": read.buffer, "reader": read.name, "writer": write.name}
        return error(span=read.place, chain=chain, notes=notes, **names, **facts)

    # -- which tile belongs to which iteration --------------------------------------------------------------------------------

    def rotates(self, use: _Use) -> bool:
        return use.turn is not None and use.turn.slot.how in ("next", "current", "previous")

    def slots(self, read: _Use, write: _Use, buffer: Buffer) -> int | None:
        """How many iterations have tiles of their own, or None where that cannot be told."""
        if write.stage is None or read.stage is None:
            return self.around(write if write.stage is None else read, buffer)
        if read.turn is None or write.turn is None:
            return None
        if self.rotates(read) and self.rotates(write):
            once = all(
                len(self.turned.get(use.buffer, [])) == 1 and self.turned[use.buffer][0].turn == use.turn for use in (read, write)
            )
            return buffer.slots if once and read.turn.once and write.turn.once else None
        return self.modulus(read.turn, write.turn)

    def modulus(self, read: Turn, write: Turn) -> int | None:
        """``group[counter % n]`` on both sides: n tiles, when the counter goes on with every iteration."""
        texts = {_plain(read.text), _plain(write.text)}
        found = re.fullmatch(r"(\w+) % (\d+)", texts.pop() or "") if len(texts) == 1 else None
        if found is None:
            return None
        inner_variable = found[1] == self.loop.variable and self.loop.outer is not self.loop.node
        return None if inner_variable or not self.counts(found[1]) else int(found[2])

    def counts(self, name: str) -> bool:
        """Whether a name is the loop's variable (in steps of one) or goes up by one in every iteration."""
        call = self.loop.node.iter
        if name == self.loop.variable:
            return isinstance(call, ast.Call) and (len(call.args) < 3 or self.kernel.scope.value(call.args[2]) == 1)
        inside = bound_names([self.loop.outer])[name] == 1
        steps = [s for s in statements(self.loop.node.body) if isinstance(s, (ast.Assign, ast.AugAssign)) and _stored(s) == name]
        up = {f"{name} = {name} + 1", f"{name} = 1 + {name}", f"{name} += 1"}
        return inside and len(steps) == 1 and ast.unparse(steps[0]) in up

    def around(self, use: _Use, buffer: Buffer) -> int | None:
        """Tiles that the code around the stages hands on: a new one per iteration of the loop if it turns the group there."""
        in_loop = {id(inner) for inner in statements(self.loop.node.body)}
        where = [statement for trace, statement in self.reading.around[self.loop] if use.turn in trace.turns]
        inside = bool(where) and id(where[0]) in in_loop
        return buffer.slots if inside and use.turn is not None and use.turn.slot.how == "next" and use.turn.once else 1

    def undecided(self, read: _Use, write: _Use) -> str:
        flight = read.delay - write.delay + 1
        hands = f"written by {write.name} at {write.place} and read by {read.name} at {read.place}"
        return f"pipeline: '{read.buffer}' is {hands}; make sure that it has a tile for each of {flight} iterations in flight"


def check_carried(kernel: Kernel, loop: PipelineLoop, reading: Reading, counted: set[str]) -> list[str]:
    """Raises where local data would not survive the new order; returns warnings about what cannot be decided."""
    return _Carried(kernel, loop, reading, counted).check() if loop.depth > 1 else []


def _begun(step: Step, access: Access, trace: Trace) -> bool:
    """Whether the other side of a branch in a loop writes the tile first, as ``if c > 0: matmul_acc(...) else: matmul(...)`` does."""
    others = {(number, 1 - side) for number, side in step.arms}
    return step.repeated and any(
        other.repeated and others & set(other.arms) and one.role == "W" and one.slot == access.slot
        for other in trace.steps
        for one in other.accesses
    )


def _tile(access: Access, turns: dict[int, Turn], trace: Trace) -> object:
    """Tells tiles of one group apart within a stage: ``current`` is what the latest ``next`` took."""
    slot = access.slot
    if slot.how == "current":
        before = [turn.slot.pick for turn in trace.turns if turn.slot.buffer == slot.buffer and turn.slot.how == "next"]
        return max((pick for pick in before if pick < slot.pick), default=0)
    if slot.how == "at" and slot.pick in turns:
        return turns[slot.pick].text or slot.pick
    return slot.pick


def _number(use: _Use) -> int | None:
    """The number of the tile where it is always the same one."""
    return use.turn.number if use.turn is not None else None


SAMPLES = 64  # values of a counter that are tried to see which tiles an index names


def _apart(read: _Use, write: _Use) -> bool:
    """Whether the two take different tiles of one group by number, as ``g[0]`` and ``g[1 + k % 2]`` do."""
    if read.buffer != write.buffer or read.turn is None or write.turn is None:
        return False
    first, second = _tiles(read.turn), _tiles(write.turn)
    return first is not None and second is not None and not first & second


def _tiles(turn: Turn) -> set[int] | None:
    """The tiles that an index may name: one, or those that it goes through with its counter."""
    if turn.number is not None:
        return {turn.number}
    if turn.text is None:
        return None
    tree = ast.parse(turn.text, mode="eval").body
    names = used_names(tree)
    if len(names) != 1:
        return None
    found = {Scope({}, (), dict.fromkeys(names, value)).value(tree) for value in range(SAMPLES)}
    return found if all(isinstance(value, int) for value in found) else None


def _plain(text: str | None) -> str | None:
    """Without the brackets that substitution adds."""
    if text is None:
        return None
    return ast.unparse(ast.parse(text, mode="eval"))


def _stored(statement: ast.Assign | ast.AugAssign) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    return target.id if isinstance(target, ast.Name) else ""
