"""Schedule → better schedule: a chain of products and nests over the same rows runs a band of rows at a time.

    matmul s = q @ kᵀ; nest p = softmax(s); matmul o = p @ v; nest r = r·decay + o
    →  pack kᵀ and v; for every 32 rows: those four, on 32 rows                          (s and p stay in the first-level cache)

Only inside tasks: elsewhere products are parallel and run their nests as epilogues. All items must walk the same rows: whatever one of
them writes, another only touches in the same row. Buffers that no other item uses shrink to one band.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pypto.cpu.bands_turned import emit_turned_band, is_turned
from pypto.cpu.context import Context
from pypto.cpu.items import BandItem, Item, MatmulItem, NestItem
from pypto.cpu.matmul import arguments_of, element_text_of
from pypto.cpu.nests import Gather, collapsed
from pypto.cpu.scalars import TYPES
from pypto.cpu.vectors import stored_element
from pypto.cpu.views import Buffer, product, same
from pypto.ir.symbols import Expression, Scalar, kind_of

if TYPE_CHECKING:
    from pypto.cpu.program import ProgramEmitter

FIRST_LEVEL = 36 * 1024  # bytes of the widest intermediate of a band: most of a 48 KiB first-level data cache
FEWEST = 32  # rows of a band; one with all rows is only kept when it is turned
ROW_UNITS = {"f32": 48, "bf16": 32, "f16": 32, "i8": 32}  # rows a multiply kernel likes


class Walk(NamedTuple):
    """How an item walks a buffer from row to row."""

    buffer: Buffer
    offset: Scalar
    stride: Scalar
    writes: bool


def form_bands(items: list[Item], users: Counter[Buffer]) -> list[Item]:
    """``items`` of one block with chains replaced by ``BandItem``."""
    found: list[Item] = []
    index = 0
    while index < len(items):
        chain = _chain(items, index)
        band = _band(chain, users)
        found.append(band or items[index])
        index += len(chain) if band else 1
    return found


def _rows(item: Item) -> tuple[Scalar, Scalar] | None:
    """Valid and allocated number of rows that an item can be divided by."""
    if isinstance(item, MatmulItem) and all(same(n, 1) for n in item.c.shape[:-2]):
        return item.c.valid[-2], item.c.shape[-2]
    if isinstance(item, NestItem) and item.nest.rank and item.nest.reduced != 0 and not item.nest.guards:
        if not any(isinstance(t, Gather) for t in item.nest.terms):
            return item.nest.extents[0], item.nest.sizes[0]
    return None


def _walks(item: Item) -> Iterator[Walk]:
    if isinstance(item, MatmulItem):
        yield Walk(item.a.buffer, item.a.offset, item.a.strides[-2], False)
        yield Walk(item.b.buffer, item.b.offset, 0, False)
        yield Walk(item.c.buffer, item.c.offset, item.c.strides[-2], True)
    elif isinstance(item, NestItem):
        for load in item.nest.loads():
            yield Walk(load.access.buffer, load.access.offset, load.access.strides[0], False)
        for store in item.nest.stores:
            yield Walk(store.access.buffer, store.access.offset, store.access.strides[0], True)


def _chain(items: list[Item], start: int) -> list[Item]:
    """The longest run from ``start`` on that one band can hold."""
    rows = _rows(items[start])
    chain: list[Item] = []
    for item in items[start:]:
        here = _rows(item)
        if rows is None or here is None or not (same(here[0], rows[0]) and same(here[1], rows[1])) or not _agrees(chain, item):
            break
        chain.append(item)
    return chain


def _agrees(chain: list[Item], item: Item) -> bool:
    """Whether what is written on one side is only touched in the same row on the other."""
    mine = list(_walks(item))
    for other in chain:
        for theirs in _walks(other):
            for walk in mine:
                if walk.buffer is theirs.buffer and (walk.writes or theirs.writes):
                    alike = same(walk.offset, theirs.offset) and same(walk.stride, theirs.stride)
                    if not alike or same(walk.stride, 0):
                        return False
    return True


def _band(chain: list[Item], users: Counter[Buffer]) -> BandItem | None:
    """A band for a chain that gains by it: a product whose result, used only in the chain, does not fit the first-level cache."""
    products = [item for item in chain if isinstance(item, MatmulItem)]
    if len(chain) < 2 or not products:
        return None
    size = _rows(chain[0])[1]  # type: ignore[index]
    inside = Counter(b for item in chain for b in item.reads | item.writes)
    private = [b for b, count in inside.items() if b.role == "local" and users[b] == count and _row_major(b, chain)]
    widths = [product((*b.shape[_row_axis(b) + 1 :], b.dtype.size)) for b in private]
    if isinstance(size, Expression) or not widths or any(isinstance(w, Expression) for w in widths):
        return None
    unit = max(ROW_UNITS[item.kind] for item in products)
    rows = max(unit, FIRST_LEVEL // max(int(w) for w in widths) // unit * unit)  # type: ignore[arg-type]
    rows = min(rows, int(size))
    if rows < FEWEST or any(item.c.buffer not in private for item in products[:1]):
        return None
    for buffer, width in zip(private, widths, strict=True):
        buffer.facts["bytes"] = rows * int(width)  # type: ignore[arg-type]
    return BandItem(chain, rows, {b: _row_axis(b) for b in private})


def _row_axis(buffer: Buffer) -> int:
    """The axis of a buffer that the chain's rows are: the first that is longer than 1."""
    return next((a for a, n in enumerate(buffer.shape) if not same(n, 1)), 0)


