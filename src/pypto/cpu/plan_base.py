"""What all parts of the planner share: known values, storages, numbers, checks.

Each part of the planner is a class that adds a kind of statement: ``StoragePlan`` (storages.py), ``ComputePlan`` (compute.py),
``ControlPlan`` (control.py); ``Planner`` (plan.py) is their sum.
"""

from __future__ import annotations

import itertools
from typing import Any

from pypto.cpu.fuse import BlockPlan, Node
from pypto.cpu.hold import Held, kept_axes
from pypto.cpu.items import Call, CheckItem, EvaluateItem
from pypto.cpu.risks import Risks, Risky
from pypto.cpu.views import Buffer, View, same, whole
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.errors.runtime import CarriedExtentChanges, NegativeExtent
from pypto.ir.program import Block, Literal, Op, Program, Storage, TensorType, Value, walk
from pypto.ir.symbols import Expression, Scalar, bounds_of, compare

_D = DataType


class PlanBase:
    """``calls`` describes the call-backs of the program, ``held`` what is known about its values."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.numbers = itertools.count()
        self.held: dict[Value, Held] = {}
        self.storages: dict[Storage, View] = {}
        self.missing: dict[Storage, View] = {}  # see missing.py
        self.calls: list[Call] = []
        self.risks = Risks(program)
        self.parameters: list[Buffer] = []
        tensors = [p for p in program.parameters if isinstance(p, Storage)]
        for slot, storage in enumerate(tensors):
            buffer = Buffer(storage.type.dtype, storage.type.shape, storage.name, "parameter", slot)
            self.parameters.append(buffer)
            self.storages[storage] = whole(buffer, storage.type)
        self.written = _written(program)
        self.trusting = bool(program.options.get("regions_checked"))  # graph/valid.py has put every check where it belongs
        self.unwritten = {self.storages[s].buffer for s in tensors if s not in self.written}
        self.settled = bool(program.options.get("regions_checked"))  # graph/valid.py proved or checked every region

    def next_number(self) -> int:
        return next(self.numbers)

    def buffer(self, type: TensorType, name: str = "") -> Buffer:
        return Buffer(type.dtype, type.shape, name or f"v{self.next_number()}")

    def statements(self, plan: BlockPlan, block: Block) -> None:
        """Plan the statements of a block; ``Planner`` knows how."""
        raise TypeError("only a Planner plans statements")

    def hold(self, value: Value, held: Held) -> bool:
        self.held[value] = held
        return True

    def operand(self, plan: BlockPlan, operand: Any, dtype: DataType | None = None) -> Held:
        """What is known about an operand; numbers become formulas."""
        if isinstance(operand, Value):
            return self.held[operand]
        if isinstance(operand, Storage):
            view = self.storages[operand]
            return Held(operand.type, plan, self.ready(plan, view), view)
        if isinstance(operand, Literal):
            return self.constant(plan, TensorType(operand.dtype, ()), operand.value)
        return self.constant(plan, TensorType(dtype or _D.DT_FP32, ()), operand)

    def constant(self, plan: BlockPlan, type: TensorType, value: Scalar) -> Held:
        formula = lambda item, mapping: plan.constant(item, value, type.dtype)  # noqa: E731
        return Held(type, plan, formula=formula, scalars=(value,), uniform=True)

    def ready(self, plan: BlockPlan, view: View) -> int:
        """The item after which a view of a storage may be read."""
        return max(plan.wrote.get(view.buffer, -1), plan.scalar_ready((view.offset, *view.strides, *view.valid)))

    def node(self, plan: BlockPlan, type: TensorType, operands: list[tuple[Held, Any]]) -> Node:
        node = Node.of(type, operands)
        scalars = [*node.extents, *node.guards, *(s for held, _ in operands for s in held.scalars)]
        node.after = plan.scalar_ready(scalars)
        return node

    def copied(self, plan: BlockPlan, held: Held) -> Held:
        """The value read here and now: a term of a nest, which writes it to memory only if a later nest needs it."""
        node = self.node(plan, held.type, [(held, kept_axes(held.type))])
        return plan.compute(held.type, node, lambda item, embedding, terms: terms[0])

    # -- checks -------------------------------------------------------------------------------------------------------------------

    def check_extents(self, plan: BlockPlan, op: Op) -> None:
        """No valid extent of a result is negative: loops rely on it."""
        for value in op.results if not self.trusting else ():
            if isinstance(value, Value):
                for axis, extent in enumerate(value.type.valid):
                    if bounds_of(extent)[0] < 0:
                        self.check(plan, compare("le", 0, extent), NegativeExtent(extent=extent, axis=axis, span=op.span), op)

    def check_same_extents(self, plan: BlockPlan, type: TensorType, held: Held, span: Span | None) -> None:
        """A value bound to a name of ``type`` has the valid extents that the type says."""
        if self.trusting:
            return
        pairs = zip(type.valid, held.type.valid, strict=True)
        wrong = [compare("eq", a, b) for a, b in pairs if not same(a, b)]
        for condition in wrong:
            error = CarriedExtentChanges(first=list(type.valid), second=list(held.type.valid), span=span)
            self.check(plan, condition, error, Op("yield", span=span))

    def check(self, plan: BlockPlan, condition: Scalar, error: Any, op: Op) -> None:
        if condition is True or plan.is_checked(condition):
            return
        plan.append(CheckItem(condition, error, op.span))
        plan.barrier()
        if isinstance(condition, Expression):
            plan.checked.add(condition)

    def evaluated(self, plan: BlockPlan, risky: Risky | None, span: Span | None) -> None:
        """Stop here if one of these scalars has no value; what uses them comes behind."""
        new = tuple(s for s in risky.scalars if not plan.is_checked(("evaluated", s))) if risky else ()
        if risky and new:
            plan.append(EvaluateItem(new, risky.careful, span))
            plan.barrier()
            plan.checked.update(("evaluated", s) for s in new)


def _written(program: Program) -> set[Storage]:
    """Storages that some statement writes."""
    written = set()
    for statement in walk(program.body):
        if isinstance(statement, Op) and statement.name in ("store", "accumulate", "write"):
            target = statement.operands[0]
            assert isinstance(target, Storage)
            written.add(target.root)
    return written
