"""A nest as one LLVM function: ``internal void nest_N(ptr…, i64…, i64 first, i64 last)``.

``first`` and ``last`` select what this call does: rows (all outer axes flattened), or lanes when there is no outer axis. Pointers and
run-time scalars are parameters, so that equal nests share one function. Row nests walk ``for row: for pass: for lanes``; a nest that
reduces another axis than the last walks ``for row: for a few vectors of lanes: for pass: for index``. Every loop over lanes is
written twice: whole groups of vectors without masks, and the rest one masked vector at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Union

import numpy as np

from pypto.cpu.nests import Access, Apply, Constant, Gather, Index, Load, Nest, Reduce, Scan, Store, Term
from pypto.cpu.stages import Pass, Stages, stages_of
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module
from pypto.cpu.vectors import LANES, Tail, Vector, Vectors, compute_type, stored_element
from pypto.cpu.views import Buffer, product, same
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar, kind_of

_D = DataType
Value = Union[str, int]
SCALAR_TYPES = {"int": "i64", "float": "double", "bool": "i1"}
_STACK_ROW_BYTES = 32 * 1024  # row buffers above this come from the caller
_INSTRUCTION = 0.25  # nanoseconds of a vector instruction with its share of memory traffic, 3 GHz
_UNROLL_COSTS = ((24, 4), (90, 2))


class Pointer(NamedTuple):
    """A pointer parameter: the element ``offset`` of ``buffer``, counted in ``dtype``."""

    buffer: Buffer
    dtype: DataType
    offset: Scalar


@dataclass
class NestCode:
    """A written nest: what the caller passes, and how its work may be divided."""

    function: str
    pointers: list[Pointer]
    scalars: list[Expression]
    split: str  # "rows": by the flattened outer axes; "lanes": in multiples of 64; "": not at all
    total: Scalar  # how many rows or lanes there are
    bound: Scalar  # the same from the allocated extents
    row_bytes: Scalar  # scratch the caller must provide (0: none)
    nest: Nest
    cost: int  # instructions per vector of 16 elements

    @property
    def nanoseconds(self) -> float:
        """Estimated time of one unit (row or lane)."""
        inner = product([s for a, s in enumerate(self.nest.sizes)])
        if isinstance(inner, Expression) or isinstance(self.bound, Expression):
            return self.cost * _INSTRUCTION
        return int(inner) / max(1, int(self.bound)) / LANES * self.cost * _INSTRUCTION


class Place(NamedTuple):
    """One vector's position along the lanes; ``tail`` when only part of it exists."""

    lane: Value
    tail: Tail | None


Memo = dict[tuple[int, int], Vector]


@dataclass
class Scope:
    """Values known at some depth of the loops, by term and vector number; ``index`` maps axes to positions."""

    memo: Memo
    index: dict[int, Value]
    places: Sequence[Place]
    bases: dict[int, str] = field(default_factory=dict)
    running: dict[int, RunningSum] = field(default_factory=dict)


