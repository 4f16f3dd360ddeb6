"""Reading memory that nothing wrote.

In: a program whose regions are settled (``valid.py``). Out: the same program. Raises ``ReadUnwritten`` at the reading line, with
the line that made the storage, when some element of a local is certainly read and certainly not written before: no write can
have happened, or all that can have happened leave out an element of the region.

Before::

    program example(y: fp32[8, 4]):
        t: fp32[8, 4] = allocate()
        zero: fp32[4, 4] = full(fp32(0.0), shape=(4, 4), valid=None)
        for i: int(0, 1) in range(0, 2, 1):
            store(t, zero, offsets=((i * 4), 0))
        v: fp32[8, 4] = load(t, offsets=(0, 0))
        store(y, v, offsets=(0, 0))

After::

    program example(y: fp32[8, 4]):
        t: fp32[8, 4] = allocate()
        zero: fp32[4, 4] = full(fp32(0.0), shape=(4, 4), valid=None)
        for i: int(0, 1) in range(0, 2, 1):
            store(t, zero, offsets=((i * 4), 0))
        v: fp32[8, 4] = load(t, offsets=(0, 0))
        store(y, v, offsets=(0, 0))

Not handled: what only a run can tell (writes at data-dependent places, symbolic sizes). The reference engine tracks every
element; here nothing is said unless it is certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pypto.errors.runtime import ReadUnwritten
from pypto.graph.facts import trip_count
from pypto.graph.regions import Access, Survey, facts_at
from pypto.ir import symbols as ir
from pypto.ir.program import If, Loop, Op, Program, Statement, Storage, walk
from pypto.ir.symbols import Expression

Box = tuple[tuple[int, int], ...]  # first and one past the last, per axis

MOST_BOXES = 256  # pieces of one region; more are not looked into


def definedness(program: Program) -> Program:
    """``program`` itself, unless it certainly reads what nothing wrote."""
    survey = Survey(program)
    made = {r: s for s in walk(program.body) if isinstance(s, Op) and s.name == "allocate" for r in s.results}
    for storage, accesses in survey.accesses.items():
        if storage in made:
            writes = [(a, _largest_box(a)) for a in accesses if a.writes and not a.reads]
            whole = next((w for w, box in writes if not w.around and _covers(box, storage)), None)
            for access in accesses:
                known = whole is not None and whole.position < access.position  # the usual case, and quick
                if access.reads and access.op.name != "print" and not known:
                    _look(survey, access, writes, made[storage])
    return program


def _look(survey: Survey, read: Access, writes: list[tuple[Access, Box]], made: Op) -> None:
    possible = [box for write, box in writes if _may_precede(survey, write, read)]
    region = _certain_box(read)
    if region is None:
        if not possible and _reads_something(read):
            raise _error(read, made, None)
        return
    left = _without(region, possible)
    if left:
        raise _error(read, made, [first for first, _ in left[0]])


def _error(read: Access, made: Op, element: list[int] | None) -> ReadUnwritten:
    storage: Storage = made.result
    notes: tuple[str, ...] = ()
    if made.span is not None:
        source = made.span.text.strip()
        notes = (f"'{storage.name}' is made at {made.span}" + (f": {source}" if source else ""),)
    position = element if element is not None else list(read.offsets)
    return ReadUnwritten(span=read.op.span, notes=notes, tensor=storage.name, position=position)


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


def _certain_box(read: Access) -> Box | None:
    """The region when it is known exactly and not empty."""
    numbers = (*read.offsets, *read.extents)
    if not read.exact or any(isinstance(n, Expression) for n in numbers) or any(not e for e in read.extents):
        return None
    return tuple((int(o), int(o) + int(e)) for o, e in zip(read.offsets, read.extents, strict=True))  # type: ignore[arg-type]


def _largest_box(write: Access) -> Box:
    """Everything that a write may touch, whatever its symbols are."""
    box = []
    for offset, extent, size in zip(write.offsets, write.extents, write.root.type.shape, strict=True):
        end = ir.bounds_of(ir.add(offset, extent))[1]
        limit = ir.bounds_of(size)[1]
        low = ir.bounds_of(offset)[0]
        high = min(end, limit)
        box.append((int(low) if math.isfinite(low) else 0, int(high) if math.isfinite(high) else 2**62))
    return tuple(box)


def _covers(box: Box, storage: Storage) -> bool:
    limits = (ir.bounds_of(size)[1] for size in storage.type.shape)
    return all(low <= 0 and high >= limit for (low, high), limit in zip(box, limits, strict=True))


def _without(region: Box, boxes: Iterable[Box]) -> list[Box]:
    """What is left of ``region``, as boxes; nothing when it falls into too many pieces."""
    left = [region]
    for box in boxes:
        left = [piece for part in left for piece in _cut(part, box)]
        if len(left) > MOST_BOXES:
            return []
    return left


def _cut(region: Box, box: Box) -> list[Box]:
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
