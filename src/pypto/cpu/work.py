"""How long items take, roughly: only decides what is worth a task and how much goes into one."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.cpu.items import (
    AllocateItem,
    BandItem,
    CheckItem,
    EvaluateItem,
    IfItem,
    Item,
    LoopItem,
    MatmulItem,
    NestItem,
    ProductItem,
    ReadItem,
    WriteItem,
)
from pypto.cpu.stages import cost_of
from pypto.cpu.views import product
from pypto.ir.symbols import Expression, Scalar, bounds_of

INSTRUCTION = 0.25  # nanoseconds of a vector instruction with its share of memory traffic, 3 GHz
MULTIPLIES_PER_NANOSECOND = 50  # fp32 on one core, with packing
_VECTOR = 16
_UNKNOWN_TRIPS = 16.0
_UNKNOWN_SIZE = 100_000.0  # elements of an axis of unknown size
_CALL = 20.0


def nanoseconds_of(items: Iterable[Item]) -> float:
    """Estimated time of items, one after the other, on one core."""
    return sum(map(_one, items))


def _one(item: Item) -> float:
    if isinstance(item, NestItem):
        instructions = sum(map(cost_of, item.nest.terms)) + len(item.nest.stores)
        return _CALL + _size(product(item.nest.sizes), _UNKNOWN_SIZE) / _VECTOR * instructions * INSTRUCTION
    if isinstance(item, MatmulItem):
        work = product([*item.c.shape, item.a.shape[-1]])
        return 10 * _CALL + _size(work, _UNKNOWN_SIZE) / MULTIPLIES_PER_NANOSECOND
    if isinstance(item, ProductItem):
        return _one(item.matmul) + _one(item.nest)
    if isinstance(item, BandItem):
        return nanoseconds_of(item.items)
    if isinstance(item, LoopItem):
        from pypto.cpu.split import trips_of

        return _size(trips_of(item.loop), _UNKNOWN_TRIPS) * nanoseconds_of(item.body)
    if isinstance(item, IfItem):
        return max(nanoseconds_of(item.then), nanoseconds_of(item.orelse))
    return 2.0 if isinstance(item, (AllocateItem, CheckItem, EvaluateItem, ReadItem, WriteItem)) else 10 * _CALL


def _size(number: Scalar, unknown: float) -> float:
    """A number, its upper bound, or a guess."""
    if not isinstance(number, Expression):
        return float(number)
    high = bounds_of(number)[1]
    return min(high, unknown) if high != float("inf") else unknown
