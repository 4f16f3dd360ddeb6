"""Where statements touch storages: an ``Access`` per region read or written, in program order, with what is known there.

Regions of an alias are translated to the storage it stands for (over-approximated where a reshape has no rectangle for them).
``disjoint`` and ``same_region`` compare two accesses under the conditions of both places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pypto.errors.base import InternalError
from pypto.graph.facts import Facts, range_conditions
from pypto.ir import symbols as ir
from pypto.ir.program import Block, If, Loop, Op, Program, Statement, Storage, Value, results_of, walk
from pypto.ir.simplify_symbols import simplify
from pypto.ir.symbols import Expression, Scalar
from pypto.ops.valid import groups, product

Extents = tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Access:
    """``extents`` elements at ``offsets`` of ``root`` are read or written by ``op``. Not ``exact``: perhaps fewer."""

    op: Op
    storage: Storage
    root: Storage
    offsets: Extents
    extents: Extents
    reads: bool
    writes: bool
    exact: bool = True
    position: int = 0
    around: tuple[Statement, ...] = ()
    sides: tuple[bool, ...] = ()  # of each branch in ``around``: whether in its first arm
    conditions: tuple[Scalar, ...] = ()

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(s for s in self.around if isinstance(s, Loop))


def accesses_of(op: Op) -> Iterator[Access]:
    """The regions that one op touches."""
    if op.name in ("load", "store", "accumulate"):
        storage: Any = op.operands[0]
        extents = op.result.type.valid if op.name == "load" else stored_extent(op)
        reads, writes = op.name != "store", op.name != "load"
        yield in_root(Access(op, storage, storage, tuple(op.attributes["offsets"]), extents, reads, writes))
    elif op.name in ("read", "write") and isinstance(op.operands[0], Storage):
        storage, indices = op.operands[0], tuple(op.attributes["indices"])
        yield in_root(Access(op, storage, storage, indices, (1,) * len(indices), op.name == "read", op.name == "write"))
    elif op.name not in ("allocate", "alias", "read", "write"):
        for operand in op.operands:
            if isinstance(operand, Storage):
                yield in_root(
                    Access(op, operand, operand, (0,) * operand.type.rank, operand.type.shape, True, False, exact=False)
                )


def stored_extent(op: Op) -> Extents:
    """What a store writes: the valid part of its value; a number fills everything from the offsets on."""
    storage, value = op.operands
    if isinstance(value, Value):
        return value.type.valid
    if not isinstance(storage, Storage):
        raise InternalError("a store writes into something that is no storage", step="regions")
    return tuple(ir.sub(size, offset) for size, offset in zip(storage.type.shape, op.attributes["offsets"], strict=True))


# -- aliases -------------------------------------------------------------------------------------------------------------------


def in_root(access: Access) -> Access:
    """The access in coordinates of the storage that holds the bytes."""
    while access.root.base is not None:
        base, shape = access.root.base, access.root.type.shape
        offsets: list[Scalar] = [0] * base.type.rank
        extents: list[Scalar] = list(base.type.shape)
        exact = access.exact
        for mine, theirs in groups(shape, base.type.shape):
            part = _group(access, [shape[a] for a in mine], mine, [base.type.shape[a] for a in theirs])
            if part is None:
                exact = False
                continue
            for axis, (offset, extent) in zip(theirs, part, strict=True):
                offsets[axis], extents[axis] = offset, extent
        access = replace(access, root=base, offsets=tuple(offsets), extents=tuple(extents), exact=exact)
    return access


def _group(
    access: Access, shape: Sequence[Scalar], axes: Sequence[int], target: Sequence[Scalar]
) -> list[tuple[Scalar, Scalar]] | None:
    """Offset and extent per target axis of one group of axes that holds equally many elements on both sides."""
    inner = [(s, access.offsets[a], access.extents[a]) for s, a in zip(shape, axes, strict=True)]
    if all(_is(o, 0) and _same(e, s) for s, o, e in inner):
        return [(0, size) for size in target]
    start, run = _run(inner)
    if run is None:
        return None
    wide = [i for i, size in enumerate(target) if not _is(size, 1)]
    result: list[tuple[Scalar, Scalar]] = [(0, 1)] * len(target)
    if not wide:
        return result
    row = product([target[i] for i in wide[1:]])
    if len(wide) > 1 and not (_is(ir.mod(start, row), 0) and _is(ir.mod(run, row), 0)):
        return None
    for i in wide[1:]:
        result[i] = (0, target[i])
    result[wide[0]] = (simplify(ir.floordiv(start, row)), simplify(ir.floordiv(run, row)))
    return result


def _run(inner: Sequence[tuple[Scalar, Scalar, Scalar]]) -> tuple[Scalar, Scalar | None]:
    """Start and length of the run of elements that a region of some axes is, in row-major order; length None when it is none."""
    start: Scalar = 0
    run: Scalar | None = 1
    behind: Scalar = 1
    whole = True  # every axis behind is covered completely
    for size, offset, extent in reversed(inner):
        start = ir.add(start, ir.mul(offset, behind))
        if not _is(extent, 1) and run is not None:
            run = ir.mul(extent, behind) if whole else None
        whole = whole and _is(offset, 0) and _same(extent, size)
        behind = ir.mul(behind, size)
    return simplify(start), None if run is None else simplify(run)


def _is(a: Scalar, number: int) -> bool:
    simple = simplify(a)
    return not isinstance(simple, Expression) and simple == number


def _same(a: Scalar, b: Scalar) -> bool:
    return a is b or _is(ir.sub(a, b), 0)


# -- the accesses of a program -------------------------------------------------------------------------------------------------


class Survey:
    """Every access of a program, by root storage, in program order; ``span_of`` gives first and last position of a statement."""

    def __init__(self, program: Program) -> None:
        self.accesses: dict[Storage, list[Access]] = {}
        self.position: dict[Statement, int] = {}
        self.end: dict[Statement, int] = {}
        self.around: dict[Statement, tuple[Statement, ...]] = {}
        self.count = 0
        self._block(program.body, _Place())

    def _block(self, block: Block, place: _Place) -> None:
        for statement in block.statements:
            self.count += 1
            self.position[statement], self.around[statement] = self.count, place.around
            if isinstance(statement, Loop):
                ranged = range_conditions(statement.index, statement.start, statement.stop, statement.step)
                self._block(statement.body, place.inside(statement, True, ranged))
            elif isinstance(statement, If):
                self._block(statement.then, place.inside(statement, True, [statement.condition]))
                self._block(statement.orelse, place.inside(statement, False, [ir.logical_not(statement.condition)]))
            elif statement.name == "check":
                condition: Any = statement.operands[0]
                place = replace(place, conditions=(*place.conditions, condition))
            else:
                for access in accesses_of(statement):
                    placed = replace(
                        access, position=self.count, around=place.around, sides=place.sides, conditions=place.conditions
                    )
                    self.accesses.setdefault(placed.root, []).append(placed)
            self.end[statement] = self.count


@dataclass(frozen=True)
class _Place:
    """The loops and branches around a block, and what holds in it."""

    around: tuple[Statement, ...] = ()
    sides: tuple[bool, ...] = ()
    conditions: tuple[Scalar, ...] = ()

    def inside(self, statement: Statement, side: bool, conditions: Sequence[Scalar]) -> _Place:
        return _Place((*self.around, statement), (*self.sides, side), (*self.conditions, *conditions))


def defined_in(block: Block) -> Iterable[Any]:
    """Everything defined inside a block, loop indices and carried arguments included."""
    for statement in walk(block):
        yield from results_of(statement)
        if isinstance(statement, Loop):
            yield statement.index
            yield from (c.argument for c in statement.carried)


# -- comparing -----------------------------------------------------------------------------------------------------------------


def facts_at(*accesses: Access) -> Facts:
    """What is known where all of these happen."""
    return Facts().inside(dict.fromkeys(c for access in accesses for c in access.conditions))


def apart(a: Access, b: Access, axis: int) -> list[Scalar]:
    """Conditions each of which means that the two have nothing in common along ``axis``."""
    return [
        ir.compare("le", ir.add(a.offsets[axis], a.extents[axis]), b.offsets[axis]),
        ir.compare("le", ir.add(b.offsets[axis], b.extents[axis]), a.offsets[axis]),
    ]


def empty(access: Access) -> list[Scalar]:
    return [ir.compare("le", extent, 0) for extent in access.extents]


def disjoint(a: Access, b: Access, facts: Facts | None = None) -> bool:
    """Whether two accesses certainly have no element in common. Without ``facts``, those of both places are used."""
    if a.root is not b.root:
        return True
    conditions = [c for axis in range(a.root.type.rank) for c in apart(a, b, axis)] + empty(a) + empty(b)
    if any(c is True for c in conditions):
        return True
    if all(not isinstance(c, Expression) for c in conditions):
        return False
    known = facts if facts is not None else facts_at(a, b)
    return any(isinstance(c, Expression) and known.proves(c) for c in conditions)


def same_region(a: Access, b: Access, facts: Facts | None = None) -> bool:
    """Whether two accesses certainly touch the same elements."""
    if a.root is not b.root or not (a.exact and b.exact):
        return False
    pairs = list(zip((*a.offsets, *a.extents), (*b.offsets, *b.extents), strict=True))
    if all(_same(x, y) for x, y in pairs):
        return True
    known = facts if facts is not None else facts_at(a, b)
    return all(known.proves(ir.compare("eq", x, y)) for x, y in pairs)
