"""Fusion: which nest a computation joins.

A block's schedule is a list of items. A new computation joins an existing nest when their iteration spaces agree, everything it
needs is made by earlier items or available in that nest at the same index, and no store is overtaken::

    x, y loaded lazily; a = x*y; m = amax(a, -1); e = exp(a - m); out[:] = e / sum(e)       → one nest over [rows, columns]

Spaces agree when they are equal, or when the computation lacks the axis that the nest reduces (``m`` above: one number per row).
A value used outside its nest gets a buffer (``memory``); nothing else does. What it does not do: look further back than
``WINDOW`` items, recompute a shared value in two nests, join nests of different extents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pypto.cpu.hold import Held, Mapping, extents_of, guards_of, kept_axes, sizes_of
from pypto.cpu.items import Item, NestItem
from pypto.cpu.nests import Access, Constant, Gather, Load, Nest, Store, Term
from pypto.cpu.views import Buffer, View, row_major, same, whole
from pypto.dtypes import DataType
from pypto.ir.program import TensorType
from pypto.ir.symbols import Expression, Scalar, Symbol, symbols_in

if TYPE_CHECKING:
    from pypto.cpu.plan_base import PlanBase

WINDOW = 8
MOST_TERMS = 120  # per nest: beyond that, registers are long spilled and code generation slows down
MOST_ACCESSES = 40
Make = Callable[[NestItem, tuple[int, ...], list[Term]], Term]


@dataclass
class Node:
    """A computation that wants a place: its space, operands with their mappings, and what restricts where it may go."""

    extents: tuple[Scalar, ...]
    sizes: tuple[Scalar, ...]
    operands: list[tuple[Held, Mapping]]
    reduces: int | None = None
    target: View | None = None  # of a store: the region written
    after: int = -1  # must come behind this item
    mapping: Mapping = field(default=())  # of a store: axes of the target that the space follows
    guards: tuple[Scalar, ...] = ()

    @staticmethod
    def of(type: TensorType, operands: list[tuple[Held, Mapping]]) -> Node:
        return Node(extents_of(type), sizes_of(type), operands, guards=guards_of(type))


class BlockPlan:
    """The schedule of one block while it is being made."""

    def __init__(self, planner: PlanBase, parent: BlockPlan | None) -> None:
        self.planner = planner
        self.parent = parent
        self.items: list[Item] = []
        self.position: dict[Item, int] = {}
        self.wrote: dict[Buffer, int] = {}
        self.read: dict[Buffer, int] = {}
        self.symbols: dict[Symbol, int] = {}
        self.checked: set[object] = set()  # conditions, and ("evaluated", scalar)
        self.floor = 0  # items before this one are closed: a check or a print stands behind them

    # -- order -----------------------------------------------------------------------------------------------------------------

    def append(self, item: Item) -> int:
        """Put an item at the end; its reads and writes count as done there."""
        self.position[item] = len(self.items)
        self.items.append(item)
        self.note(item)
        return self.position[item]

    def note(self, item: Item) -> None:
        index = self.position[item]
        for buffer in item.reads:
            self.read[buffer] = max(self.read.get(buffer, -1), index)
        for buffer in item.writes:
            self.wrote[buffer] = max(self.wrote.get(buffer, -1), index)

    def barrier(self) -> None:
        self.floor = len(self.items)

    def is_checked(self, condition: object) -> bool:
        """Whether this block or one around it has checked that already."""
        return condition in self.checked or (self.parent is not None and self.parent.is_checked(condition))

    def scalar_ready(self, scalars: Sequence[Scalar]) -> int:
        """The last item that defines a symbol some scalar uses."""
        if not self.symbols:
            return -1
        used = (s for scalar in scalars if isinstance(scalar, Expression) for s in symbols_in(scalar))
        return max((self.symbols.get(s, -1) for s in used), default=-1)

    def made_at(self, held: Held) -> int:
        """The item of this block that makes a value; -1 when an outer block does."""
        if held.home is not self:
            return -1
        return self.position[held.item] if held.item is not None else held.ready

    # -- placing ---------------------------------------------------------------------------------------------------------------

    def place(self, node: Node) -> tuple[NestItem, tuple[int, ...]]:
        """The nest that ``node`` joins (perhaps a new one), and which axes of it the node's axes are."""
        for index in self._candidates(node):
            item = self.items[index]
            if isinstance(item, NestItem):
                embedding = self._fits(node, item, index)
                if embedding is not None:
                    if node.reduces is not None:
                        item.nest.reduced = embedding[node.reduces]
                    return item, embedding
        nest = Nest(f"n{self.planner.next_number()}", node.extents, node.sizes, reduced=node.reduces, guards=node.guards)
        item = NestItem(nest)
        self.append(item)
        return item, tuple(range(len(node.extents)))

    def _candidates(self, node: Node) -> Iterator[int]:
        least = max(self.floor, node.after + 1)
        homes = [self.position[h.item] for h, _ in node.operands if h.item is not None and h.home is self]
        home = max(homes, default=-1)
        if home >= least:
            yield home
        last = len(self.items) - 1
        yield from (i for i in range(last, max(least, home + 1, last - WINDOW) - 1, -1))

    def _fits(self, node: Node, item: NestItem, index: int) -> tuple[int, ...] | None:
        nest = item.nest
        if len(nest.terms) > MOST_TERMS or len(nest.stores) > MOST_ACCESSES or not agree(node.guards, nest.guards):
            return None
        embedding = self._embedding(node, item)
        if embedding is None:
            return None
        if not all(self._usable(held, mapping, item, index, embedding) for held, mapping in node.operands):
            return None
        if node.target is not None and not self._may_store(node, item, index, embedding):
            return None
        return embedding

    def _embedding(self, node: Node, item: NestItem) -> tuple[int, ...] | None:
        nest = item.nest
        if agree(node.extents, nest.extents):
            if node.reduces is not None and nest.reduced not in (None, node.reduces):
                return None
            return tuple(range(nest.rank))
        if node.reduces is not None or not nest.rank or all(held.item is not item for held, _ in node.operands):
            return None
        skipped = nest.reduced if nest.reduced is not None else nest.rank - 1
        rest = tuple(a for a in range(nest.rank) if a != skipped)
        return rest if agree(node.extents, tuple(nest.extents[a] for a in rest)) else None

    def _usable(self, held: Held, mapping: Mapping, item: NestItem, index: int, embedding: tuple[int, ...]) -> bool:
        if held.formula is not None or held.home is not self:
            return True
        if held.item is item:
            return held.axes == followed(held.type, mapping, embedding)
        return self.made_at(held) < index

    def _may_store(self, node: Node, item: NestItem, index: int, embedding: tuple[int, ...]) -> bool:
        """Whether a store into ``node.target`` may happen in this nest: nothing that must come later has happened, and what the nest
        itself reads or writes there is the same element at the same index."""
        assert node.target is not None
        buffer = node.target.buffer
        read, wrote = self.read.get(buffer, -1), self.wrote.get(buffer, -1)
        if max(read, wrote) > index:
            return False
        if index not in (read, wrote):
            return True
        access = access_of(node.target, spread(node.mapping, embedding, item.nest.rank))
        if any(isinstance(t, Gather) and t.access.buffer is buffer for t in item.nest.terms):
            return False
        return all(other.buffer is not buffer or other.aligned(access) for other in item.nest.accesses())

    # -- terms -----------------------------------------------------------------------------------------------------------------

    def term(self, held: Held, mapping: Mapping, item: NestItem, embedding: tuple[int, ...]) -> Term:
        """The value as a term of ``item``: computed there already, computed on the spot, or loaded."""
        wide = spread(mapping, embedding, item.nest.rank)
        if held.formula is not None:
            return held.formula(item, wide)
        if held.item is item and held.term is not None:
            return held.term
        return self.load(item, access_of(self.memory(held), wide))

    def load(self, item: NestItem, access: Access) -> Load:
        index = self.position[item]
        self.read[access.buffer] = max(self.read.get(access.buffer, -1), index)
        return load_in(item.nest, access)

    def memory(self, held: Held) -> View:
        """The value's place in memory; its nest stores it when it has none yet."""
        if held.view is None:
            buffer = self.planner.buffer(held.type)
            held.view = whole(buffer, held.type)
            held.home.write_out(held, held.view)
        return held.view

    def write_out(self, held: Held, view: View) -> None:
        """Store a value into ``view`` in the nest that computes it (or, for a formula, in one of its own)."""
        if held.item is None or held.term is None:
            held.ready = self.store(held, view)
            return
        mapping = kept_axes(held.type)
        access = access_of(view, spread(mapping, held.axes, held.item.nest.rank))
        held.item.nest.stores.append(Store(access, held.term, frozenset(held.axes)))
        self.wrote[view.buffer] = max(self.wrote.get(view.buffer, -1), self.position[held.item])

    def store(self, held: Held, target: View, after: int = -1) -> int:
        """Write a value's valid part into a region of its shape; returns the item that does it."""
        mapping = kept_axes(held.type)
        after = max(after, self.scalar_ready((target.offset, *target.strides, *held.type.valid, *held.scalars)))
        node = Node.of(held.type, [(held, mapping)])
        node.target, node.mapping, node.after = target, mapping, max(after, self._blocked(target.buffer))
        item, embedding = self.place(node)
        term = self.term(held, mapping, item, embedding)
        access = access_of(target, spread(mapping, embedding, item.nest.rank))
        item.nest.stores.append(Store(access, term, frozenset(embedding)))
        index = self.position[item]
        self.wrote[target.buffer] = max(self.wrote.get(target.buffer, -1), index)
        return index

    def _blocked(self, buffer: Buffer) -> int:
        """The item before the earliest one that may write a buffer."""
        return max(self.read.get(buffer, -1), self.wrote.get(buffer, -1)) - 1

    def constant(self, item: NestItem, value: Scalar, dtype: DataType) -> Constant:
        for term in item.nest.terms:
            if (
                isinstance(term, Constant)
                and term.dtype is dtype
                and type(term.value) is type(value)
                and _equal(term.value, value)
            ):
                return term
        made = Constant(dtype, frozenset(), value)
        item.nest.terms.append(made)
        return made

    def compute(self, type: TensorType, node: Node, make: Make, keeps: bool = False) -> Held:
        """Place ``node``, turn its operands into terms and let ``make`` combine them. ``keeps``: the reduced axis stays."""
        item, embedding = self.place(node)
        terms = [self.term(held, mapping, item, embedding) for held, mapping in node.operands]
        term = make(item, embedding, terms)
        if all(t is not term for t in item.nest.terms):
            item.nest.terms.append(term)
        axes = embedding if node.reduces is None or keeps else tuple(a for i, a in enumerate(embedding) if i != node.reduces)
        return Held(type, self, item=item, term=term, axes=axes)


