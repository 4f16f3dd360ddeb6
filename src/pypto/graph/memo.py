"""Which results are already there: a table of pure ops by what they compute, and how often each storage has been written."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from typing import Any

from pypto.dtypes import DataType
from pypto.ir.program import Block, Literal, Op, Storage, TensorType, Value, walk
from pypto.ir.symbols import Expression

WRITES = {"store", "accumulate", "write"}
EFFECTS = WRITES | {"print", "check", "allocate", "alias"}


class Unhashable(Exception):
    """An attribute that cannot be compared; the op is then not shared."""


def key_of(thing: Any) -> Any:
    """A hashable stand-in: equal keys mean equal things (0.0 and -0.0 differ, identical tensors are the same object)."""
    if isinstance(thing, (Value, Storage, Expression)):
        return id(thing)
    if isinstance(thing, Literal):
        return ("literal", thing.dtype, key_of(thing.value))
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return (type(thing), repr(thing))
    if isinstance(thing, (DataType, enum.Enum)):
        return thing
    if isinstance(thing, TensorType):
        return (thing.dtype, key_of(thing.shape), key_of(thing.valid))
    if isinstance(thing, (tuple, list)):
        return tuple(key_of(x) for x in thing)
    if isinstance(thing, Mapping):
        return tuple((name, key_of(value)) for name, value in thing.items())
    raise Unhashable


class Memo:
    """Results known in this block. ``inside`` is the memo of an inner block: it sees these, not the other way round."""

    numbers = itertools.count()

    def __init__(self, outer: Memo | None = None) -> None:
        self.outer = outer
        self.found: dict[Any, Op] = {}
        self.versions: dict[Storage, int] = dict(outer.versions) if outer else {}

    def inside(self) -> Memo:
        return Memo(self)

    def wrote(self, storage: Storage) -> None:
        self.versions[storage.root] = next(self.numbers)

    def wrote_in(self, block: Block) -> None:
        for root in written_roots(block):
            self.versions[root] = next(self.numbers)

    def key(self, op: Op) -> Any:
        """What ``op`` computes, or None when it is an effect or cannot be compared."""
        if op.name in EFFECTS or not op.results:
            return None
        versions = tuple(self.versions.get(o.root, -1) for o in op.operands if isinstance(o, Storage))
        types = tuple(key_of(r.type) if isinstance(r, Value) else r.kind for r in op.results if not isinstance(r, Storage))
        try:
            return (op.name, key_of(op.operands), key_of(op.attributes), types, versions)
        except Unhashable:
            return None

    def same_as(self, op: Op) -> Op | None:
        """An earlier visible op that computes the same, else None; ``op`` is then remembered."""
        key = self.key(op)
        if key is None:
            return None
        memo: Memo | None = self
        while memo is not None:
            if key in memo.found:
                return memo.found[key]
            memo = memo.outer
        self.found[key] = op
        return None


def written_roots(block: Block) -> dict[Storage, None]:
    """Storages (not aliases) written anywhere in a block, in order."""
    roots: dict[Storage, None] = {}
    for statement in walk(block):
        if isinstance(statement, Op) and statement.name in WRITES:
            storage = statement.operands[0]
            assert isinstance(storage, Storage)
            roots[storage.root] = None
    return roots
