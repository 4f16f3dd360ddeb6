"""Which loads need a copy, and which updates happen in place.

In: a simplified program whose loads all copy ("what the storage holds now"). Out: every load says what it is: ``lazy=True``
reads the storage where the value is used, because nothing writes that region until then; ``lazy=False`` is a copy that is
needed, and visible. An updating op (``scatter_update``) whose result goes back to where its operand came from is
``in_place=True``, and so is the store that then has nothing to do.

Before::

    program example(x: fp32[8, 4], y: fp32[4, 4]):
        a: fp32[4, 4] = load(x, offsets=(0, 0))
        b: fp32[4, 4] = load(x, offsets=(4, 0))
        store(x, b, offsets=(0, 0))
        store(y, a, offsets=(0, 0))

After::

    program example(x: fp32[8, 4], y: fp32[4, 4]):
        a: fp32[4, 4] = load(x, offsets=(0, 0), lazy=False)
        b: fp32[4, 4] = load(x, offsets=(4, 0), lazy=True)
        store(x, b, offsets=(0, 0))
        store(y, a, offsets=(0, 0))

A value made from a lazy load by movement ops (view, reshape, permute …) still is that region, so its uses count; any other
op ends the region's life where it stands. Not handled: splitting a load so that only a part of it is copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pypto.graph.regions import Access, Survey, disjoint, same_region
from pypto.ir.program import Block, If, Loop, Op, Program, Statement, Value, walk
from pypto.ir.rewrite import Rewriter
from pypto.ops.table import OPERATIONS, Kind


def storage(program: Program) -> Program:
    """``program`` with every load marked lazy or not, and updates marked where they happen in place."""
    plan = _Plan(program)
    return _Marker(plan.lazy, plan.in_place).program(program)


class _Plan:
    """Uses of every value, writes of every storage, and what follows for each load and update."""

    def __init__(self, program: Program) -> None:
        self.survey = Survey(program)
        self.uses: dict[Value, list[Statement]] = {}
        self.lazy: dict[Op, bool] = {}
        self.in_place: set[Op] = set()
        self.maker: dict[Value, Op] = {}
        self._collect(program.body, None)
        self.access: dict[Op, Access] = {a.op: a for found in self.survey.accesses.values() for a in found}
        self.begin: dict[Op, tuple[Op, int]] = {}  # of a store in place: the load it starts from, and where the first update is
        ops = [s for s in walk(program.body) if isinstance(s, Op)]
        for op in ops:
            if op.name == "store":
                self.update_in_place(op)
        self.writes = {root: sorted(map(self.moved, found), key=_position) for root, found in self.survey.accesses.items()}
        self.positions = {root: [a.position for a in found] for root, found in self.writes.items()}
        for op in ops:
            if op.name == "load":
                self.lazy[op] = not any(self.conflicts(op))

    def moved(self, access: Access) -> Access:
        """A store in place happens where the first update is."""
        return replace(access, position=self.begin[access.op][1]) if access.op in self.begin else access

    def _collect(self, block: Block, owner: Statement | None) -> None:
        for statement in block.statements:
            for operand in _operands(statement):
                if isinstance(operand, Value):
                    self.uses.setdefault(operand, []).append(statement)
            if isinstance(statement, Loop):
                self._collect(statement.body, statement)
            elif isinstance(statement, If):
                self._collect(statement.then, statement)
                self._collect(statement.orelse, statement)
            else:
                self.maker.update({r: statement for r in statement.results if isinstance(r, Value)})
        for operand in block.yields:
            if isinstance(operand, Value) and owner is not None:
                self.uses.setdefault(operand, []).append(_Yield(owner, block))  # type: ignore[arg-type]

    # -- how long a region is needed -------------------------------------------------------------------------------------------

    def last_need(self, load: Op, without: Op | None = None) -> int:
        """Position of the last statement that may read the loaded region, uses through movement ops included."""
        around = self.survey.around[load]
        last, pending = self.survey.position[load], [load.result]
        while pending:
            for use in self.uses.get(pending.pop(), []):
                if use is without:
                    continue
                last = max(last, self.when(use, around))
                if isinstance(use, Op) and moves(use):
                    pending.extend(r for r in use.results if isinstance(r, Value))
        return last

    def when(self, use: Statement, around: tuple[Statement, ...]) -> int:
        """Position of a use as seen from a place: a use in a loop that the place is outside of lasts to the end of the loop."""
        if isinstance(use, _Yield):
            place, position = (*self.survey.around[use.owner], use.owner), use.position(self.survey)
        else:
            place, position = self.survey.around[use], self.survey.position[use]
        for outer in place[len(_shared(place, around)) :]:
            if isinstance(outer, Loop):
                return self.survey.end[outer]
        return position

    # -- conflicts -------------------------------------------------------------------------------------------------------------

    def conflicts(self, load: Op) -> Iterable[Access]:
        """Writes that may change the loaded region before its last use."""
        region = self.access[load]
        last = self.last_need(load)
        writes, positions = self.writes.get(region.root, []), self.positions.get(region.root, [])
        for write in writes[bisect_right(positions, region.position) : bisect_right(positions, last)]:
            if not write.writes or self.begin.get(write.op, (None, 0))[0] is load or disjoint(region, write):
                continue
            if self.stores_itself(load, write, last) and same_region(region, write):
                continue  # what is read is written back to the same place
            yield write

    def stores_itself(self, load: Op, write: Access, last: int) -> bool:
        return write.op.name == "store" and write.op.operands[1] is load.result and write.position == last

    # -- updates ---------------------------------------------------------------------------------------------------------------

    def update_in_place(self, store: Op) -> None:
        """``x[:] = update(x, …)``, also several updates in a row: nothing else may see the values or the region in between."""
        chain: list[Op] = []
        value: Any = store.operands[1]
        while isinstance(value, Value) and value in self.maker:
            op = self.maker[value]
            if op.name == "load":
                if chain and self.undisturbed(op, chain[-1], store):
                    self.in_place.update((*chain, store))
                    self.begin[store] = op, self.survey.position[chain[-1]]
                return
            row = OPERATIONS.get(op.name)
            if row is None or (row.mutates or row.renews) != (0,) or len(op.results) != 1 or len(self.uses[value]) != 1:
                return
            chain.append(op)
            value = op.operands[0]

    def undisturbed(self, load: Op, first: Op, store: Op) -> bool:
        """Whether load and store are the same region, in one block, with no access to it and no other use in between."""
        region, target = self.access[load], self.access[store]
        if self.survey.around[load] != self.survey.around[store] or not same_region(region, target):
            return False
        if self.last_need(load, without=first) > self.survey.position[first]:
            return False
        between = (a for a in self.survey.accesses[region.root] if region.position < a.position < target.position)
        return all(disjoint(region, a) for a in between)


class _Yield:
    """The use of a value by the end of a block."""

    def __init__(self, owner: Statement, block: Block) -> None:
        self.owner = owner
        self.block = block

    def position(self, survey: Survey) -> int:
        statements = self.block.statements
        return survey.end[statements[-1]] if statements else survey.position[self.owner]


def _position(access: Access) -> int:
    return access.position


def _operands(statement: Statement) -> list[Any]:
    if isinstance(statement, Op):
        return list(statement.operands)
    return [c.initial for c in statement.carried] if isinstance(statement, Loop) else []


def _shared(a: tuple[Statement, ...], b: tuple[Statement, ...]) -> list[Statement]:
    shared = []
    for x, y in zip(a, b, strict=False):
        if x is not y:
            break
        shared.append(x)
    return shared


def moves(op: Op) -> bool:
    """Whether the results of an op may be the very elements of its operands."""
    row = OPERATIONS.get(op.name)
    return row is not None and row.kind is Kind.MOVEMENT


class _Marker(Rewriter):
    def __init__(self, lazy: Mapping[Op, bool], in_place: set[Op]) -> None:
        super().__init__()
        self.lazy = lazy
        self.in_place = in_place

    def op(self, op: Op) -> Iterable[Statement]:
        facts: dict[str, Any] = {}
        if op in self.lazy:
            facts["lazy"] = self.lazy[op]
        if op in self.in_place:
            facts["in_place"] = True
        return [Op(op.name, op.operands, {**op.attributes, **facts}, op.results, op.span)] if facts else [op]
