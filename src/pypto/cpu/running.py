"""Reductions and running sums while a loop is written: what is carried from vector to vector, and how it is joined at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pypto.cpu.nests import Reduce, Scan
from pypto.cpu.vectors import LANES, Tail, Vector, compute_type
from pypto.dtypes import DataType

if TYPE_CHECKING:
    from pypto.cpu.nest_terms import TermWriter

_D = DataType


class Accumulator:
    """A running reduction: one vector (two for argmax) per unrolled position, joined in a fixed order at the end."""

    def __init__(self, emitter: TermWriter, term: Reduce, count: int) -> None:
        self.emitter = emitter
        self.term = term
        self.combine = term.combine
        self.argument = term.combine.startswith("arg")
        self.kind = compute_type(term.operand.dtype)
        self.b = emitter.vectors(self.kind)
        self.identity = self.b.constant(identity_of(term.combine, self.kind), self.kind)
        self.count = count
        first = [self.identity] * count
        self.parts = first + [self._no_place()] * count if self.argument else first

    def _no_place(self) -> Vector:
        return self.b.constant(2**31 - 1, _D.DT_INT32)

    def _found(self, place: Vector) -> Vector:
        """0 where no element was seen: the place must be one that can be asked for."""
        return self.b.select(self.b.compare("eq", place, self._no_place()), self.b.like(place, 0), place)

    def take(self, u: int, vector: Vector, tail: Tail | None, places: Callable[[], Vector]) -> None:
        if tail is not None:
            vector = self.b.select(tail.mask, vector, self.identity)
        if not self.argument:
            # The running value second: max and min are then one instruction on the way from vector to vector.
            self.parts[u] = self.b.combine(self.combine, vector, self.parts[u])
            return
        where = places()
        if tail is not None:
            where = self.b.select(tail.mask, where, self._no_place())
        old = (self.parts[u], self.parts[self.count + u])
        self.parts[u], self.parts[self.count + u] = self.b.combine_argument(self.combine, *old, vector, where)

    def across_lanes(self) -> Vector:
        """The scalar result in every lane."""
        count = self.count
        values, places = self.parts[:count], self.parts[count:]
        while count > 1:
            count //= 2
            pairs = range(count)
            if self.argument:
                both = [
                    self.b.combine_argument(self.combine, values[i], places[i], values[i + count], places[i + count])
                    for i in pairs
                ]
                values, places = [v for v, _ in both], [p for _, p in both]
            else:
                values = [self.b.combine(self.combine, values[i], values[i + count]) for i in pairs]
        dtype = self.term.dtype
        if self.argument:
            place = self.b.splat(self.b.reduce_argument(self.combine, values[0], places[0])[1], _D.DT_INT32)
            return self.b.convert(self._found(place), dtype)
        return self.b.rounded(self.b.splat(self.b.reduce(self.combine, values[0]), self.kind), dtype)

    def per_lane(self, parts: list[Vector]) -> list[Vector]:
        if self.argument:
            return [self.b.convert(self._found(p), self.term.dtype) for p in parts[self.count :]]
        return [self.b.rounded(p, self.term.dtype) for p in parts]


class WatchedExtreme:
    """A running maximum or minimum that takes two vectors at a time: NaNs are only noted in a mask, and put back at the end."""

    def __init__(self, emitter: TermWriter, term: Reduce, count: int) -> None:
        self.term = term
        self.b = emitter.vectors(_D.DT_FP32)
        identity = self.b.constant(identity_of(term.combine, _D.DT_FP32), _D.DT_FP32)
        self.parts = [identity] * count + [self.b.compare("uno", identity, identity)] * count

    def take_two(self, u: int, first: Vector, second: Vector) -> None:
        noted = len(self.parts) // 2 + u
        self.parts[noted] = self.b.mask_or(self.parts[noted], self.b.compare("uno", first, second))
        self.parts[u] = self._better(self._better(first, second), self.parts[u])

    def _better(self, a: Vector, b: Vector) -> Vector:
        return self.b.select(self.b.compare("gt" if self.term.combine == "max" else "lt", a, b), a, b)

    def per_lane(self, parts: list[Vector]) -> list[Vector]:
        count = len(parts) // 2
        return [self.b.select(parts[count + u], self.b.like(parts[u], float("nan")), parts[u]) for u in range(count)]


class RunningSum:
    """Partial sums carried from index to index (``count`` vectors side by side), or along the lanes of one row (``count`` 1)."""

    def __init__(self, emitter: TermWriter, term: Scan, count: int) -> None:
        self.b = emitter.vectors(term.dtype)
        self.along_lanes = emitter.by_rows
        self.parts = [self.b.constant(0)] * count

    def following(self, u: int, vector: Vector) -> Vector:
        if not self.along_lanes:
            self.parts[u] = self.b.add(self.parts[u], vector)
            return self.parts[u]
        for distance in (1, 2, 4, 8):
            lanes = [lane - distance if lane >= distance else LANES for lane in range(LANES)]
            vector = self.b.add(vector, self.b.shuffle(vector, lanes, self.b.like(vector, 0)))
        vector = self.b.add(vector, self.parts[0])
        self.parts[0] = self.b.shuffle(vector, [LANES - 1] * LANES)
        return vector


def identity_of(combine: str, dtype: DataType) -> float | int:
    if combine == "add":
        return 0
    if combine == "mul":
        return 1
    largest = combine in ("max", "argmax")
    if dtype.is_float:
        return float("-inf") if largest else float("inf")
    if dtype is _D.DT_BOOL:
        return 0 if largest else 1
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    return low if largest else low + (1 << dtype.bits) - 1
