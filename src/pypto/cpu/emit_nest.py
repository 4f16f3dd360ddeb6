"""A nest as one LLVM function: ``internal void nest_N(ptr…, i64…, i64 first, i64 last)``.

``first`` and ``last`` select what this call does: rows (all outer axes flattened), or lanes when there is no outer axis. Pointers and
run-time scalars are parameters, so that equal nests share one function. Row nests walk ``for row: for pass: for lanes``; a nest that
reduces another axis than the last walks ``for row: for a few vectors of lanes: for pass: for index``. Every loop over lanes is
written twice: whole groups of vectors without masks, and the rest one masked vector at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.cpu.nest_terms import TermWriter, writes_pairs
from pypto.cpu.nests import Constant, Nest, Scan, Term
from pypto.cpu.nests_zeros import signless
from pypto.cpu.places import LaneLoop, NestCode, Place, Scope, Value
from pypto.cpu.running import Accumulator, RunningSum, WatchedExtreme
from pypto.cpu.stages import Pass
from pypto.cpu.target import Target
from pypto.cpu.text import Module
from pypto.cpu.vectors import LANES, Vector, compute_type, stored_element
from pypto.cpu.views import product
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar, add, kind_of, mul

_D = DataType
SCALAR_TYPES = {"int": "i64", "float": "double", "bool": "i1"}
_STACK_ROW_BYTES = 32 * 1024  # row buffers above this come from the caller
_UNROLL_COSTS = ((24, 4), (90, 2))


class NestEmitter(TermWriter):
    """``tile``: a rank-2 nest without reduction also takes a range of lanes, ``i64 low, i64 high``; ``streaming``: stores bypass caches."""

    def __init__(
        self,
        module: Module,
        target: Target,
        nest: Nest,
        name: str,
        streaming: bool = False,
        tile: bool = False,
        watched: bool = False,
    ) -> None:
        super().__init__(module, target, nest, name, watched)
        self.streaming = streaming
        self.tile = tile
        if watched:
            self.signless = signless(nest)

    def header(self) -> str:
        parameters = [f"ptr %p{i}" for i in range(len(self.pointers))]
        parameters += [f"{SCALAR_TYPES[kind_of(s)]} %s{i}" for i, s in enumerate(self.scalars)]
        parameters += ["i64 %first", "i64 %last"] + (["i64 %low", "i64 %high"] if self.tile else [])
        parameters += ["ptr %rows"] if self.row_bytes else []
        return f"define internal void @{self.f.name}({', '.join(parameters)}) noinline #0"

    # -- the function ----------------------------------------------------------------------------------------------------------

    def emit(self) -> NestCode:
        self._reserve_row_buffers()
        self._emit_constants()
        split = self._emit_loops()
        if self.streaming:
            self.f.intrinsic("void", "llvm.x86.sse.sfence")
        self.f.ret()
        self.f.header = self.header()
        cost = sum(p.cost for p in self.stages.passes) or 1
        axes = {"rows": self.outer, "lanes": [self.lanes_axis], "": []}[split]
        total, bound = (product([sizes[a] for a in axes]) for sizes in (self.nest.extents, self.nest.sizes))
        return NestCode(self.f.name, self.pointers, self.scalars, split, total, bound, self.row_bytes, self.nest, cost)

    def _reserve_row_buffers(self) -> None:
        self.row_bytes: Scalar = 0
        saved = self.stages.saved if self.by_rows else []
        if not saved:
            return
        size = self.nest.sizes[self.lanes_axis]
        step: Scalar = mul(add(size, LANES * 4), max(compute_type(t.dtype).size for t in saved))
        total = mul(step, len(saved))
        if not isinstance(total, Expression) and not isinstance(step, Expression) and total <= _STACK_ROW_BYTES:
            for term in saved:
                self.row_buffers[id(term)] = self.f.scratch("i8", int(step))
            return
        self.row_bytes = total
        stride = self.scalar(step)
        for number, term in enumerate(saved):
            self.row_buffers[id(term)] = self.f.gep("i8", "%rows", self.product(stride, number))

    def _emit_constants(self) -> None:
        for term in self.nest.needed():
            if isinstance(term, Constant):
                self.constants[id(term)] = self._constant(term)

    def _emit_loops(self) -> str:
        """Open the outer loops; returns how callers may divide the work."""
        if self.nest.rank == 0:
            self._run(Scope({}, {}, [Place(0, None)]))
            return ""
        if self.tile:
            with self.f.loop("%first", "%last", hint="row") as row:
                self._row({0: row.index}, "%low", "%high")
            return "rows"
        if self.outer:
            with self.f.loop("%first", "%last", hint="row") as row:
                self._row(self._outer_indices(row.index), 0, self.scalar(self.nest.extents[self.lanes_axis]))
            return "rows"
        if self.by_rows and self.nest.reduced is not None:
            self._row({}, 0, self.scalar(self.nest.extents[self.lanes_axis]))
            return ""
        self._row({}, "%first", "%last")
        return "lanes"

    def _outer_indices(self, row: str) -> dict[int, Value]:
        """Positions along the outer axes from the flattened row number."""
        found: dict[int, Value] = {}
        rest: Value = row
        for axis in reversed(self.outer[1:]):
            extent = self.scalar(self.nest.extents[axis])
            found[axis] = self.f.op("urem", "i64", rest, extent)
            rest = self.f.op("udiv", "i64", rest, extent)
        found[self.outer[0]] = rest
        return found

    def _row(self, index: dict[int, Value], low: Value, high: Value) -> None:
        if self.by_rows:
            self._run(Scope({}, index, [Place(0, None)]), (low, high))
            return
        pairs = any(writes_pairs(store) for current in self.stages.passes for store in current.stores)
        wanted = 4 if self._largest_cost() <= _UNROLL_COSTS[1][0] and not pairs else 2
        for places in self.lane_groups(low, high, self._at_most(wanted)):
            with places as group:
                self._run(Scope({}, index, group.places))

    def _largest_cost(self) -> int:
        return max((p.cost for p in self.stages.passes), default=1)

    def unroll(self, current: Pass) -> int:
        wanted = next((u for limit, u in _UNROLL_COSTS if current.cost <= limit), 1)
        return self._at_most(max(2, wanted) if self.f.facts.watched else wanted)

    def _at_most(self, wanted: int) -> int:
        """``wanted`` vectors, or fewer where the lanes are fewer."""
        size = self.nest.sizes[self.lanes_axis]
        vectors = wanted if isinstance(size, Expression) else max(1, int(size) // LANES)
        return min(wanted, 1 << (vectors.bit_length() - 1))

    def lane_groups(self, low: Value, high: Value, unroll: int) -> list[LaneLoop]:
        """The loop over whole groups of ``unroll`` vectors, then the one over single, possibly partial ones."""
        step = unroll * LANES
        if isinstance(low, int) and isinstance(high, int):
            middle: Value = low + (high - low) // step * step
            loops = [LaneLoop(self, low, middle, unroll, None)] if middle > low else []  # type: ignore[operator]
            return loops + ([LaneLoop(self, middle, high, 1, high)] if middle < high else [])  # type: ignore[operator]
        count = self.f.op("sub", "i64", high, low)
        middle = self.f.op("add", "i64", low, self.f.op("and", "i64", count, -step))
        return [LaneLoop(self, low, middle, unroll, None), LaneLoop(self, middle, high, 1, high)]

    # -- one row (or one group of lanes) ---------------------------------------------------------------------------------------

    def _run(self, scope: Scope, lanes: tuple[Value, Value] = (0, 0)) -> None:
        for current in self.stages.passes:
            for term in self._borders(current):
                for u in range(len(scope.places)):
                    self.value(term, u, scope)
            if self.by_rows:
                self._row_pass(current, scope, *lanes)
            else:
                self._column_pass(current, scope)
        outside = [
            (store, u)
            for store in self.stages.outside_stores
            for u in (range(len(scope.places)) if self.lanes_axis in store.axes else (0,))
        ]
        for store, u in outside:  # everything is read before anything is written
            self.value(store.term, u, scope)
        for store, u in outside:
            self._store(store, u, scope)

    def _borders(self, current: Pass) -> list[Term]:
        """Terms outside the inner loop that this pass needs."""
        inside = {id(t) for t in current.terms}
        found: dict[int, Term] = {}
        users = [o for t in current.terms for o in t.operands]
        users += [r.operand for r in current.reductions] + [s.term for s in current.stores]
        for term in users:
            if id(term) not in inside and self.inner not in term.axes and not isinstance(term, Constant):
                found[id(term)] = term
        return list(found.values())

    def _row_pass(self, current: Pass, scope: Scope, low: Value, high: Value) -> None:
        unroll = self.unroll(current)
        bases = self._row_pointers(current, scope)
        totals = [Accumulator(self, r, unroll) for r in current.reductions]
        running = {id(t): RunningSum(self, t, 1) for t in current.terms if isinstance(t, Scan)}
        carriers: list[Accumulator | RunningSum] = [*running.values(), *totals]
        for loop in self.lane_groups(low, high, unroll):
            parts = [part for carrier in carriers for part in carrier.parts]
            with loop.carrying(parts) as group:
                inner = Scope(dict(scope.memo), scope.index, group.places, bases, running)
                fresh = group.carried
                for carrier in carriers:
                    carrier.parts = [fresh.pop(0) for _ in carrier.parts]
                self._restore(current, inner)
                self._evaluate(current, inner)
                for total in totals:
                    for u, place in enumerate(group.places):
                        total.take(u, self.value(total.term.operand, u, inner), place.tail, self.places_of(place, scope))
                self._finish(current, inner)
                group.next = [part for carrier in carriers for part in carrier.parts]
            after = list(group.results)
            for carrier in carriers:
                carrier.parts = [after.pop(0) for _ in carrier.parts]
        for total in totals:
            scope.memo[id(total.term), 0] = total.across_lanes()

    def places_of(self, place: Place, scope: Scope) -> Callable[[], Vector]:
        """Positions along the lanes as int32, for argmax."""

        def make() -> Vector:
            b = self.vectors(_D.DT_INT32)
            if isinstance(place.lane, int):
                return b.iota(place.lane, _D.DT_INT32)
            return b.iota(self.f.cast("trunc", "i64", place.lane, "i32"), _D.DT_INT32)

        return make

    def _column_pass(self, current: Pass, scope: Scope) -> None:
        assert self.inner is not None
        vectors = len(scope.places)
        bases = self._row_pointers(current, scope)
        watched = [WatchedExtreme(self, r, vectors) for r in current.reductions] if self._watches(current) else []
        totals = [] if watched else [Accumulator(self, r, vectors) for r in current.reductions]
        running = {id(t): RunningSum(self, t, vectors) for t in current.terms if isinstance(t, Scan)}
        carriers: list[Accumulator | RunningSum | WatchedExtreme] = [*running.values(), *totals, *watched]
        parts = [part for carrier in carriers for part in carrier.parts]
        carried = [(p.type, p.name) for p in parts]
        pairs = [store for store in current.stores if writes_pairs(store)]
        together = 2 if pairs or watched else 1
        with self.f.loop(0, self.scalar(self.nest.extents[self.inner]), together, carried=carried, hint="reduce") as loop:
            fresh = [p._replace(name=n) for p, n in zip(parts, loop.carried, strict=True)]
            for carrier in carriers:
                carrier.parts = [fresh.pop(0) for _ in carrier.parts]
            indices = [self.sum(loop.index, step) for step in range(together)]
            scopes = [Scope(dict(scope.memo), {**scope.index, self.inner: i}, scope.places, bases, running) for i in indices]
            for inner in scopes:
                self._column(current, inner, totals)
            for u in range(vectors):
                for one in watched:
                    one.take_two(u, *(self.value(one.term.operand, u, inner) for inner in scopes))
                for store in pairs:
                    self.store_pair(store, u, scopes)
            loop.next = [part.name for carrier in carriers for part in carrier.parts]
        after = [p._replace(name=n) for p, n in zip(parts, loop.results, strict=True)]
        del after[: sum(len(r.parts) for r in running.values())]
        found: list[Accumulator | WatchedExtreme] = [*totals, *watched]
        for total in found:
            for u, result in enumerate(total.per_lane([after.pop(0) for _ in total.parts])):
                scope.memo[id(total.term), u] = result

    def _watches(self, current: Pass) -> bool:
        """Whether a pass only looks for largest and smallest numbers, down an even column, where masks are cheap."""
        extent = self.nest.extents[self.inner] if self.inner is not None else 0
        extremes = all(r.combine in ("max", "min") and r.operand.dtype is _D.DT_FP32 for r in current.reductions)
        plain = (
            extremes and bool(current.reductions) and not current.stores and not any(isinstance(t, Scan) for t in current.terms)
        )
        return plain and self.target.isa == "avx512" and not isinstance(extent, Expression) and int(extent) % 2 == 0

    def _column(self, current: Pass, inner: Scope, totals: list[Accumulator]) -> None:
        """One position along the inner axis, for all vectors side by side."""
        assert self.inner is not None
        index = str(inner.index[self.inner])
        self._evaluate(current, inner)
        for total in totals:
            for u in range(len(inner.places)):
                total.take(u, self.value(total.term.operand, u, inner), None, lambda: self._splat_index(index))
        self._finish(current, inner)

    def _splat_index(self, index: str) -> Vector:
        b = self.vectors(_D.DT_INT32)
        return b.splat(self.f.cast("trunc", "i64", index, "i32"), _D.DT_INT32)

    # -- one position ----------------------------------------------------------------------------------------------------------

    def _evaluate(self, current: Pass, inner: Scope) -> None:
        for term in current.terms:
            for u in range(len(inner.places)):
                self.value(term, u, inner)

    def _restore(self, current: Pass, inner: Scope) -> None:
        for term in current.restored:
            for u, place in enumerate(inner.places):
                inner.memo[id(term), u] = self.vectors(term.dtype).load(compute_type(term.dtype), self._saved_at(term, place))

    def _finish(self, current: Pass, inner: Scope) -> None:
        for term in current.saved:
            for u, place in enumerate(inner.places):
                kind = compute_type(term.dtype)
                self.vectors(kind).store(kind, self.value(term, u, inner), self._saved_at(term, place))
        for store in current.stores:
            if not writes_pairs(store):
                for u in range(len(inner.places)):
                    self._store(store, u, inner)

    def _saved_at(self, term: Term, place: Place) -> str:
        return self.f.gep(stored_element(compute_type(term.dtype)), self.row_buffers[id(term)], place.lane)
