"""Reading memory that nothing wrote.

In: a program whose regions are settled (``valid.py``). Out: the same program with a ``check`` in front of loads whose region is
written or not depending on run-time numbers. Raises ``ReadUnwritten`` at the reading line, with the line that made the storage,
when some element of a local is certainly read and certainly not written before: no write can have happened, or all that can have
happened leave out an element of the region.

Before::

    program example(y: fp32[8, 4], n: int(0, 8)):
        t: fp32[8, 4] = allocate()
        row: fp32[1, 4] = full(fp32(0.0), shape=(1, 4), valid=None)
        for i: int(0, 7) in range(0, n, 1):
            store(t, row, offsets=(i, 0))
        v: fp32[8, 4] = load(t, offsets=(0, 0))
        store(y, v, offsets=(0, 0))

After::

    program example(y: fp32[8, 4], n: int(0, 8)):
        t: fp32[8, 4] = allocate()
        row: fp32[1, 4] = full(fp32(0.0), shape=(1, 4), valid=None)
        for i: int(0, 7) in range(0, n, 1):
            store(t, row, offsets=(i, 0))
        check((8 <= n), error=pypto.errors.runtime.ReadUnwritten(tensor='t', position=[n, 0]))
        v: fp32[8, 4] = load(t, offsets=(0, 0))
        store(y, v, offsets=(0, 0))

Not handled: writes at data-dependent places, and what several writes give together unless they join to one box. Then nothing is
said that is not certain; the local and the reads in question are marked ``unproven=True``, and engines keep track of every element of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.runtime import ReadUnwritten
from pypto.graph.facts import Facts, trip_count
from pypto.graph.memo import written_roots
from pypto.graph.regions import Access, Survey, defined_in, facts_at
from pypto.graph.written import Box, Known, box_of, over_iterations
from pypto.ir import symbols as ir
from pypto.ir.program import Block, If, Loop, Op, Program, Statement, Storage, walk
from pypto.ir.rewrite import Rewriter
from pypto.ir.symbols import Expression, Scalar, Symbol

Numbers = tuple[tuple[int, int], ...]  # first and one past the last, per axis

MOST_BOXES = 256  # pieces of one region; more are not looked into


def definedness(program: Program) -> Program:
    """``program`` with the checks it needs; raises when it certainly reads what nothing wrote."""
    made = {r: s for s in walk(program.body) if isinstance(s, Op) and s.name == "allocate" for r in s.results}
    if not made:
        return program
    checker = _Checker(program, made)
    checked = checker.program(program)
    return _Marked(checker).program(checked) if checker.unproven else checked


class _Checker(Rewriter):
    """Follows what is written on the way down, and puts a check in front of reads that depend on it."""

    def __init__(self, program: Program, made: Mapping[Any, Op]) -> None:
        super().__init__()
        self.made = made
        self.survey = Survey(program)
        self.writes: dict[Storage, list[tuple[Access, Numbers]]] = {}
        self.access: dict[Op, list[Access]] = {}
        for storage, accesses in self.survey.accesses.items():
            if storage in made:
                self.writes[storage] = [(a, _largest_box(a)) for a in accesses if a.writes and not a.reads]
                for access in accesses:
                    self.access.setdefault(access.op, []).append(access)
        self.written: dict[Storage, Known] = {}
        self.unproven: set[Storage] = set()
        self.reads: set[Op] = set()  # of unproven storages
        self.facts = Facts()

    def op(self, op: Op) -> Iterable[Statement]:
        if op.name == "allocate":
            self.written[op.result] = Known()
        elif op.name == "check":
            self.facts.learn(op.operands[0])  # type: ignore[arg-type]
        checks: list[Statement] = []
        for access in self.access.get(op, ()):
            if access.root in self.written:
                checks += self.read(access) if access.reads and op.name != "print" else []
                if access.writes:
                    self.wrote(access)
        return [*checks, op]

    def wrote(self, access: Access) -> None:
        known = self.written[access.root]
        if access.exact:
            known.add(box_of(access.offsets, access.extents), self.facts)
        else:
            known.more = True

    def read(self, access: Access) -> Iterable[Op]:
        known, wanted = self.written[access.root], box_of(access.offsets, access.extents)
        if known.proves(wanted, self.facts):
            return
        _look(self.survey, access, self.writes[access.root], self.made[access.root])
        if not known.exact or len(known.boxes) > 1:
            self.unproven.add(access.root)
            self.reads.add(access.op)
            return
        condition = known.boxes[0].holds(wanted) if known.boxes else wanted.is_empty()
        condition = self.facts.simplify(condition)
        place = list(wanted.offsets)
        if known.boxes:
            place = [self.facts.simplify(p) for p in first_outside(wanted, known.boxes[0], self.facts)]
        error = _error(access, self.made[access.root], place, None)
        self.facts.learn(condition)
        yield Op("check", (condition,), {"error": error}, (), access.op.span)

    # -- structure -------------------------------------------------------------------------------------------------------------

    def body_of(self, loop: Loop) -> Block:
        outer, before = self.facts, {s: k.copy() for s, k in self.written.items()}
        touched = [storage for storage in written_roots(loop.body) if storage in before]
        for storage in touched:
            self.written[storage].earlier = True
        for access in self.first_writes(loop):
            if access.root in before:
                box = box_of(access.offsets, access.extents)
                self.written[access.root].keep(box.when(ir.compare("ne", loop.index, loop.start)))
        starts = {storage: list(self.written[storage].boxes) for storage in touched}
        self.facts = outer.inside_loop(loop)
        made = self.block(loop.body)
        gone = {s for s in defined_in(loop.body) if isinstance(s, Symbol)}
        for storage in touched:
            new = [box for box in self.written[storage].boxes if not any(box is old for old in starts[storage])]
            before[storage].more |= self.written[storage].more
            self.add_joint(before[storage], new, loop, gone)
        self.facts, self.written = outer, before
        return made

    def add_joint(self, after: Known, boxes: Sequence[Box], loop: Loop, gone: set[Symbol]) -> None:
        """Add what boxes written in every iteration come to."""
        for box in boxes:
            joint = None if box.symbols() & gone else over_iterations(box, loop, self.facts)
            if joint is None:
                after.more = True
            else:
                after.add(joint, self.facts)

    def first_writes(self, loop: Loop) -> Iterable[Access]:
        """Writes that certainly happen in the first iteration, to the same region in every iteration."""
        gone = {loop.index, *(s for s in defined_in(loop.body) if isinstance(s, Symbol))}
        statements: list[Statement] = []
        for statement in loop.body.statements:
            if isinstance(statement, If):
                first = self.facts.simplify(ir.substitute(statement.condition, {loop.index: loop.start}))
                if not isinstance(first, Expression):
                    statements += (statement.then if first else statement.orelse).statements
            else:
                statements.append(statement)
        for op in statements:
            for access in self.access.get(op, ()) if isinstance(op, Op) else ():
                if access.writes and access.exact and not box_of(access.offsets, access.extents).symbols() & gone:
                    yield access

    def rebuilt_branch(self, branch: If) -> If:
        outer, before = self.facts, {s: k.copy() for s, k in self.written.items()}
        arms, ends = [], []
        for block, taken in ((branch.then, True), (branch.orelse, False)):
            self.facts, self.written = outer.inside_branch(branch, taken), {s: k.copy() for s, k in before.items()}
            arms.append(self.block(block))
            ends.append(self.written)
        self.facts = outer
        gone = {s for block in (branch.then, branch.orelse) for s in defined_in(block) if isinstance(s, Symbol)}
        self.written = {s: ends[0][s].either(ends[1][s], branch.condition, gone) for s in before}
        if arms[0] is branch.then and arms[1] is branch.orelse:
            return branch
        return If(branch.condition, arms[0], arms[1], branch.results, branch.span)


class _Marked(Rewriter):
    """Marks locals of which a read is neither proven nor checked, and those reads."""

    def __init__(self, found: _Checker) -> None:
        super().__init__()
        self.found = found

    def op(self, op: Op) -> Iterable[Statement]:
        if op in self.found.reads or (op.name == "allocate" and op.result in self.found.unproven):
            return [Op(op.name, op.operands, {**op.attributes, "unproven": True}, op.results, op.span)]
        return [op]


def first_outside(wanted: Box, written: Box, facts: Facts) -> list[Scalar]:
    """An element of ``wanted`` outside of ``written``: off the first axis along which it is not proven to lie inside."""
    place = list(wanted.offsets)
    for axis, offset in enumerate(wanted.offsets):
        low = ir.compare("le", written.offsets[axis], offset)
        if not facts.proves(low):
            place[axis] = ir.select(low, ir.maximum(written.end(axis), offset), offset)
            return place
        if not facts.proves(ir.compare("le", wanted.end(axis), written.end(axis))):
            place[axis] = ir.maximum(written.end(axis), offset)
            return place
    return place


def _look(survey: Survey, read: Access, writes: list[tuple[Access, Numbers]], made: Op) -> None:
    possible = [box for write, box in writes if _may_precede(survey, write, read)]
    region = _certain_box(read)
    if region is None:
        if not possible and _reads_something(read):
            raise _error(read, made, list(read.offsets), read.op.span)
        return
    left = _without(region, possible)
    if left:
        raise _error(read, made, [first for first, _ in left[0]], read.op.span)


def _error(read: Access, made: Op, position: Sequence[Scalar], span: Span | None) -> ReadUnwritten:
    storage: Storage = made.result
    notes: tuple[str, ...] = ()
    if made.span is not None:
        source = made.span.text.strip()
        notes = (f"'{storage.name}' is made at {made.span}" + (f": {source}" if source else ""),)
    return ReadUnwritten(span=span, notes=notes, tensor=storage.name, position=list(position))


# -- order ---------------------------------------------------------------------------------------------------------------------


def _may_precede(survey: Survey, write: Access, read: Access) -> bool:
    """Whether ``write`` can have happened before ``read`` happens for the first time."""
    if write.position < read.position:
        return not _in_other_arm(write, read)
    shared = [s for s, t in zip(write.around, read.around, strict=False) if s is t and isinstance(s, Loop)]
    return any(_may_skip(read, loop) for loop in shared)


def _may_skip(read: Access, loop: Loop) -> bool:
    """Whether the first iteration of ``loop`` may pass by ``read``: a branch or a loop that may not run is in between."""
    inner = read.around[read.around.index(loop) + 1 :]
    return any(isinstance(s, If) or _may_not_run(s) for s in inner)


def _may_not_run(statement: Statement) -> bool:
    trips = trip_count(statement) if isinstance(statement, Loop) else 1
    return trips is None or ir.bounds_of(trips)[0] < 1


def _in_other_arm(write: Access, read: Access) -> bool:
    """Whether the two are in different arms of one branch that no loop repeats."""
    for outer, mine, side, other in zip(write.around, read.around, write.sides, read.sides, strict=False):
        if outer is not mine or isinstance(outer, Loop):
            return False
        if side != other:
            return True
    return False


# -- boxes ---------------------------------------------------------------------------------------------------------------------


def _reads_something(read: Access) -> bool:
    facts = facts_at(read)
    return all(facts.proves(ir.compare("le", 1, extent)) for extent in read.extents)


def _certain_box(read: Access) -> Numbers | None:
    """The region when it is known exactly and not empty."""
    numbers = (*read.offsets, *read.extents)
    if not read.exact or any(isinstance(n, Expression) for n in numbers) or any(not e for e in read.extents):
        return None
    return tuple((int(o), int(o) + int(e)) for o, e in zip(read.offsets, read.extents, strict=True))  # type: ignore[arg-type]


def _largest_box(write: Access) -> Numbers:
    """Everything that a write may touch, whatever its symbols are."""
    box = []
    for offset, extent, size in zip(write.offsets, write.extents, write.root.type.shape, strict=True):
        end = ir.bounds_of(ir.add(offset, extent))[1]
        limit = ir.bounds_of(size)[1]
        low = ir.bounds_of(offset)[0]
        high = min(end, limit)
        box.append((int(low) if math.isfinite(low) else 0, int(high) if math.isfinite(high) else 2**62))
    return tuple(box)


def _without(region: Numbers, boxes: Iterable[Numbers]) -> list[Numbers]:
    """What is left of ``region``, as boxes; nothing when it falls into too many pieces."""
    left = [region]
    for box in boxes:
        left = [piece for part in left for piece in _cut(part, box)]
        if len(left) > MOST_BOXES:
            return []
    return left


def _cut(region: Numbers, box: Numbers) -> list[Numbers]:
    """``region`` without ``box``."""
    if any(high <= low2 or high2 <= low for (low, high), (low2, high2) in zip(region, box, strict=True)):
        return [region]
    pieces, rest = [], list(region)
    for axis, (low, high) in enumerate(box):
        first, last = rest[axis]
        if first < low:
            pieces.append((*rest[:axis], (first, low), *rest[axis + 1 :]))
        if high < last:
            pieces.append((*rest[:axis], (high, last), *rest[axis + 1 :]))
        rest[axis] = (max(first, low), min(last, high))
    return sorted(tuple(piece) for piece in pieces)
