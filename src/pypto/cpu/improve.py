"""Schedule → better schedule: products that need no buffer of their own.

    matmul c = a @ b; nest: out = c            →  matmul out = a @ b
    matmul c = a @ b; nest: out = f(c, …)      →  product: f on every finished block (only where the matmul is parallel)

The nest must be elementwise over exactly the rows and columns of ``c``, the only user of ``c``, and must not write what the matmul reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pypto.cpu.bands import form_bands
from pypto.cpu.bands_turned import turn_bands
from pypto.cpu.fuse import agree
from pypto.cpu.items import IfItem, Item, LoopItem, MatmulItem, NestItem, ProductItem
from pypto.cpu.merge import merge
from pypto.cpu.nests import Load
from pypto.cpu.views import Buffer, View, same
from pypto.dtypes import DataType


def improve(items: list[Item], parallel: set[LoopItem]) -> list[Item]:
    """``items`` with nests merged and matmuls joined to the nests behind them; inner schedules are replaced in place."""
    users = _users(items)
    merge(items, users)
    _mark_flushing(list(_leaves(items)))
    found = _improved(items, users, parallel, serial=False)
    turn_bands(found, parallel)
    return found


def _users(items: Iterable[Item]) -> Counter[Buffer]:
    count: Counter[Buffer] = Counter()
    for item in _leaves(items):
        count.update(item.reads | item.writes)
    return count


def _leaves(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, LoopItem):
            yield from _leaves(item.body)
        elif isinstance(item, IfItem):
            yield from _leaves((*item.then, *item.orelse))
        else:
            yield item


def _mark_flushing(items: list[Item]) -> None:
    """Mark the stores whose readers are all bf16 products: with the instructions that convert, those take denormals for 0."""
    read_by_products: Counter[Buffer] = Counter()
    for item in items:
        if isinstance(item, MatmulItem) and item.kind == "bf16":
            read_by_products.update({item.a.buffer, item.b.buffer})
    readers = Counter(buffer for item in items for buffer in item.reads)
    for item in items:
        for store in item.nest.stores if isinstance(item, NestItem) else ():
            buffer = store.access.buffer
            private = buffer.role == "local" and buffer.dtype is DataType.DT_BF16
            store.flushes = private and 0 < readers[buffer] == read_by_products[buffer]


def _improved(items: list[Item], users: Counter[Buffer], parallel: set[LoopItem], serial: bool) -> list[Item]:
    found = list(items)
    for item in items:
        if isinstance(item, LoopItem):
            item.body[:] = _improved(item.body, users, parallel, serial or item in parallel)
        elif isinstance(item, IfItem):
            item.then[:] = _improved(item.then, users, parallel, serial)
            item.orelse[:] = _improved(item.orelse, users, parallel, serial)
        elif isinstance(item, MatmulItem) and users[item.c.buffer] == 2 and item.c.buffer.role == "local":
            _join(found, item, serial)
    return form_bands(found, users) if serial else found


def _join(items: list[Item], matmul: MatmulItem, serial: bool) -> None:
    """Join ``matmul`` with the nest that reads its result, at the place of the nest."""
    start = items.index(matmul)
    end = next((i for i in range(start + 1, len(items)) if matmul.c.buffer in items[i].reads), None)
    nest = items[end] if end is not None else None
    if not isinstance(nest, NestItem) or end is None or nest.writes & matmul.reads:
        return
    if any(item.writes & matmul.reads for item in items[start + 1 : end]):
        return
    if _same_space(matmul, nest):
        target = _copied_to(matmul, nest)
        if target is not None:
            matmul.c = target
            items[end] = matmul
            del items[start]
        elif not serial:
            items[end] = ProductItem(matmul, nest)
            del items[start]


def _same_space(matmul: MatmulItem, item: NestItem) -> bool:
    nest, c = item.nest, matmul.c
    if nest.rank != 2 or nest.reduced is not None or nest.guards or not all(same(n, 1) for n in c.shape[:-2]):
        return False
    loads = [load.access for load in nest.loads() if load.access.buffer is c.buffer]
    whole = all(same(a.offset, c.offset) and a.dtype is c.dtype and agree(a.strides, c.strides[-2:]) for a in loads)
    return whole and agree(nest.extents, c.valid[-2:])


def _copied_to(matmul: MatmulItem, item: NestItem) -> View | None:
    """Where a nest that only copies the product puts it, as a view like ``c``."""
    nest, c = item.nest, matmul.c
    if len(nest.stores) != 1 or not isinstance(nest.stores[0].term, Load):
        return None
    access = nest.stores[0].access
    if access.dtype is not c.dtype or not same(access.strides[1], 1):
        return None
    strides = (*c.strides[:-2], *access.strides)
    return View(access.buffer, c.dtype, access.offset, strides, c.shape, c.valid)
