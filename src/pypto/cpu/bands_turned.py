"""Bands whose rows run along the lanes: maxima and sums over a row are then vertical.

    matmul s = q @ kᵀ; nest p = softmax(s); matmul o = p @ v; nest r = r·decay + o
    →  for every 32 rows: sᵀ = k @ qᵀ; down the columns: pᵀ; oᵀ = vᵀ @ pᵀ; rᵀ = rᵀ·decay + oᵀ

A row that lies along the lanes needs ``log2 16`` shuffles for each maximum and each sum, one waiting for the other; turned, 16 rows
go through a column of one vector. Buffers of the band, and local ones that all users walk row by row (``r``), are laid out with the rows
next to each other; ``facts["turned"]`` is then the distance between their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pypto.cpu.context import Context
from pypto.cpu.items import BandItem, IfItem, Item, LoopItem, MatmulItem, NestItem
from pypto.cpu.matmul import arguments_of, element_text_of
from pypto.cpu.nests import Access, Gather, Nest, Reduce, Scan, collapsed, permuted
from pypto.cpu.scalars import TYPES
from pypto.cpu.vectors import stored_element
from pypto.cpu.views import Buffer, View, product, same
from pypto.ir.symbols import Expression, kind_of

if TYPE_CHECKING:
    from pypto.cpu.program import ProgramEmitter

ROWS = {"bf16": 32, "f32": 64}  # columns of C that the multiply kernel takes at a time
_VERTICAL = frozenset(("add", "max", "min"))
_WHOLE = 32  # rows and bf16 words × 2 of A that need no packing


def turn_bands(items: list[Item]) -> None:
    """Turn the bands that gain by it, in place."""
    for band in [item for item in _walked(items) if isinstance(item, BandItem)]:
        shared = _shared(band, items)
        if shared is not None:
            _turn(band, shared, items)


def is_turned(band: BandItem) -> bool:
    return any("turned" in buffer.facts for buffer in band.private)


def _walked(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        if isinstance(item, LoopItem):
            yield from _walked(item.body)
        elif isinstance(item, IfItem):
            yield from _walked((*item.then, *item.orelse))


# -- which ---------------------------------------------------------------------------------------------------------------------


def _shared(band: BandItem, items: list[Item]) -> set[Buffer] | None:
    """Buffers besides the private ones that must be turned with the band; None: the band stays as it is."""
    nests = [item for item in band.items if isinstance(item, NestItem)]
    products = [item for item in band.items if isinstance(item, MatmulItem)]
    if not any(item.nest.reduced is not None for item in nests) or not all(_product_fits(m, band) for m in products):
        return None
    found: set[Buffer] = set()
    for item in nests:
        flat = collapsed(item.nest, keep=1)
        if not _nest_fits(flat):
            return None
        for access in flat.accesses():
            if _along_lanes(access) and not _is_matrix(access.buffer, band):
                continue
            if not _row_by_row(access, flat):
                return None
            if access.buffer not in band.private:
                found.add(access.buffer)
    return found if all(_can_turn(buffer, band, items) for buffer in found) else None


def _along_lanes(access: Access) -> bool:
    return same(access.strides[0], 0) or same(access.strides[0], 1)


def _is_matrix(buffer: Buffer, band: BandItem) -> bool:
    return buffer in band.private and not same(_width(buffer), 1)


def _width(buffer: Buffer) -> int | Expression:
    """Elements of a row: what follows the first axis that is longer than 1."""
    axis = next((a for a, n in enumerate(buffer.shape) if not same(n, 1)), 0)
    return product(buffer.shape[axis + 1 :])  # type: ignore[return-value]


def _row_by_row(access: Access, nest: Nest) -> bool:
    width = _width(access.buffer)
    if isinstance(width, Expression) or access.dtype is not access.buffer.dtype or not same(access.offset, 0):
        return False
    return width > 1 and same(access.strides[0], width) and all(same(s, 0) or same(s, 1) for s in access.strides[1:])


def _product_fits(item: MatmulItem, band: BandItem) -> bool:
    if item.kind not in ROWS or not _plain(item.c) or item.c.buffer not in band.private:
        return False
    return item.b.buffer not in band.private and (item.a.buffer not in band.private or _plain(item.a))


def _plain(view: View) -> bool:
    return same(view.offset, 0) and same(view.strides[-1], 1) and same(view.strides[-2], _width(view.buffer))


def _nest_fits(nest: Nest) -> bool:
    if nest.rank > 2 or any(isinstance(t, (Gather, Scan)) for t in nest.terms):
        return False
    return all(t.combine in _VERTICAL for t in nest.terms if isinstance(t, Reduce))


def _can_turn(buffer: Buffer, band: BandItem, items: list[Item]) -> bool:
    """Whether every user of a buffer outside the band is a nest that can walk it the other way."""
    if buffer.role != "local" or any(isinstance(n, Expression) for n in buffer.shape):
        return False
    width = _width(buffer)
    for item in _walked(items):
        if item is band or isinstance(item, (LoopItem, IfItem)) or buffer not in item.reads | item.writes:
            continue
        if not isinstance(item, NestItem) or item.nest.reduced is not None or item.nest.rank != 2:
            return False
        for access in item.nest.accesses():
            if access.buffer is buffer and not (same(access.offset, 0) and _steps(access, width)):
                return False
    return True


def _steps(access: Access, width: int | Expression) -> bool:
    return all(same(s, 0) or same(s, 1) or same(s, width) for s in access.strides)


# -- turning -------------------------------------------------------------------------------------------------------------------


def _turn(band: BandItem, shared: set[Buffer], items: list[Item]) -> None:
    kinds = [item.kind for item in band.items if isinstance(item, MatmulItem)]
    band.rows = max(ROWS[kind] for kind in kinds)
    for buffer in band.private:
        width = _width(buffer)
        buffer.facts["bytes"] = band.rows * int(width) * buffer.dtype.size  # type: ignore[arg-type]
        buffer.facts["turned"] = band.rows
    for buffer in shared:
        buffer.facts["turned"] = int(buffer.elements) // int(_width(buffer))  # type: ignore[arg-type]
    matrices = {b for b in (*band.private, *shared) if not same(_width(b), 1)}
    for item in band.items:
        if isinstance(item, NestItem):
            item.nest = _swapped(collapsed(item.nest, keep=1), matrices)
            item.nest.sizes = (*item.nest.sizes[:-1], band.rows)
    for item in _walked(items):
        if isinstance(item, NestItem) and shared & (item.reads | item.writes):
            _turn_user(item, shared)


def _swapped(nest: Nest, matrices: set[Buffer]) -> Nest:
    """The nest with its rows along the lanes, walking the turned ``matrices``."""
    made = permuted(nest, tuple(range(nest.rank))[::-1])
    for access in made.accesses():
        _restride(access, matrices)
    return made


def _restride(access: Access, matrices: set[Buffer]) -> None:
    buffer = access.buffer
    if buffer in matrices:
        steps = {0: 0, int(_width(buffer)): 1, 1: buffer.facts["turned"]}  # type: ignore[arg-type]
        access.strides = tuple(steps[int(s)] for s in access.strides)  # type: ignore[arg-type]


def _turn_user(item: NestItem, shared: set[Buffer]) -> None:
    """A nest outside the band: its axes change places when all it stores then runs along the lanes."""
    straight = permuted(item.nest, (0, 1))
    for access in straight.accesses():
        _restride(access, shared)
    stores = [store.access for store in straight.stores]
    turned = all(same(a.strides[0], 1) and not same(a.strides[1], 1) for a in stores)
    item.nest = permuted(straight, (1, 0)) if turned else straight


# -- code ----------------------------------------------------------------------------------------------------------------------


class _Prepared:
    """A product of a turned band: Cᵀ = Bᵀ·Aᵀ. Its left side is the same for all bands, its right side is packed for each."""

    def __init__(self, emitter: ProgramEmitter, context: Context, matmul: MatmulItem, band: BandItem) -> None:
        self.context, self.matmul, self.band = context, matmul, band
        values = arguments_of(emitter, context, matmul, [0] * (matmul.c.rank - 2))
        self.a, self.lda, self.turned_a, self.b, self.ldb, self.turned_b, _, self.n, self.k, self.c, *_ = values
        self.taken: list[tuple[str, str]] = []
        self.packed = self._acquire("packed_bytes", self.k, band.rows)
        self.direct = self._left_in_place()
        if self.direct:
            self.left = self._acquire("gemm_scratch", self.n, band.rows, self.k)
            return
        self.left = self._acquire("packed_a_bytes", self.n, self.k)
        self._call("pack_a", "piiiip", self.b, self.ldb, 1 - int(self.turned_b), self.n, self.k, self.left)

    def _left_in_place(self) -> bool:
        sizes = (self.matmul.b.valid[-1], self.matmul.b.valid[-2])
        whole = all(not isinstance(s, Expression) and int(s) % _WHOLE == 0 for s in sizes)
        return self.turned_b == 1 and (whole or self.matmul.kind == "f32")

    def _acquire(self, what: str, *sizes: str | int) -> str:
        f, name = self.context.f, f"pypto_{what}_{self.matmul.kind}"
        self.context.module.declare("i64", name, ", ".join(["i64"] * len(sizes)))
        size = f.call("i64", f"@{name}", *(("i64", s) for s in sizes))
        place = self.context.acquire(size)
        self.taken.append((place, size))
        return place

    def _call(self, what: str, letters: str, *values: str | int) -> None:
        types = [{"p": "ptr", "i": "i64"}[letter] for letter in letters]
        name = f"pypto_{what}_{self.matmul.kind}"
        self.context.module.declare("void", name, ", ".join(types))
        self.context.f.call("void", f"@{name}", *zip(types, values, strict=True))

    def multiply(self, first: str, count: str) -> None:
        """The product of ``count`` rows from ``first`` on."""
        f, pitch = self.context.f, self.band.rows
        right: str | int = self.a
        ld: str | int = pitch
        turned = 0
        if self.matmul.a.buffer not in self.band.private:
            step = f.op("mul", "i64", first, self.context.integer(self.matmul.a.strides[-2]))
            right = f.gep(element_text_of(self.matmul.a.dtype), str(self.a), step)
            ld, turned = self.lda, 1 - int(self.turned_a)
        self._call("pack_b", "piiiiiip", right, ld, turned, self.k, count, 0, 1, self.packed)
        if self.direct:
            values = (self.b, self.ldb, 0, self.n, count, self.k, self.packed, self.c, pitch, 0, self.left)
            self._call("gemm", "piiiiippiip", *values)
        else:
            self._call("gemm_ready", "piiipipi", self.left, self.n, count, self.k, self.packed, 0, self.c, pitch)

    def release(self) -> None:
        for place, size in reversed(self.taken):
            self.context.release(place, size)


def emit_turned_band(emitter: ProgramEmitter, context: Context, band: BandItem) -> None:
    f = context.f
    first = next(item for item in band.items if isinstance(item, MatmulItem))
    rows = context.integer(first.c.valid[-2])
    products = {m: _Prepared(emitter, context, m, band) for m in band.items if isinstance(m, MatmulItem)}
    with f.loop(0, rows, band.rows, hint="band") as loop, context.scope():
        last = f.intrinsic("i64", "llvm.smin.i64", ("i64", f.op("add", "i64", loop.index, band.rows)), ("i64", rows))
        for item in band.items:
            if isinstance(item, MatmulItem):
                products[item].multiply(loop.index, f.op("sub", "i64", last, loop.index))
            elif isinstance(item, NestItem):
                _nest(emitter, context, item.nest, band, loop.index, last)
    for made in products.values():
        made.release()


def _nest(emitter: ProgramEmitter, context: Context, nest: Nest, band: BandItem, first: str, last: str) -> None:
    """A nest over the lanes ``first`` … ``last``; private buffers hold only those."""
    f = context.f
    both = nest.rank == 2 and nest.reduced is None
    code = emitter.nest_code(nest, tile=both, by_rows=True)
    arguments: list[tuple[str, str | int]] = []
    for p in code.pointers:
        pointer = emitter.address(context, p.buffer, p.dtype, p.offset)  # type: ignore[arg-type]
        if p.buffer in band.private:
            back = f.op("sub", "i64", 0, first)
            pointer = f.define(f"getelementptr {stored_element(p.dtype)}, ptr {pointer}, i64 {back}")
        arguments.append(("ptr", pointer))
    arguments += [(TYPES[kind_of(s)], context.value(s)) for s in code.scalars]
    if both:
        arguments += [("i64", 0), ("i64", context.integer(nest.extents[0]))]
    f.call("void", f"@{code.function}", *arguments, ("i64", first), ("i64", last))
