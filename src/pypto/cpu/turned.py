"""Nests that read across the lanes: blocks of 16 × 16 elements are transposed in registers.

    y[i, j] = f(x[j, i])     →  for 16 i: for 16 j: 16 loads along i, a transpose, f, 16 stores along j

A load is *turned* when it has stride 1 along an outer axis (the turned axis) and not along the lanes. Element by element such a load
touches a cache line per lane, over and over. What does not fill a block goes the ordinary way.
"""

from __future__ import annotations

from pypto.cpu.emit_nest import NestEmitter
from pypto.cpu.nests import Load, Nest, Scan
from pypto.cpu.places import NestCode, Place, Scope, Value
from pypto.cpu.stages import stages_of
from pypto.cpu.vectors import LANES, Vector, Vectors
from pypto.cpu.views import product, same
from pypto.ir.symbols import Expression, Scalar, add, floordiv, mul

MOST_COST = 24  # instructions per vector of a nest that is written 16 times
FEWEST = 2 * LANES  # along both axes: below that blocks are rare


def turned_axis(nest: Nest) -> int | None:
    """The axis that turned loads run along, when the nest has some and is simple enough."""
    if nest.rank < 2 or nest.reduced is not None or any(isinstance(t, Scan) for t in nest.terms):
        return None
    passes = stages_of(nest).passes
    if len(passes) != 1 or passes[0].cost > MOST_COST:
        return None
    axes = [axis for load in nest.loads() for axis in range(nest.rank - 1) if is_turned(load, axis)]
    if not axes or not all(_large(nest.sizes[a]) for a in (axes[0], nest.rank - 1)):
        return None
    return axes[0]


def is_turned(load: Load, axis: int) -> bool:
    strides = load.access.strides
    return same(strides[axis], 1) and not same(strides[-1], 1) and not same(strides[-1], 0)


def _large(size: Scalar) -> bool:
    return isinstance(size, Expression) or int(size) >= FEWEST


class TurnedEmitter(NestEmitter):
    """A nest with turned loads. A unit of its work is 16 positions along the turned axis, for one position along the others."""

    axis: int

    def emit(self) -> NestCode:
        axis = turned_axis(self.nest)
        if axis is None:
            raise TypeError("the nest has no turned loads")
        self.axis = axis
        self.others = [a for a in self.outer if a != axis]
        code = super().emit()
        for sizes, name in ((self.nest.extents, "total"), (self.nest.sizes, "bound")):
            blocks = floordiv(add(sizes[axis], LANES - 1), LANES)
            setattr(code, name, mul(product([sizes[a] for a in self.others]), blocks))
        return code

    def _emit_loops(self) -> str:
        f = self.f
        extent = self.scalar(self.nest.extents[self.axis])
        lanes = self.scalar(self.nest.extents[self.lanes_axis])
        with f.loop("%first", "%last", hint="block") as block:
            index, first = self._position(block.index, extent)
            left = f.op("sub", "i64", extent, first)
            whole = f.op("and", "i64", lanes, -LANES)

            def blocks() -> list[str]:
                with f.loop(0, whole, LANES, hint="across") as across:
                    self._block(index, first, across.index)
                self._rest(index, first, f.op("add", "i64", first, LANES), whole, lanes)
                return []

            def rows() -> list[str]:
                self._rest(index, first, extent, 0, lanes)
                return []

            f.either(f.icmp("sge", "i64", left, LANES), blocks, rows)
        return "rows"

    def _position(self, number: str, extent: Value) -> tuple[dict[int, Value], str]:
        """Positions along the other outer axes, and the first one along the turned axis."""
        f = self.f
        count = f.op("udiv", "i64", self.sum(extent, LANES - 1), LANES)
        first = f.op("mul", "i64", f.op("urem", "i64", number, count), LANES)
        rest: Value = f.op("udiv", "i64", number, count)
        found: dict[int, Value] = {}
        for axis in reversed(self.others):
            size = self.scalar(self.nest.extents[axis])
            last = axis == self.others[0]
            found[axis] = rest if last else f.op("urem", "i64", rest, size)
            rest = rest if last else f.op("udiv", "i64", rest, size)
        return found, first

    def _rest(self, index: dict[int, Value], first: Value, last: Value, low: Value, high: Value) -> None:
        """Some rows, from lane ``low`` on, the ordinary way."""
        with self.f.loop(first, last, 1, hint="row") as row:
            self._run(Scope({}, {**index, self.axis: row.index}, [Place(0, None)]), (low, high))

    def _block(self, index: dict[int, Value], first: str, lane: str) -> None:
        """16 positions along the turned axis by 16 lanes."""
        (current,) = self.stages.passes
        turned = {
            id(t): self._turn(t, index, first, lane) for t in current.terms if isinstance(t, Load) and is_turned(t, self.axis)
        }
        for j in range(LANES):
            scope = Scope({}, {**index, self.axis: self.sum(first, j)}, [Place(lane, None)])
            for key, vectors in turned.items():
                scope.memo[key, 0] = vectors[j]
            for term in self._borders(current):
                self.value(term, 0, scope)
            self._evaluate(current, scope)
            self._finish(current, scope)
            for store in self.stages.outside_stores:
                self._store(store, 0, scope)

    def _turn(self, load: Load, index: dict[int, Value], first: str, lane: str) -> list[Vector]:
        """The vectors of a turned load for 16 positions: loaded along the turned axis, then transposed."""
        b = self.vectors(load.dtype)
        vectors = []
        for j in range(LANES):
            scope = Scope({}, {**index, self.axis: first}, [])
            pointer, _ = self._address(load.access, scope, Place(self.sum(lane, j), None))
            vectors.append(b.load(load.dtype, pointer))
        return transposed(b, vectors)


def transposed(b: Vectors, vectors: list[Vector]) -> list[Vector]:
    """16 vectors of 16 lanes with lanes and vectors exchanged, by exchanging halves of halves."""
    step = LANES // 2
    while step:
        low = [lane if not lane & step else LANES + lane - step for lane in range(LANES)]
        high = [lane + step if not lane & step else LANES + lane for lane in range(LANES)]
        following = list(vectors)
        for i in range(LANES):
            if not i & step:
                following[i] = b.shuffle(vectors[i], low, vectors[i + step])
                following[i + step] = b.shuffle(vectors[i], high, vectors[i + step])
        vectors = following
        step //= 2
    return vectors