def load_in(nest: Nest, access: Access) -> Load:
    """The load of ``access`` in a nest, one for all its users."""
    for known in nest.loads():
        if known.access.aligned(access):
            return known
    made = Load(access.dtype, frozenset(a for a, stride in enumerate(access.strides) if not same(stride, 0)), access)
    nest.terms.append(made)
    return made


def again(held: Held, item: NestItem, wide: Mapping) -> Term:
    """A formula, or memory that nothing writes, as a term of any nest."""
    if held.formula is not None:
        return held.formula(item, wide)
    assert held.view is not None
    return load_in(item.nest, access_of(held.view, wide))


def agree(a: Sequence[Scalar], b: Sequence[Scalar]) -> bool:
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def _equal(a: Scalar, b: Scalar) -> bool:
    if isinstance(a, Expression) or isinstance(b, Expression):
        return a is b
    return repr(a) == repr(b)  # tells 0.0 from -0.0


def spread(mapping: Mapping, embedding: Sequence[int], rank: int) -> Mapping:
    """A mapping over the node's axes, seen from the nest's axes."""
    wide: list[int | None] = [None] * rank
    for own, axis in zip(mapping, embedding, strict=True):
        wide[axis] = own
    return tuple(wide)


def followed(type: TensorType, mapping: Mapping, embedding: tuple[int, ...]) -> tuple[int, ...]:
    """Axes of the nest that the kept axes of an operand follow."""
    place = {own: embedding[i] for i, own in enumerate(mapping) if own is not None}
    return tuple(place.get(axis, -1) for axis in kept_axes(type))


def access_of(view: View, wide: Mapping) -> Access:
    """How a nest walks a view: one stride per axis of the nest."""
    strides = tuple(0 if own is None else view.strides[own] for own in wide)
    return Access(view.buffer, view.dtype, view.offset, strides)


__all__ = ["BlockPlan", "Node", "access_of", "agree", "row_major"]
