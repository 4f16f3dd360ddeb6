"""Packed operands that several rounds of a loop share: packed by whoever comes first, kept for the others.

    parallel loop h: parallel loop i: loop j: …q[h, i] @ k[h, j]ᵀ… p @ v[h, j]…     v[h, j] is packed once for all i

An operand that does not depend on some loop around it gets memory outside that loop, with one slot for each round of the other
loops, and one flag for each slot: 0 not packed, 1 somebody is at it, 2 ready. Nobody waits: who finds a 1 packs for itself. So the
numbers do not depend on who was first, and nothing is packed that is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pypto.cpu.context import Context
from pypto.cpu.items import AllocateItem, IfItem, IndexCheckItem, Item, LoopItem, MatmulItem, NestItem, ReadItem
from pypto.cpu.nests import Access, Constant, Nest, Store
from pypto.cpu.split import loops_of, trips_of
from pypto.cpu.text import Function
from pypto.cpu.views import Buffer, View, same
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Symbol, bounds_of, symbols_in

MOST_BYTES = 64 << 20  # of one kept operand
_FLAG, _BYTE = DataType.DT_INT32, DataType.DT_UINT8


@dataclass(eq=False)
class Kept:
    """``steps``: loop indices and how many slots lie between their rounds; ``parts`` slots belong to one round."""

    flags: Buffer
    space: Buffer
    slot_bytes: int
    steps: list[tuple[Symbol, int]]
    parts: int

    @property
    def buffers(self) -> set[Buffer]:
        return {self.flags, self.space}

    def place(self, context: Context, addresses: tuple[str, str], part: str | int) -> tuple[str, str]:
        """Pointers to the memory and to the flag of a slot. ``addresses``: those of ``space`` and ``flags``."""
        f = context.f
        slot: str | int = part
        for symbol, step in self.steps:
            slot = f.op("add", "i64", slot, f.op("mul", "i64", context.integer(symbol), step))
        return f.gep("i8", addresses[0], f.op("mul", "i64", slot, self.slot_bytes)), f.gep("i32", addresses[1], slot)


@dataclass(eq=False)
class KeptProduct(MatmulItem):
    """A product of which packed operands are kept: ``left`` of b, ``right`` of a (the band computes Cᵀ)."""

    left: Kept | None = None
    right: Kept | None = None

    @property
    def reads(self) -> set[Buffer]:
        return super().reads.union(*(kept.buffers for kept in (self.left, self.right) if kept))


def packed_once(f: Function, place: str, flag: str, own: str, pack: str, arguments: list[tuple[str, str | int]]) -> str:
    """Call ``pack`` with ``arguments`` and the memory to pack into, unless that is done; returns where the packed operand is."""
    state = f.define(f"load atomic i32, ptr {flag} acquire, align 4")

    def absent() -> list[str | int]:
        mine = f.op("and", "i1", f.icmp("eq", "i32", state, 0), _claimed(f, flag))
        into = f.select(mine, "ptr", place, own)
        f.call("void", pack, *arguments, ("ptr", into))
        with f.when(mine):
            f.define(f"atomicrmw xchg ptr {flag}, i32 2 release")
        return [into]

    return f.either(f.icmp("eq", "i32", state, 2), lambda: [place], absent, ["ptr"])[0]


def _claimed(f: Function, flag: str) -> str:
    found = f.define(f"cmpxchg ptr {flag}, i32 0, i32 1 acq_rel acquire")
    return f.define(f"extractvalue {{ i32, i1 }} {found}, 1")


# -- where ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Site:
    """A block of the schedule, and the loops around it with the block each stands in, outermost first."""

    block: list[Item]
    loops: list[tuple[LoopItem, list[Item]]]


def sites_of(items: list[Item], loops: Iterable[tuple[LoopItem, list[Item]]] = ()) -> Iterator[Site]:
    around = list(loops)
    yield Site(items, around)
    for item in list(items):
        if isinstance(item, LoopItem):
            yield from sites_of(item.body, [*around, (item, items)])
        elif isinstance(item, IfItem):
            yield from sites_of(item.then, around)
            yield from sites_of(item.orelse, around)


def keep(view: View, site: Site, parallel: set[LoopItem], slot_bytes: int, parts: int = 1) -> Kept | None:
    """Memory for the packed form of ``view`` outside the loops it does not depend on; None where there is none or it may change."""
    first = next((i for i, (loop, _) in enumerate(site.loops) if loop in parallel), None)
    used = _symbols(view)
    if first is None or used is None:
        return None
    inner = site.loops[first:]
    free = next((i for i, (loop, _) in enumerate(inner) if loop.loop.index not in used), None)
    if free is None:
        return None
    together = len(loops_of(inner[0][0]))
    start = 0 if free < together else free
    around, block = inner[start]
    if view.buffer in around.writes or used & (_defined(around) - {loop.loop.index for loop, _ in inner[start:]}):
        return None
    steps = _steps([loop for loop, _ in inner[start:] if loop.loop.index in used], parts)
    if steps is None or steps[1] * slot_bytes > MOST_BYTES:
        return None
    name = f"{view.buffer.name}_packed"
    flags, space = Buffer(_FLAG, (steps[1],), f"{name}_flags"), Buffer(_BYTE, (steps[1] * slot_bytes,), name)
    place = block.index(around)
    block[place:place] = [AllocateItem(space), _cleared(flags, steps[1])]  # both live from here on
    return Kept(flags, space, slot_bytes, steps[0], parts)


def _symbols(view: View) -> set[Symbol] | None:
    """The symbols in a view's offset; None when its sizes or strides are not numbers."""
    if any(isinstance(n, Expression) for n in (*view.strides, *view.valid)):
        return None
    return set(symbols_in(view.offset)) if isinstance(view.offset, Expression) else set()


def _defined(item: Item) -> set[Symbol]:
    """Symbols that get their value inside an item."""
    if isinstance(item, LoopItem):
        own = {item.loop.index, *(s for entry in item.symbols for s in (entry[0], entry[3]))}
        return own.union(*map(_defined, item.body))
    if isinstance(item, IfItem):
        return {entry[0] for entry in item.symbols}.union(*map(_defined, (*item.then, *item.orelse)))
    return {item.symbol} if isinstance(item, (ReadItem, IndexCheckItem)) else set()


def _steps(loops: list[LoopItem], parts: int) -> tuple[list[tuple[Symbol, int]], int] | None:
    """How many slots to step for each loop, and how many there are; None when a loop does not count 0, 1, 2 … to a known limit."""
    steps: list[tuple[Symbol, int]] = []
    slots = parts
    for item in reversed(loops):
        trips = trips_of(item.loop)
        most = bounds_of(trips)[1] if isinstance(trips, Expression) else trips
        if not (same(item.loop.start, 0) and same(item.loop.step, 1)) or most == float("inf"):
            return None
        steps.append((item.loop.index, slots))
        slots *= int(most)
    return steps, slots


def _cleared(flags: Buffer, slots: int) -> NestItem:
    zero = Constant(_FLAG, frozenset(), 0)
    store = Store(Access(flags, _FLAG, 0, (1,)), zero, frozenset((0,)))
    return NestItem(Nest("clear", (slots,), (slots,), [zero], [store]))
