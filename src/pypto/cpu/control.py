"""Loops and branches: carried tensors live in one buffer each; light branches become a choice inside a nest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.cpu.compute import NATIVE, ComputePlan
from pypto.cpu.fuse import BlockPlan
from pypto.cpu.hold import Held
from pypto.cpu.items import IfItem, Item, LoopItem
from pypto.cpu.stages import cost_of_name
from pypto.cpu.views import View, same, whole
from pypto.dtypes import DataType
from pypto.ir.program import If, Literal, Loop, Op, TensorType, Value
from pypto.ir.symbols import Expression, Scalar, Symbol
from pypto.ops.table import OPERATIONS, Kind

_D = DataType


class ControlPlan(ComputePlan):
    def loop(self, plan: BlockPlan, loop: Loop) -> None:
        body = BlockPlan(self, plan)
        symbols: list[tuple[Symbol, Scalar, Scalar, Symbol]] = []
        places: list[View | None] = []
        for carried, following in zip(loop.carried, loop.body.yields, strict=True):
            if isinstance(carried.argument, Symbol):
                assert isinstance(carried.result, Symbol)
                symbols.append((carried.argument, _number(carried.initial), _number(following), carried.result))
                places.append(None)
                continue
            view = whole(self.buffer(carried.argument.type, carried.argument.hint), carried.argument.type)
            initial = self.operand(plan, carried.initial)
            self.check_same_extents(plan, carried.argument.type, initial, loop.span)
            plan.store(initial, view)
            self.held[carried.argument] = Held(carried.argument.type, body, -1, view)
            places.append(view)
        self.statements(body, loop.body)
        self.evaluated(body, self.risks.among(loop.body.yields), loop.span)
        self._yields(body, loop, places)
        index = plan.append(LoopItem(loop, body.items, symbols))
        for carried, place in zip(loop.carried, places, strict=True):
            if place is None:
                plan.symbols[carried.result] = index  # type: ignore[index]
            else:
                type = carried.result.type  # type: ignore[union-attr]
                self.held[carried.result] = Held(type, plan, index, whole(place.buffer, type))  # type: ignore[index]

    def _yields(self, body: BlockPlan, loop: Loop, places: Sequence[View | None]) -> None:
        """Write the next values of carried tensors. All are read before any is written."""
        carried = {place.buffer for place in places if place is not None}
        ready: list[tuple[Held, View]] = []
        for operand, place, carried_one in zip(loop.body.yields, places, loop.carried, strict=True):
            if place is None:
                continue
            type, span = carried_one.argument.type, loop.span  # type: ignore[union-attr]
            held = self.operand(body, operand)
            self.check_same_extents(body, type, held, span)
            view = held.view
            if view is not None and held.term is None and view.buffer in carried:
                if view.buffer is place.buffer and same(view.offset, 0) and view.strides == place.strides:
                    continue  # unchanged
                held = self.copied(body, held)
            ready.append((held, place))
        for held, place in ready:
            body.store(held, place)

    def branch(self, plan: BlockPlan, branch: If) -> None:
        if is_choice(branch) and not self._may_stop(branch):
            self._choice(plan, branch)
        else:
            self._branch(plan, branch)

    def _may_stop(self, branch: If) -> bool:
        """Whether an arm uses a scalar that may have no value: it must not be evaluated unless the arm is taken."""
        arms = (branch.then, branch.orelse)
        return any(self.risks.of(s) for arm in arms for s in arm.statements) or any(self.risks.among(a.yields) for a in arms)

    def _choice(self, plan: BlockPlan, branch: If) -> None:
        """Both arms computed, one chosen element by element: stays inside the nest that uses it."""
        self.statements(plan, branch.then)
        self.statements(plan, branch.orelse)
        condition = self.constant(plan, TensorType(_D.DT_BOOL, ()), branch.condition)
        for result, a, b in zip(branch.results, branch.then.yields, branch.orelse.yields, strict=True):
            assert isinstance(result, Value)
            operands = [condition, self.operand(plan, a), self.operand(plan, b)]
            self.hold(result, self.apply(plan, result.type, "where", lambda v, c, x, y: v.select(c, x, y), operands))

    def _branch(self, plan: BlockPlan, branch: If) -> None:
        places = [None if isinstance(r, Symbol) else whole(self.buffer(r.type, r.hint), r.type) for r in branch.results]
        schedules: list[list[Item]] = []
        for block in (branch.then, branch.orelse):
            inner = BlockPlan(self, plan)
            self.statements(inner, block)
            self.evaluated(inner, self.risks.among(block.yields), branch.span)
            for operand, place, result in zip(block.yields, places, branch.results, strict=True):
                if place is not None:
                    held = self.operand(inner, operand)
                    self.check_same_extents(inner, result.type, held, branch.span)  # type: ignore[union-attr]
                    inner.store(held, place)
            schedules.append(inner.items)
        symbols = [
            (r, _number(a), _number(b))
            for r, a, b in zip(branch.results, branch.then.yields, branch.orelse.yields, strict=True)
            if isinstance(r, Symbol)
        ]
        index = plan.append(IfItem(branch, schedules[0], schedules[1], symbols))
        for result, place in zip(branch.results, places, strict=True):
            if isinstance(result, Symbol):
                plan.symbols[result] = index
            else:
                assert place is not None
                self.held[result] = Held(result.type, plan, index, place)


CHOICE_COST = 12  # instructions a vector that computing both arms may add


def is_choice(branch: If) -> bool:
    """Whether both arms are a little elementwise arithmetic on tensors of one type, so that computing both costs less than a copy."""
    if not branch.results or any(isinstance(r, Symbol) for r in branch.results) or not isinstance(branch.condition, Expression):
        return False
    cost = 0
    for block in (branch.then, branch.orelse):
        for statement in block.statements:
            if not isinstance(statement, Op) or not _is_light(statement):
                return False
            cost += 1 if statement.name == "full" else cost_of_name(statement.name, statement.result.type.dtype)
        pairs = zip(block.yields, branch.results, strict=True)
        if any(not isinstance(y, Value) or not isinstance(r, Value) or y.type != r.type for y, r in pairs):
            return False
    return cost <= CHOICE_COST


def _is_light(op: Op) -> bool:
    row = OPERATIONS.get(op.name)
    if row is None or not all(isinstance(o, (Value, Literal)) for o in op.operands) or len(op.results) != 1:
        return False
    types = [op.result.type, *(o.type for o in op.operands if isinstance(o, Value))]
    return all(t.dtype in NATIVE for t in types) and (
        op.name in ("full", "tril", "triu") or (row.kind is Kind.ELEMENTWISE and callable(row.lower))
    )


def _number(operand: Any) -> Scalar:
    return operand.value if isinstance(operand, Literal) else operand
