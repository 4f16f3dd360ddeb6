"""Bands whose rows run along the lanes: maxima and sums over a row are then vertical.

    matmul s = q @ kᵀ; nest p = softmax(s); matmul o = p @ v; nest r = r·decay + o
    →  for every 64 rows: sᵀ = k @ qᵀ; down the columns: pᵀ; oᵀ = vᵀ @ pᵀ; rᵀ = rᵀ·decay + oᵀ

A row that lies along the lanes needs ``log2 16`` shuffles for each maximum and each sum, one waiting for the other; turned, 16 rows
go through a column of one vector. Buffers of the band, and local ones that all users walk row by row (``r``), are laid out with the rows
next to each other; ``facts["turned"]`` is then the distance between their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pypto.cpu.context import Context
from pypto.cpu.gemm_driver import SPARE_ROWS
from pypto.cpu.items import BandItem, IfItem, Item, LoopItem, MatmulItem, NestItem
from pypto.cpu.matmul import arguments_of, element_text_of
from pypto.cpu.nests import Access, Apply, Gather, Nest, Reduce, Scan, collapsed, open_condition, permuted, settled
from pypto.cpu.packing_kept import Kept, KeptProduct, Site, keep, packed_once, sites_of
from pypto.cpu.scalars import TYPES
from pypto.cpu.target import Target
from pypto.cpu.vectors import stored_element
from pypto.cpu.views import Buffer, View, product, same
from pypto.ir.symbols import Expression, kind_of

if TYPE_CHECKING:
    from pypto.cpu.program import ProgramEmitter

PANEL = 64
ROWS = {"bf16": 64, "f32": 64}  # columns of C that the multiply kernel takes at a time
_VERTICAL = frozenset(("add", "max", "min"))
_WHOLE = 32  # rows and bf16 words × 2 of A that need no packing


def turn_bands(items: list[Item], parallel: set[LoopItem]) -> None:
    """Turn the bands that gain by it, in place."""
    for site in list(sites_of(items)):
        for band in [item for item in site.block if isinstance(item, BandItem)]:
            shared = _shared(band, items)
            if shared is not None:
                _turn(band, shared, items)
                band.items = [_keeping(m, band, site, parallel) if isinstance(m, MatmulItem) else m for m in band.items]
            elif _holds_all(band):
                place = site.block.index(band)
                site.block[place : place + 1] = band.items


def _holds_all(band: BandItem) -> bool:
    """Whether one band has all rows, so that it is no more than its items one after the other."""
    sizes = (item.c.shape[-2] for item in band.items if isinstance(item, MatmulItem))
    return any(not isinstance(size, Expression) and int(size) <= band.rows for size in sizes)


def _keeping(item: MatmulItem, band: BandItem, site: Site, parallel: set[LoopItem]) -> KeptProduct:
    """The product, with memory for packed operands that outlast a round of a loop around it."""
    left = right = None
    k, n = item.b.valid[-2:]
    if not isinstance(k, Expression) and not isinstance(n, Expression):
        line = 4 * (-(-int(k) // 32) * 32) + 64  # bytes of a row, whatever the method packs
        if not in_place(item):
            left = keep(item.b, site, parallel, line * (int(n) + SPARE_ROWS))
        rows = item.a.shape[-2]
        if item.a.buffer not in band.private and not isinstance(rows, Expression):
            right = keep(item.a, site, parallel, line * max(PANEL, band.rows), -(-int(rows) // band.rows))
    return KeptProduct(item.kind, item.a, item.b, item.c, left, right)


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
    if any(m.a.buffer in found or m.b.buffer in found for m in products):
        return None
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


def in_place(item: MatmulItem) -> bool:
    """Whether the rows of Bᵀ, the left side, are multiplied where they lie."""
    sizes = item.b.valid[-2:]
    whole = all(not isinstance(s, Expression) and int(s) % _WHOLE == 0 for s in sizes)
    turned = same(item.b.strides[-2], 1) and not same(item.b.strides[-1], 1)
    return turned and "pairs" not in item.a.buffer.facts and (whole or item.kind == "f32")


class _Prepared:
    """A product of a turned band: Cᵀ = Bᵀ·Aᵀ. Its left side is the same for all bands, its right side is packed for each."""

    def __init__(self, emitter: ProgramEmitter, context: Context, matmul: KeptProduct, band: BandItem) -> None:
        self.context, self.matmul, self.band = context, matmul, band
        values = arguments_of(emitter, context, matmul, [0] * (matmul.c.rank - 2))
        self.a, self.lda, self.turned_a, self.b, self.ldb, self.turned_b, _, self.n, self.k, self.c, *_ = values
        self.taken: list[tuple[str, str]] = []
        self.pairs = bool(matmul.a.buffer.facts.get("pairs"))
        self.direct = in_place(matmul)
        self.packed = "null" if self.pairs else self._acquire("packed_bytes", self.k, band.rows)
        self.right = self._addresses(emitter, matmul.right)
        if self.direct:
            self.left = self._acquire("gemm_scratch", self.n, band.rows, self.k)
            return
        self.left = self._packed_left(emitter)

    def _addresses(self, emitter: ProgramEmitter, kept: Kept | None) -> tuple[str, str]:
        if kept is None:
            return "", ""
        space, flags = (emitter.address(self.context, b, b.dtype, 0) for b in (kept.space, kept.flags))
        return space, flags

    def _packed_left(self, emitter: ProgramEmitter) -> str:
        own, kept = self._acquire("packed_a_bytes", self.n, self.k), self.matmul.left
        values = (self.b, self.ldb, 1 - int(self.turned_b), self.n, self.k)
        if kept is None:
            self._call("pack_a", "piiiip", *values, own)
            return own
        name = self._declared("pack_a", "piiiip")
        place, flag = kept.place(self.context, self._addresses(emitter, kept), 0)
        return packed_once(self.context.f, place, flag, own, name, list(zip(_types("piiii"), values, strict=True)))

    def _packed_right(self, first: str, count: str) -> str:
        f, kept = self.context.f, self.matmul.right
        right: str | int = self.a
        ld: str | int = self.band.rows
        turned = 0
        if self.matmul.a.buffer not in self.band.private:
            step = f.op("mul", "i64", first, self.context.integer(self.matmul.a.strides[-2]))
            right = f.gep(element_text_of(self.matmul.a.dtype), str(self.a), step)
            ld, turned = self.lda, 1 - int(self.turned_a)
        values = (right, ld, turned, self.k, count, 0, 1)
        if kept is None:
            self._call("pack_b", "piiiiiip", *values, self.packed)
            return self.packed
        name = self._declared("pack_b", "piiiiiip")
        place, flag = kept.place(self.context, self.right, f.op("udiv", "i64", first, self.band.rows))
        return packed_once(f, place, flag, self.packed, name, list(zip(_types("piiiiii"), values, strict=True)))

    def _acquire(self, what: str, *sizes: str | int) -> str:
        f, name = self.context.f, f"pypto_{what}_{self.matmul.kind}"
        self.context.module.declare("i64", name, ", ".join(["i64"] * len(sizes)))
        size = f.call("i64", f"@{name}", *(("i64", s) for s in sizes))
        place = self.context.acquire(size)
        self.taken.append((place, size))
        return place

    def _declared(self, what: str, letters: str) -> str:
        name = f"pypto_{what}_{self.matmul.kind}"
        self.context.module.declare("void", name, ", ".join(_types(letters)))
        return f"@{name}"

    def _call(self, what: str, letters: str, *values: str | int) -> None:
        self.context.f.call("void", self._declared(what, letters), *zip(_types(letters), values, strict=True))

    def multiply(self, first: str, count: str) -> None:
        """The product of ``count`` rows from ``first`` on."""
        pitch = self.band.rows
        if self.pairs:
            self._call("gemm_pairs", "piiipipi", self.left, self.n, count, self.k, self.a, 0, self.c, pitch)
            return
        if self.matmul.kind == "f32" and self.matmul.a.buffer in self.band.private and not self.direct:
            f = self.context.f
            full = f.icmp("eq", "i64", count, pitch)
            f.either(full, lambda: self._in_rows(count), lambda: self._packed_product(first, count))
        else:
            self._packed_product(first, count)

    def _in_rows(self, count: str) -> list[str]:
        """A right side of whole tiles is multiplied where it lies."""
        pitch = self.band.rows
        self._call("gemm_ready", "piiipipi", self.left, self.n, count, self.k, self.a, pitch * 4, self.c, pitch)
        return []

    def _packed_product(self, first: str, count: str) -> list[str]:
        pitch = self.band.rows
        packed = self._packed_right(first, count)
        if self.direct:
            values = (self.b, self.ldb, 0, self.n, count, self.k, packed, self.c, pitch, 0, self.left)
            self._call("gemm", "piiiiippiip", *values)
        else:
            self._call("gemm_ready", "piiipipi", self.left, self.n, count, self.k, packed, 0, self.c, pitch)
        return []

    def release(self) -> None:
        for place, size in reversed(self.taken):
            self.context.release(place, size)


def _types(letters: str) -> list[str]:
    return [{"p": "ptr", "i": "i64"}[letter] for letter in letters]


def emit_turned_band(emitter: ProgramEmitter, context: Context, band: BandItem) -> None:
    f = context.f
    first = next(item for item in band.items if isinstance(item, MatmulItem))
    rows = context.integer(first.c.valid[-2])
    _choose_pairs(band, emitter.target)
    products = {m: _Prepared(emitter, context, m, band) for m in band.items if isinstance(m, KeptProduct)}
    with f.loop(0, rows, band.rows, hint="band") as loop, context.scope():
        last = f.intrinsic("i64", "llvm.smin.i64", ("i64", f.op("add", "i64", loop.index, band.rows)), ("i64", rows))
        for item in band.items:
            if isinstance(item, KeptProduct):
                products[item].multiply(loop.index, f.op("sub", "i64", last, loop.index))
            elif isinstance(item, NestItem):
                _nest(emitter, context, item.nest, band, loop.index, last)
    for made in products.values():
        made.release()


def _choose_pairs(band: BandItem, target: Target) -> None:
    """Let nests write the right sides of bf16 products as tiles take them: no packing between."""
    if not target.has("amx-tile", "amx-bf16", "avx512bf16", "avx512bw"):
        return
    for item in band.items:
        if isinstance(item, MatmulItem) and item.kind == "bf16" and item.a.buffer in band.private:
            depth, touching = item.a.valid[-1], [i for i in band.items if item.a.buffer in i.reads | i.writes]
            writers = [i.nest for i in touching if isinstance(i, NestItem)]
            stores = [s for nest in writers for s in nest.stores if s.access.buffer is item.a.buffer]
            simple = len(touching) == 2 and len(stores) == 1 and stores[0].flushes and writers[0].reduced == 0
            whole = not isinstance(depth, Expression) and int(depth) % 32 == 0 and same(depth, _width(item.a.buffer))
            if simple and whole and isinstance(stores[0].term, Apply) and len(stores[0].axes) == 2:
                item.a.buffer.facts["pairs"] = True


def _nest(emitter: ProgramEmitter, context: Context, nest: Nest, band: BandItem, first: str, last: str) -> None:
    """A nest over the lanes ``first`` … ``last``; once for each value of a condition (a causal mask: only on the diagonal)."""
    condition = open_condition(nest)
    if condition is None:
        _nest_call(emitter, context, nest, band, first, last)
        return

    def arm(holds: bool) -> list[str]:
        with context.scope():
            _nest_call(emitter, context, settled(nest, condition, holds), band, first, last)
        return []

    context.f.either(context.value(condition, "bool"), lambda: arm(True), lambda: arm(False))


def _nest_call(emitter: ProgramEmitter, context: Context, nest: Nest, band: BandItem, first: str, last: str) -> None:
    """A nest over the lanes; private buffers hold only those."""
    f = context.f
    both = nest.rank == 2 and nest.reduced is None
    code = emitter.nest_code(nest, tile=both, by_rows=True)
    arguments: list[tuple[str, str | int]] = []
    for p in code.pointers:
        pointer = emitter.address(context, p.buffer, p.dtype, p.offset)  # type: ignore[arg-type]
        if p.buffer in band.private and "pairs" not in p.buffer.facts:
            back = f.op("sub", "i64", 0, first)
            pointer = f.define(f"getelementptr {stored_element(p.dtype)}, ptr {pointer}, i64 {back}")
        arguments.append(("ptr", pointer))
    arguments += [(TYPES[kind_of(s)], context.value(s)) for s in code.scalars]
    if both:
        arguments += [("i64", 0), ("i64", context.integer(nest.extents[0]))]
    f.call("void", f"@{code.function}", *arguments, ("i64", first), ("i64", last))
