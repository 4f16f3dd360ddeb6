"""How much of a storage has been written at a place: boxes with symbolic bounds, joined over loops and branches.

``Known.boxes`` have certainly been written; unless ``more`` is set, nothing else has. A loop that writes ``[i*16, i*16 + 16)`` in
every iteration has written ``[0, n*16)`` afterwards; a tail ``min(n - i*16, 16)`` makes that ``[0, n)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pypto.graph.facts import Facts, trip_count
from pypto.ir import symbols as ir
from pypto.ir.program import Loop
from pypto.ir.simplify_symbols import simplify
from pypto.ir.sums import sum_of
from pypto.ir.symbols import Scalar, Symbol

MOST_BOXES = 24  # per storage; beyond that only "something more was written" is remembered


@dataclass(frozen=True)
class Box:
    """``extents`` elements from ``offsets`` on, per axis. Nothing when an extent is not positive."""

    offsets: tuple[Scalar, ...]
    extents: tuple[Scalar, ...]

    def end(self, axis: int) -> Scalar:
        return ir.add(self.offsets[axis], self.extents[axis])

    def is_empty(self) -> Scalar:
        empty: Scalar = False
        for extent in self.extents:
            empty = ir.logical_or(empty, ir.compare("le", extent, 0))
        return empty

    def holds(self, other: Box) -> Scalar:
        """The condition that ``other`` lies in this box (or is empty)."""
        inside: Scalar = True
        for axis in range(len(self.offsets)):
            low = ir.compare("le", self.offsets[axis], other.offsets[axis])
            high = ir.compare("le", other.end(axis), self.end(axis))
            inside = ir.logical_and(inside, ir.logical_and(simplify(low), simplify(high)))
        return ir.logical_or(inside, other.is_empty())

    def when(self, condition: Scalar) -> Box:
        """This box if ``condition`` holds, else nothing."""
        return replace(self, extents=(ir.select(simplify(condition), self.extents[0], 0), *self.extents[1:]))

    def symbols(self) -> set[Symbol]:
        return {s for a in (*self.offsets, *self.extents) for s in ir.symbols_in(a)}

    def same(self, other: Box) -> bool:
        mine, theirs = (*self.offsets, *self.extents), (*other.offsets, *other.extents)
        return all(equal(a, b) for a, b in zip(mine, theirs, strict=True))


@dataclass
class Known:
    """What has been written of one storage."""

    boxes: list[Box] = field(default_factory=list)
    more: bool = False
    earlier: bool = False  # earlier iterations of a loop around this place may have written something else, too

    @property
    def exact(self) -> bool:
        """Whether the boxes are all that has been written."""
        return not (self.more or self.earlier)

    def copy(self) -> Known:
        return Known(list(self.boxes), self.more, self.earlier)

    def add(self, box: Box, facts: Facts) -> None:
        for position, old in enumerate(self.boxes):
            if old.holds(box) is True:
                return
            merged = joined(old, box)
            if merged is not None:
                del self.boxes[position]
                self.add(merged, facts)
                return
        self.boxes.append(box)
        if len(self.boxes) > MOST_BOXES:
            del self.boxes[0]
            self.more = True

    def proves(self, box: Box, facts: Facts) -> bool:
        """Whether all of ``box`` has certainly been written."""
        conditions = [old.holds(box) for old in reversed(self.boxes)]
        return any(c is True for c in conditions) or any(facts.proves(c) for c in conditions)

    def either(self, other: Known, condition: Scalar, inner: set[Symbol]) -> Known:
        """What is known after a branch: this if ``condition`` holds, else ``other``. ``inner`` symbols are gone by then."""
        after = Known(more=self.more or other.more, earlier=self.earlier)
        for mine, theirs, holds in ((self, other, condition), (other, self, ir.logical_not(condition))):
            for box in mine.boxes:
                if any(box.same(o) for o in theirs.boxes):
                    after.keep(box)
                elif box.symbols() & inner:
                    after.more = True
                else:
                    after.keep(box.when(holds))
        return after

    def keep(self, box: Box) -> None:
        """Add a box as it is."""
        if not any(box.same(old) for old in self.boxes):
            self.boxes.append(box)


def equal(a: Scalar, b: Scalar) -> bool:
    difference = simplify(ir.sub(a, b))
    return not isinstance(difference, ir.Expression) and difference == 0


def joined(a: Box, b: Box) -> Box | None:
    """One box for two that lie side by side along one axis and agree on the others."""
    different = [
        axis
        for axis in range(len(a.offsets))
        if not (equal(a.offsets[axis], b.offsets[axis]) and equal(a.extents[axis], b.extents[axis]))
    ]
    if len(different) != 1:
        return None
    (axis,) = different
    first, second = (a, b) if equal(a.end(axis), b.offsets[axis]) else (b, a)
    if not equal(first.end(axis), second.offsets[axis]) or ir.bounds_of(simplify(second.extents[axis]))[0] < 0:
        return None
    if ir.bounds_of(simplify(first.extents[axis]))[0] < 0:
        return None
    extents = list(a.extents)
    extents[axis] = simplify(ir.add(first.extents[axis], second.extents[axis]))
    return Box(first.offsets, tuple(extents))


# -- loops ---------------------------------------------------------------------------------------------------------------------


def over_iterations(box: Box, loop: Loop, facts: Facts) -> Box | None:
    """What a box written in every iteration adds up to, or None when that is no box. ``facts`` hold inside the loop."""
    trips = trip_count(loop)
    if trips is None or not isinstance(loop.step, int):
        return None
    moving = [
        axis for axis in range(len(box.offsets)) if uses(box.offsets[axis], loop.index) or uses(box.extents[axis], loop.index)
    ]
    if len(moving) > 1:
        return None
    last = simplify(ir.add(loop.start, ir.mul(ir.sub(trips, 1), loop.step)))
    if not moving:
        whole = replace(box, extents=(at_least_once(box.extents[0], trips), *box.extents[1:]))
        return whole
    (axis,) = moving
    stride = growth(box.offsets[axis], loop.index)
    if stride is None or stride * loop.step == 0:
        return None
    ends = (loop.start, last) if stride * loop.step > 0 else (last, loop.start)
    if not without_gaps(box, axis, loop, abs(stride * loop.step), facts):
        return None
    first, final = (substituted(box, loop.index, value) for value in ends)
    begin = simplify(first.offsets[axis])
    extent = simplify(ir.sub(final.end(axis), begin))
    offsets, extents = list(box.offsets), list(box.extents)
    offsets[axis], extents[axis] = begin, extent_over(extent, trips)
    return Box(tuple(offsets), tuple(extents))


def uses(a: Scalar, symbol: Symbol) -> bool:
    return any(s is symbol for s in ir.symbols_in(a))


def growth(a: Scalar, index: Symbol) -> int | None:
    """The constant by which ``a`` grows with ``index``."""
    step = sum_of(simplify(ir.sub(ir.substitute(a, {index: ir.add(index, 1)}), a)))
    return step.constant if step.is_constant else None


def without_gaps(box: Box, axis: int, loop: Loop, stride: int, facts: Facts) -> bool:
    """Whether every iteration but the last (in order of place) writes up to where the next one begins."""
    extent = box.extents[axis]
    assert isinstance(loop.step, int)
    following = ir.add(loop.index, loop.step)
    inside = ir.compare("lt", following, loop.stop) if loop.step > 0 else ir.compare("lt", loop.stop, following)
    rising = (growth(box.offsets[axis], loop.index) or 0) * loop.step > 0
    known = facts.inside([inside]) if rising else facts
    return known.proves(ir.compare("le", stride, extent))


def substituted(box: Box, index: Symbol, value: Scalar) -> Box:
    change = {index: value}
    return Box(tuple(ir.substitute(o, change) for o in box.offsets), tuple(ir.substitute(e, change) for e in box.extents))


def at_least_once(extent: Scalar, trips: Scalar) -> Scalar:
    """``extent`` when the loop runs, else nothing."""
    if ir.bounds_of(trips)[0] >= 1:
        return extent
    return simplify(ir.select(ir.compare("lt", 0, trips), extent, 0))


def extent_over(extent: Scalar, trips: Scalar) -> Scalar:
    """The joint extent; a form that is right for zero trips as it stands is kept as it stands."""
    runs = Facts().inside([ir.compare("lt", 0, trips)])
    simple = runs.simplify(extent)
    zero = Facts().inside([ir.compare("le", trips, 0)])
    return simple if zero.proves(ir.compare("eq", simple, 0)) else at_least_once(simple, trips)


def box_of(offsets: Sequence[Scalar], extents: Sequence[Scalar]) -> Box:
    return Box(tuple(map(simplify, offsets)), tuple(map(simplify, extents)))
