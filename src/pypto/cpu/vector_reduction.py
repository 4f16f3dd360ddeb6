"""Horizontal reductions of ``Vectors``: explicit shuffle trees, halves against halves, the same on every machine."""

from __future__ import annotations

from pypto.cpu.vector_arithmetic import Arithmetic
from pypto.cpu.vector_base import Vector


class Reduction(Arithmetic):
    def reduce(self, kind: str, vector: Vector) -> str:
        """``add mul max min and or`` over all lanes, as a scalar of ``vector.element``. NaN propagates through max and min.

        The tree is fixed: lane i meets lane i + lanes/2, then quarters, and so on.
        """
        while vector.lanes > 1:
            vector = self.combine(kind, *self._halves(vector))
        return self.extract(vector)

    def combine(self, kind: str, a: Vector, b: Vector) -> Vector:
        """One step of the reduction ``kind``, lane by lane; also what accumulators are joined with."""
        operation = {"add": self.add, "mul": self.mul, "max": self.max, "min": self.min}.get(kind)
        return operation(a, b) if operation else self._op(kind, a, b)

    def reduce_argument(self, kind: str, values: Vector, places: Vector) -> tuple[str, str]:
        """``argmax`` or ``argmin``: (value, place) as scalars. Ties take the lowest place; a NaN wins, the first of them."""
        while values.lanes > 1:
            (v, w), (p, q) = self._halves(values), self._halves(places)
            values, places = self.combine_argument(kind, v, p, w, q)
        return self.extract(values), self.extract(places)

    def combine_argument(self, kind: str, v: Vector, p: Vector, w: Vector, q: Vector) -> tuple[Vector, Vector]:
        """The better of candidates (v at p) and (w at q), lane by lane."""
        second = self.compare("gt" if kind == "argmax" else "lt", w, v)
        lower = self.compare("lt", q, p)
        tie = self.compare("eq", w, v)
        if v.dtype.is_float:
            first_nan, second_nan = self.compare("uno", v, v), self.compare("uno", w, w)
            tie = self.mask_or(tie, self.mask_and(first_nan, second_nan))
            # A NaN beats every number: the second wins if it alone is NaN.
            second = self.mask_or(second, self.mask_and(second_nan, self.mask_not(first_nan)))
        takes = self.mask_or(second, self.mask_and(tie, lower))
        return self.select(takes, w, v), self.select(takes, q, p)

    def _halves(self, vector: Vector) -> tuple[Vector, Vector]:
        half = vector.lanes // 2
        return self.lanes_of(vector, 0, half), self.lanes_of(vector, half, half)

    def lanes_of(self, vector: Vector, start: int, count: int) -> Vector:
        """``count`` neighbouring lanes as a shorter vector."""
        return self.shuffle(vector, range(start, start + count))

    def shuffle(self, vector: Vector, lanes: range | list[int], other: Vector | None = None) -> Vector:
        """Lanes picked from ``vector`` followed by ``other``, by number."""
        second = other.name if other else "poison"
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        text = f"shufflevector {vector.type} {vector.name}, {vector.type} {second}, <{len(lanes)} x i32> <{mask}>"
        return Vector(self.function.define(text), vector.dtype, len(lanes))

    def join(self, low: Vector, high: Vector) -> Vector:
        """Two vectors end to end."""
        return self.shuffle(low, range(2 * low.lanes), high)