class NestEmitter:
    """``tile``: a rank-2 nest without reduction also takes a range of lanes, ``i64 low, i64 high``."""

    def __init__(
        self, module: Module, target: Target, nest: Nest, name: str, streaming: bool = False, tile: bool = False
    ) -> None:
        self.tile = tile
        self.nest = nest
        self.target = target
        self.stages: Stages = stages_of(nest)
        self.pointers: list[Pointer] = []
        self.scalars: list[Expression] = []
        self.streaming = streaming
        self.f = Function(module, "", name, [])
        self.lanes_axis = nest.rank - 1
        self.inner = self.stages.inner
        self.by_rows = self.inner == self.lanes_axis  # reduced along the lanes, or not at all
        self.outer = [a for a in range(nest.rank) if a not in (self.inner, self.lanes_axis)]
        self.constants: dict[int, Vector] = {}
        self.row_buffers: dict[int, str] = {}

    # -- parameters ------------------------------------------------------------------------------------------------------------

    def pointer(self, access: Access) -> str:
        for number, known in enumerate(self.pointers):
            if known.buffer is access.buffer and same(known.offset, access.offset) and known.dtype is access.dtype:
                return f"%p{number}"
        self.pointers.append(Pointer(access.buffer, access.dtype, access.offset))
        return f"%p{len(self.pointers) - 1}"

    def scalar(self, value: Scalar) -> Value:
        """An integer operand: a number as it is, an expression as a parameter."""
        if not isinstance(value, Expression):
            return int(value)
        for number, known in enumerate(self.scalars):
            if known is value:
                return f"%s{number}"
        self.scalars.append(value)
        return f"%s{len(self.scalars) - 1}"

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
        from pypto.ir.symbols import add, mul

        size = self.nest.sizes[self.lanes_axis]
        step: Scalar = mul(add(size, LANES * 4), max(compute_type(t.dtype).size for t in saved))
        total = mul(step, len(saved))
        if not isinstance(total, Expression) and total <= _STACK_ROW_BYTES:
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

    def _constant(self, term: Constant) -> Vector:
        b = self.vectors(term.dtype)
        if not isinstance(term.value, Expression):
            return b.constant(rounded_number(term.value, term.dtype), term.dtype)
        kind = kind_of(term.value)
        given = {"int": _D.DT_INT64, "float": _D.DT_DOUBLE, "bool": _D.DT_BOOL}[kind]
        return b.convert(b.splat(str(self.scalar(term.value)), given), term.dtype)

    def vectors(self, dtype: DataType) -> Vectors:
        return Vectors(self.f, self.target, compute_type(dtype))

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
        for places in self.lane_groups(low, high, 4 if self._largest_cost() <= _UNROLL_COSTS[1][0] else 2):
            with places as group:
                self._run(Scope({}, index, group.places))

    def _largest_cost(self) -> int:
        return max((p.cost for p in self.stages.passes), default=1)

    def unroll(self, current: Pass) -> int:
        wanted = next((u for limit, u in _UNROLL_COSTS if current.cost <= limit), 1)
        size = self.nest.sizes[self.lanes_axis]
        vectors = wanted if isinstance(size, Expression) else max(1, int(size) // LANES)
        return min(wanted, 1 << (vectors.bit_length() - 1))

    # -- loops over lanes ------------------------------------------------------------------------------------------------------

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

    # -- one row (or one group of lanes) ----------------------------------------------------------------------------------------

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
        totals = [Accumulator(self, r, vectors) for r in current.reductions]
        running = {id(t): RunningSum(self, t, vectors) for t in current.terms if isinstance(t, Scan)}
        carriers: list[Accumulator | RunningSum] = [*running.values(), *totals]
        parts = [part for carrier in carriers for part in carrier.parts]
        carried = [(p.type, p.name) for p in parts]
        with self.f.loop(0, self.scalar(self.nest.extents[self.inner]), carried=carried, hint="reduce") as loop:
            inner = Scope(dict(scope.memo), {**scope.index, self.inner: loop.index}, scope.places, bases, running)
            fresh = [p._replace(name=n) for p, n in zip(parts, loop.carried, strict=True)]
            for carrier in carriers:
                carrier.parts = [fresh.pop(0) for _ in carrier.parts]
            self._evaluate(current, inner)
            for total in totals:
                for u in range(vectors):
                    total.take(u, self.value(total.term.operand, u, inner), None, lambda: self._splat_index(loop.index))
            self._finish(current, inner)
            loop.next = [part.name for carrier in carriers for part in carrier.parts]
        after = [p._replace(name=n) for p, n in zip(parts, loop.results, strict=True)]
        del after[: sum(len(r.parts) for r in running.values())]
        for total in totals:
            for u, result in enumerate(total.per_lane([after.pop(0) for _ in total.parts])):
                scope.memo[id(total.term), u] = result

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
            for u in range(len(inner.places)):
                self._store(store, u, inner)

    def _saved_at(self, term: Term, place: Place) -> str:
        return self.f.gep(stored_element(compute_type(term.dtype)), self.row_buffers[id(term)], place.lane)

    def value(self, term: Term, u: int, scope: Scope) -> Vector:
        """The term as operands see it: rounded to its type."""
        if isinstance(term, Constant):
            return self.constants[id(term)]
        u = u if self.lanes_axis in term.axes else 0
        key = (id(term), u)
        found = scope.memo.get(key)
        if found is None:
            found = self._compute(term, u, scope)
            found = self.vectors(term.dtype).rounded(found, term.dtype) if isinstance(term, (Apply, Scan)) else found
            scope.memo[key] = found
        return found

    def _compute(self, term: Term, u: int, scope: Scope) -> Vector:
        b = self.vectors(term.dtype)
        if isinstance(term, Load):
            pointer, stride = self._address(term.access, scope, scope.places[u])
            return b.load_strided(term.dtype, pointer, stride, scope.places[u].tail)
        if isinstance(term, Index):
            return self._index(term, scope, scope.places[u])
        if isinstance(term, Gather):
            return self._gather(term, u, scope)
        if isinstance(term, Scan):
            return scope.running[id(term)].following(u, self.value(term.operand, u, scope))
        assert isinstance(term, Apply), term
        operands = [self.value(t, u, scope) for t in term.arguments]
        first = term.arguments[0].dtype if term.arguments else term.dtype
        made = term.lower(self.vectors(first), *operands, **term.attributes)
        kind = compute_type(term.dtype)
        return made if made.dtype is kind else b.convert(made, kind)

    def _index(self, term: Index, scope: Scope, place: Place) -> Vector:
        b = self.vectors(term.dtype)
        element = f"i{term.dtype.bits}"
        position: Value = place.lane if term.axis == self.lanes_axis else scope.index[term.axis]
        if not isinstance(position, int) and element != "i64":
            position = self.f.cast("trunc", "i64", position, element)
        if term.axis == self.lanes_axis:
            return b.iota(position, term.dtype)
        return b.splat(str(position), term.dtype)

    def _gather(self, term: Gather, u: int, scope: Scope) -> Vector:
        """One row at a computed place, or every lane from its own place."""
        b, place, access = self.vectors(term.dtype), scope.places[u], term.access
        pointer, lane_stride = self._address(access, scope, place)
        index = b.convert(self.value(term.index, u, scope), _D.DT_INT64)
        step = self.scalar(term.stride)
        if self.lanes_axis not in term.index.axes:
            offset = self.product(b.extract(index), step)
            return b.load_strided(term.dtype, self.f.gep(stored_element(term.dtype), pointer, offset), lane_stride, place.tail)
        places = index if step == 1 else b.mul(index, self._wide(b, step))
        if lane_stride != 0:
            places = b.add(places, b.mul(b.iota(), self._wide(b, lane_stride)))
        return b.gather(term.dtype, pointer, places, place.tail)

    @staticmethod
    def _wide(b: Vectors, value: Value) -> Vector:
        return b.constant(value, _D.DT_INT64) if isinstance(value, int) else b.splat(value, _D.DT_INT64)

    def _store(self, store: Store, u: int, scope: Scope) -> None:
        dtype = store.access.dtype
        b = self.vectors(dtype)
        vector = self.value(store.term, u, scope)
        if self.lanes_axis not in store.axes:
            pointer, _ = self._address(store.access, scope, Place(0, None))
            element = stored_element(dtype)
            self.f.store(element, b_extract(b, b.narrow(vector, dtype), element), pointer, dtype.size)
            return
        pointer, stride = self._address(store.access, scope, scope.places[u])
        tail = scope.places[u].tail
        if stride == 1 and self.streaming and tail is None:
            b.store(dtype, vector, pointer, align=min(64, LANES * dtype.size), streaming=True)
        else:
            b.store_strided(dtype, vector, pointer, stride, tail)

    # -- addresses -------------------------------------------------------------------------------------------------------------

    def _row_pointers(self, current: Pass, scope: Scope) -> dict[int, str]:
        """Pointers of this pass's accesses at the start of the row, computed once before the loop."""
        accesses = [t.access for t in current.terms if isinstance(t, (Load, Gather))] + [s.access for s in current.stores]
        return {id(a): self._base(a, scope) for a in accesses}

    def _base(self, access: Access, scope: Scope) -> str:
        pointer = self.pointer(access)
        place: Value = 0
        for axis, position in scope.index.items():
            if axis != self.inner or not self.by_rows:
                place = self.sum(place, self.product(position, self.scalar(access.strides[axis])))
        return self.f.gep(stored_element(access.dtype), pointer, place)

    def _address(self, access: Access, scope: Scope, place: Place) -> tuple[str, Value]:
        """Pointer to the vector at ``place``, and the stride between its lanes."""
        base = scope.bases.get(id(access))
        if base is None:
            base = self._base(access, scope)
        elif not self.by_rows and self.inner is not None:
            step = self.product(scope.index[self.inner], self.scalar(access.strides[self.inner]))
            base = self.f.gep(stored_element(access.dtype), base, step)
        if self.nest.rank == 0:
            return base, 0
        stride = self.scalar(access.strides[self.lanes_axis])
        return self.f.gep(stored_element(access.dtype), base, self.product(place.lane, stride)), stride

    def product(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 0 in (a, b):
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self.f.op("mul", "i64", a, b)

    def sum(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.f.op("add", "i64", a, b)


def b_extract(b: Vectors, stored: str, element: str) -> str:
    return b.function.define(f"extractelement <{LANES} x {element}> {stored}, i64 0")


def rounded_number(value: Scalar, dtype: DataType) -> float | int:
    """A literal as its element type holds it."""
    if compute_type(dtype) is dtype or not dtype.is_float:
        return value  # type: ignore[return-value]
    return float(np.asarray(value, dtype.numpy))


class LaneLoop:
    """A loop over lanes, entered with ``with``; yields itself with ``places`` and carried vectors."""

    def __init__(self, emitter: NestEmitter, low: Value, high: Value, unroll: int, end: Value | None) -> None:
        self.emitter = emitter
        self.bounds = (low, high)
        self.unroll = unroll
        self.end = end  # not None: single vectors, the last one cut off here
        self.places: list[Place] = []
        self.carried: list[Vector] = []
        self.next: Sequence[Vector] = ()
        self.results: list[Vector] = []

    def __enter__(self) -> LaneLoop:
        self._context = self.carrying([])
        return self._context.__enter__()

    def __exit__(self, *details: object) -> None:
        self._context.__exit__(*details)  # type: ignore[arg-type]

    @contextmanager
    def carrying(self, parts: Sequence[Vector]) -> Iterator[LaneLoop]:
        f = self.emitter.f
        low, high = self.bounds
        if isinstance(low, int) and isinstance(high, int) and high - low <= self.unroll * LANES:
            yield from self._once(low, parts)
            return
        with f.loop(low, high, self.unroll * LANES, [(p.type, p.name) for p in parts], hint="lanes") as loop:
            self.places = self._places(loop.index)
            self.carried = [p._replace(name=n) for p, n in zip(parts, loop.carried, strict=True)]
            yield self
            loop.next = [p.name for p in self.next]
        self.results = [p._replace(name=n) for p, n in zip(parts, loop.results, strict=True)]

    def _once(self, low: int, parts: Sequence[Vector]) -> Iterator[LaneLoop]:
        self.places = self._places(low)
        self.carried = list(parts)
        yield self
        self.results = list(self.next)

    def _places(self, lane: Value) -> list[Place]:
        emitter = self.emitter
        if self.end is None:
            return [Place(emitter.sum(lane, u * LANES), None) for u in range(self.unroll)]
        b = emitter.vectors(_D.DT_FP32)
        if isinstance(lane, int) and isinstance(self.end, int):
            rest = self.end - lane
            return [Place(lane, None if rest >= LANES else b.tail(rest))]
        left = emitter.f.op("sub", "i64", self.end, lane)
        count = emitter.f.intrinsic("i64", "llvm.smin.i64", ("i64", left), ("i64", LANES))
        return [Place(lane, b.tail(count))]


class Accumulator:
    """A running reduction: one vector (two for argmax) per unrolled position, joined in a fixed order at the end."""

    def __init__(self, emitter: NestEmitter, term: Reduce, count: int) -> None:
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
                both = [self.b.combine_argument(self.combine, values[i], places[i], values[i + count], places[i + count]) for i in pairs]
                values, places = [v for v, _ in both], [p for _, p in both]
            else:
                values = [self.b.combine(self.combine, values[i], values[i + count]) for i in pairs]
        dtype = self.term.dtype
        if self.argument:
            return self.b.convert(self.b.splat(self.b.reduce_argument(self.combine, values[0], places[0])[1], _D.DT_INT32), dtype)
        return self.b.rounded(self.b.splat(self.b.reduce(self.combine, values[0]), self.kind), dtype)

    def per_lane(self, parts: list[Vector]) -> list[Vector]:
        if self.argument:
            return [self.b.convert(p, self.term.dtype) for p in parts[self.count :]]
        return [self.b.rounded(p, self.term.dtype) for p in parts]


class RunningSum:
    """Partial sums carried from index to index (``count`` vectors side by side), or along the lanes of one row (``count`` 1)."""

    def __init__(self, emitter: NestEmitter, term: Scan, count: int) -> None:
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
