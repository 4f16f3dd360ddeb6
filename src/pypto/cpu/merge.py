"""Schedule → better schedule: nests of one space that stand apart become one.

    nest a: v = f(x)          matmul c = …         nest b: out = g(v, c)      →   matmul c = …; nest: out = g(f(x), c)

Fusion places a computation as early as it can; here a nest moves down to a later one that has the same space and reads what it
stores. It may when nothing between touches what it writes or writes what it reads, and when every buffer both touch is walked alike. A
buffer that is then only read inside the nest is not stored at all.
"""

from __future__ import annotations

from collections import Counter

from pypto.cpu.fuse import MOST_TERMS, agree
from pypto.cpu.items import IfItem, Item, LoopItem, NestItem
from pypto.cpu.nests import Access, Apply, Constant, Gather, Load, Nest, Reduce, Scan, Store, Term
from pypto.cpu.views import Buffer

REACH = 12  # items looked ahead


def merge(items: list[Item], users: Counter[Buffer]) -> None:
    """Merge nests of a block (and of the blocks inside it) in place; ``users`` counts the items that touch each buffer."""
    for item in items:
        if isinstance(item, LoopItem):
            merge(item.body, users)
        elif isinstance(item, IfItem):
            merge(item.then, users)
            merge(item.orelse, users)
    index = len(items) - 1
    while index >= 0:
        item = items[index]
        if isinstance(item, NestItem):
            later = _partner(items, index, item)
            if later is not None:
                _merge(item, later, users)
                del items[index]
        index -= 1


def _partner(items: list[Item], index: int, item: NestItem) -> NestItem | None:
    reads, writes = item.reads, item.writes
    for later in items[index + 1 : index + 1 + REACH]:
        if isinstance(later, NestItem) and writes & later.reads and _compatible(item.nest, later.nest):
            return later
        if later.writes & (reads | writes) or later.reads & writes:
            return None
    return None


def _compatible(first: Nest, second: Nest) -> bool:
    if not (agree(first.extents, second.extents) and agree(first.guards, second.guards)):
        return False
    if first.reduced is not None and second.reduced is not None and first.reduced != second.reduced:
        return False
    if len(first.terms) + len(second.terms) > MOST_TERMS:
        return False
    written = {s.access.buffer for n in (first, second) for s in n.stores}
    if any(t.access.buffer in written for n in (first, second) for t in n.terms if isinstance(t, Gather)):
        return False
    later = list(second.accesses())
    return all(b.buffer is not a.buffer or a.aligned(b) for a in first.accesses() if a.buffer in written for b in later)


def _merge(item: NestItem, later: NestItem, users: Counter[Buffer]) -> None:
    """Move everything of ``item`` to the front of ``later``."""
    first, second = item.nest, later.nest
    shared = (item.reads | item.writes) & (later.reads | later.writes)
    stored = {id(s.access): s for s in first.stores}
    terms = list(first.terms)
    replaced: dict[int, Term] = {}
    for term in second.terms:
        replaced[id(term)] = _moved(term, first.stores, terms, replaced)
    second.terms = terms
    second.stores = list(stored.values()) + [Store(s.access, replaced[id(s.term)], s.axes) for s in second.stores]
    second.reduced = first.reduced if second.reduced is None else second.reduced
    for buffer in shared:
        users[buffer] -= 1
    _drop_unread(second, users)


def _moved(term: Term, stores: list[Store], terms: list[Term], replaced: dict[int, Term]) -> Term:
    """``term`` of the later nest among ``terms``: a load of something just stored becomes that, equal loads become one."""
    if isinstance(term, Load):
        store = next((s for s in reversed(stores) if s.access.aligned(term.access)), None)
        if store is not None and store.term.dtype is term.dtype:
            return store.term
        known = next((t for t in terms if isinstance(t, Load) and store is None and t.access.aligned(term.access)), None)
        if known is not None:
            return known
    elif isinstance(term, Apply):
        term.arguments = tuple(replaced[id(t)] for t in term.arguments)
        term.axes = frozenset().union(*(t.axes for t in term.arguments))
    elif isinstance(term, Gather):
        term.index = replaced[id(term.index)]
    elif isinstance(term, (Reduce, Scan)):
        term.operand = replaced[id(term.operand)]
    terms.append(term)
    return term


def _drop_unread(nest: Nest, users: Counter[Buffer]) -> None:
    """Forget stores into local buffers that only this nest touches and does not load."""
    loaded = {id(t.access.buffer) for t in nest.terms if isinstance(t, (Load, Gather))}
    last = {id(s.access.buffer): s for s in nest.stores}

    def needed(store: Store) -> bool:
        buffer = store.access.buffer
        alone = buffer.role == "local" and users[buffer] <= 1 and id(buffer) not in loaded
        overwritten = last[id(buffer)] is not store and last[id(buffer)].axes == store.axes and id(buffer) not in loaded
        return not alone and not overwritten

    nest.stores = [s for s in nest.stores if needed(s)]


__all__ = ["Access", "Constant", "merge"]