def _row_major(buffer: Buffer, chain: list[Item]) -> bool:
    """Whether the whole chain steps from row to row of a buffer by whole rows."""
    row = product(buffer.shape[_row_axis(buffer) + 1 :])
    walks = [w for item in chain for w in _walks(item) if w.buffer is buffer]
    return all(same(w.stride, row) and same(w.offset, 0) for w in walks)


# -- code ----------------------------------------------------------------------------------------------------------------------


class _Product(NamedTuple):
    """A product of a band: its arguments, and memory for packed B and for the multiply kernel."""

    values: list[str | int]
    packed: str
    packed_size: str
    scratch: str
    scratch_size: str


def emit_band(emitter: ProgramEmitter, context: Context, item: BandItem) -> None:
    f = context.f
    if is_turned(item):
        emit_turned_band(emitter, context, item)
        return
    products = {m: _pack(emitter, context, m, item) for m in item.items if isinstance(m, MatmulItem)}
    rows = context.integer(_rows(item.items[0])[0])  # type: ignore[index]
    with f.loop(0, rows, item.rows, hint="band") as loop, context.scope():
        last = f.intrinsic("i64", "llvm.smin.i64", ("i64", f.op("add", "i64", loop.index, item.rows)), ("i64", rows))
        for inner in item.items:
            if isinstance(inner, MatmulItem):
                _multiply(context, inner, products[inner], item, loop.index, last)
            else:
                assert isinstance(inner, NestItem)
                _nest(emitter, context, inner, item, loop.index, last)
    for made in products.values():
        context.release(made.scratch, made.scratch_size)
        context.release(made.packed, made.packed_size)


def _pack(emitter: ProgramEmitter, context: Context, matmul: MatmulItem, item: BandItem) -> _Product:
    f, kind, module = context.f, matmul.kind, context.module
    values = arguments_of(emitter, context, matmul, [0] * (matmul.c.rank - 2))
    _, _, _, b, ldb, turned, _, n, k, *_ = values
    module.declare("i64", f"pypto_packed_bytes_{kind}", "i64, i64")
    module.declare("i64", f"pypto_gemm_scratch_{kind}", "i64, i64, i64")
    types = "ptr, i64, i64, i64, i64, i64, i64, ptr"
    module.declare("void", f"pypto_pack_b_{kind}", types)
    module.declare("void", f"pypto_gemm_{kind}", "ptr, i64, i64, i64, i64, i64, ptr, ptr, i64, i64, ptr")
    size = f.call("i64", f"@pypto_packed_bytes_{kind}", ("i64", k), ("i64", n))
    packed = context.acquire(size)
    panels = f.op("udiv", "i64", f.op("add", "i64", n, 63), 64)
    pack = zip(types.split(", "), (b, ldb, turned, k, n, 0, panels, packed), strict=True)
    f.call("void", f"@pypto_pack_b_{kind}", *pack)
    scratch_size = f.call("i64", f"@pypto_gemm_scratch_{kind}", ("i64", item.rows), ("i64", n), ("i64", k))
    return _Product(values, packed, size, context.acquire(scratch_size), scratch_size)


def _multiply(context: Context, matmul: MatmulItem, made: _Product, item: BandItem, first: str, last: str) -> None:
    f = context.f
    a, lda, turned, _, _, _, _, n, k, c, ldc, _ = made.values
    if matmul.a.buffer not in item.private:
        step = f.op("mul", "i64", first, context.integer(matmul.a.strides[-2]))
        a = f.gep(element_text_of(matmul.a.dtype), str(a), step)
    if matmul.c.buffer not in item.private:
        c = f.gep("i32", str(c), f.op("mul", "i64", first, ldc))
    types = "ptr, i64, i64, i64, i64, i64, ptr, ptr, i64, i64, ptr"
    values = (a, lda, turned, f.op("sub", "i64", last, first), n, k, made.packed, c, ldc, 0, made.scratch)
    f.call("void", f"@pypto_gemm_{matmul.kind}", *zip(types.split(", "), values, strict=True))


def _nest(emitter: ProgramEmitter, context: Context, inner: NestItem, item: BandItem, first: str, last: str) -> None:
    f = context.f
    nest = collapsed(inner.nest, keep=1)
    code = emitter.nest_code(nest, by_rows=True)
    arguments: list[tuple[str, str | int]] = []
    for p in code.pointers:
        pointer = emitter.address(context, p.buffer, p.dtype, p.offset)  # type: ignore[arg-type]
        if p.buffer in item.private:  # rows are counted from the first of all: step back from the band's
            row = context.integer(product(p.buffer.shape[item.private[p.buffer] + 1 :]))
            back = f.op("sub", "i64", 0, f.op("mul", "i64", first, row))
            pointer = f.define(f"getelementptr {stored_element(p.dtype)}, ptr {pointer}, i64 {back}")
        arguments.append(("ptr", pointer))
    arguments += [(TYPES[kind_of(s)], context.value(s)) for s in code.scalars]
    between = [nest.extents[a] for a in range(1, nest.rank - 1) if a != nest.reduced]
    inside = context.integer(product(between if code.split == "rows" else ()))
    limits = [x if inside == 1 else f.op("mul", "i64", x, inside) for x in (first, last)]
    arguments += [("i64", x) for x in limits]
    if code.row_bytes == 0 and not isinstance(code.row_bytes, Expression):
        f.call("void", f"@{code.function}", *arguments)
        return
    size = context.integer(code.row_bytes)
    space = context.acquire(size)
    f.call("void", f"@{code.function}", *arguments, ("ptr", space))
    context.release(space, size)
