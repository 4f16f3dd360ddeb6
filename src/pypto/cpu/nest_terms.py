"""Terms of a nest as vector code: loads, arithmetic, positions, gathers, stores, and their addresses.

Pointers and run-time scalars become parameters when they are first used.
"""

from __future__ import annotations

import numpy as np

from pypto.cpu.nests import Access, Apply, Constant, Gather, Index, Load, Nest, Reduce, Scan, Store, Term
from pypto.cpu.places import Place, Pointer, Scope, Value
from pypto.cpu.stages import Pass, Stages, stages_of
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module
from pypto.cpu.vector_facts import Facts
from pypto.cpu.vectors import LANES, Vector, Vectors, compute_type, stored_element
from pypto.cpu.views import same
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar, kind_of, mul

_D = DataType
CACHE_LINE = 64
PREFETCH_BYTES = 2048  # 1, 2 and 4 KiB measure the same within 4 % (bench/RESULTS.md)


class TermWriter:
    """What is known while one nest is written. ``outer``: the axes around the inner one and the lanes."""

    def __init__(self, module: Module, target: Target, nest: Nest, name: str, watched: bool = False) -> None:
        self.nest = nest
        self.target = target
        self.stages: Stages = stages_of(nest)
        self.pointers: list[Pointer] = []
        self.scalars: list[Expression] = []
        self.f = Function(module, "", name, [])
        self.lanes_axis = nest.rank - 1
        self.inner = self.stages.inner
        self.by_rows = self.inner == self.lanes_axis  # reduced along the lanes, or not at all
        self.outer = [a for a in range(nest.rank) if a not in (self.inner, self.lanes_axis)]
        self.constants: dict[int, Vector] = {}
        self.row_buffers: dict[int, str] = {}
        self.streaming = False
        self.signless: set[int] = set()
        self.f.facts = Facts(watched=watched)

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

    def vectors(self, dtype: DataType) -> Vectors:
        return Vectors(self.f, self.target, compute_type(dtype))

    def _constant(self, term: Constant) -> Vector:
        b = self.vectors(term.dtype)
        if not isinstance(term.value, Expression):
            return b.constant(rounded_number(term.value, term.dtype), term.dtype)
        kind = kind_of(term.value)
        given = {"int": _D.DT_INT64, "float": _D.DT_DOUBLE, "bool": _D.DT_BOOL}[kind]
        return b.convert(b.splat(str(self.scalar(term.value)), given), term.dtype)

    # -- terms -----------------------------------------------------------------------------------------------------------------

    def value(self, term: Term, u: int, scope: Scope) -> Vector:
        """The term as operands see it: rounded to its type."""
        if isinstance(term, Constant):
            return self.constants[id(term)]
        u = u if self.lanes_axis in term.axes else 0
        key = (id(term), u)
        found = scope.memo.get(key)
        if found is None:
            found = self._compute(term, u, scope)
            self.f.facts.signless = id(term) in self.signless
            found = self.vectors(term.dtype).rounded(found, term.dtype) if isinstance(term, (Apply, Scan)) else found
            self.f.facts.signless = False
            scope.memo[key] = found
        return found

    def _compute(self, term: Term, u: int, scope: Scope) -> Vector:
        b = self.vectors(term.dtype)
        if isinstance(term, Load):
            pointer, stride = self._address(term.access, scope, scope.places[u])
            self._prefetch(term, u, pointer, stride)
            if self._joins(term.access, u, scope):
                return self._half_load(term, u, scope)
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
        made = made if made.dtype is kind else b.convert(made, kind)
        if below_its_maximum(term):
            b.facts.not_positive.add(made.name)
        return made

    def _joins(self, access: Access, u: int, scope: Scope) -> bool:
        """Whether vector ``u`` and its neighbour are 32 bf16 numbers side by side, for the instructions that take them together."""
        if not (self.f.facts.watched and self.by_rows and u | 1 < len(scope.places) and access.dtype is _D.DT_BF16):
            return False
        whole = scope.places[u].tail is None and self.scalar(access.strides[self.lanes_axis]) == 1
        return whole and self.target.has("avx512bf16", "avx512vbmi")

    def _prefetch(self, term: Load, u: int, pointer: str, stride: Value) -> None:
        """Ask for what a large nest will read soon: arithmetic this dense keeps too few loads in flight to hide memory."""
        whole = self.streaming and stride == 1 and len(term.axes) == self.nest.rank
        if whole and u * LANES * term.dtype.size % CACHE_LINE == 0:
            ahead = self.f.gep("i8", pointer, PREFETCH_BYTES)
            self.f.intrinsic("void", "llvm.prefetch.p0", ("ptr", ahead), ("i32", "0"), ("i32", "3"), ("i32", "1"))

    def _half_load(self, term: Load, u: int, scope: Scope) -> Vector:
        """Half of 64 bytes, one instruction a vector (``vpmovzxwd`` and a shift are two). Equal loads become one."""
        b = self.vectors(term.dtype)
        pointer, _ = self._address(term.access, scope, scope.places[u & ~1])
        return b.spread(self.f.load("<64 x i8>", pointer, term.dtype.size), u & 1)

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
        if stride == 1 and self._converts(store):
            if not self._joins(store.access, u, scope):
                self._store_converted(store, u, scope, pointer)
            elif u & 1:
                self._store_joined(store, u, scope)
            return
        if stride == 1 and self.streaming and tail is None:
            b.store(dtype, vector, pointer, align=min(64, LANES * dtype.size), streaming=True)
        else:
            b.store_strided(dtype, vector, pointer, stride, tail)

    def _converts(self, store: Store) -> bool:
        """Whether the machine's own conversion, which takes denormals for 0, may write a store."""
        may = store.flushes or self.f.facts.watched and store.access.dtype is _D.DT_BF16
        return may and self.target.has("avx512bf16") and isinstance(store.term, Apply)

    def _store_converted(self, store: Store, u: int, scope: Scope, pointer: str) -> None:
        """bf16 by the machine's own conversion, from the value before it is rounded when that has told of denormals."""
        exact = self._convertible(store, u, scope)
        narrow = self.f.intrinsic("<16 x bfloat>", "llvm.x86.avx512bf16.cvtneps2bf16.512", ("<16 x float>", exact.name))
        bits = Vector(self.f.cast("bitcast", "<16 x bfloat>", narrow, "<16 x i16>"), _D.DT_UINT16)
        tail = scope.places[u].tail
        streaming = self.streaming and tail is None
        self.vectors(_D.DT_UINT16).store(_D.DT_UINT16, bits, pointer, tail, align=32 if streaming else 0, streaming=streaming)

    def _convertible(self, store: Store, u: int, scope: Scope) -> Vector:
        exact = self._compute(store.term, u, scope)
        facts = self.f.facts
        return (
            exact
            if store.flushes or exact.name in facts.raised and facts.is_clean(exact.name)
            else self.value(store.term, u, scope)
        )

    def _store_joined(self, store: Store, u: int, scope: Scope) -> None:
        """Two neighbouring vectors by one conversion."""
        low, high = (self._convertible(store, v, scope) for v in (u - 1, u))
        kind = "<16 x float>"
        both = self.f.intrinsic("<32 x bfloat>", "llvm.x86.avx512bf16.cvtne2ps2bf16.512", (kind, high.name), (kind, low.name))
        pointer, _ = self._address(store.access, scope, scope.places[u - 1])
        hint = self.vectors(_D.DT_BF16).bypassing() if self.streaming else ""
        self.f.store("<32 x bfloat>", both, pointer, 64 if self.streaming else store.access.dtype.size, hint)

    def store_pair(self, store: Store, u: int, scopes: list[Scope]) -> None:
        """Two positions along the inner axis, joined to words in the place that the tiles of B give them (``packing_b.py``)."""
        f, first = self.f, scopes[0]
        even, odd = (self._compute(store.term, u, scope).name for scope in scopes)
        kind = "<16 x float>"
        both = f.intrinsic("<32 x bfloat>", "llvm.x86.avx512bf16.cvtne2ps2bf16.512", (kind, odd), (kind, even))
        halves = f.cast("bitcast", "<32 x bfloat>", both, "<32 x i16>")
        order = ", ".join(f"i32 {i}, i32 {i + LANES}" for i in range(LANES))
        words = f.define(f"shufflevector <32 x i16> {halves}, <32 x i16> poison, <32 x i32> <{order}>")
        index, lane = first.index[self.inner], first.places[u].lane  # type: ignore[index]
        lane = f.op("sub", "i64", lane, "%first")
        half = self.product(f.op("lshr", "i64", lane, 5), mul(self.nest.sizes[self.inner], 64))  # type: ignore[arg-type,index]
        tile = f.op("shl", "i64", f.op("and", "i64", lane, 16), 6)
        step = f.op("shl", "i64", f.op("lshr", "i64", index, 5), 11)
        row = f.op("shl", "i64", f.op("and", "i64", index, 30), 5)
        place = f.gep(
            "i8", self.pointer(store.access), f.op("add", "i64", f.op("add", "i64", half, tile), f.op("add", "i64", step, row))
        )
        f.store("<32 x i16>", words, place, align=64)

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


def writes_pairs(store: Store) -> bool:
    """Whether the store's buffer has the layout of tiles: words of two neighbours along the inner axis."""
    return bool(store.access.buffer.facts.get("pairs"))


def below_its_maximum(term: Apply) -> bool:
    """Whether ``term`` is ``x - m`` where m is the maximum of a row that x is in, or of x and more."""
    if term.name != "sub" or term.dtype is not _D.DT_FP32:
        return False
    x, top = term.arguments
    seen = [top]
    while seen:
        top = seen.pop()
        if top is x or isinstance(top, Reduce) and top.combine == "max" and top.operand is x:
            return True
        if isinstance(top, Apply) and top.name == "maximum" and top.dtype is _D.DT_FP32:
            seen.extend(top.arguments)
    return False


def b_extract(b: Vectors, stored: str, element: str) -> str:
    return b.function.define(f"extractelement <{LANES} x {element}> {stored}, i64 0")


def rounded_number(value: Scalar, dtype: DataType) -> float | int:
    """A literal as its element type holds it."""
    if compute_type(dtype) is dtype or not dtype.is_float:
        return value  # type: ignore[return-value]
    return float(np.asarray(value, dtype.numpy))
