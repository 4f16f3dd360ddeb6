"""Program → schedule: every statement becomes part of a nest, an item of its own, or nothing at all.

    allocate alias load view reshape permute …   → views (no code); a load that is not lazy is copied where it stands
    elementwise rows, reductions, stores         → nests (``fuse.py``)
    full, arange                                 → formulas, repeated where they are used
    matmul                                       → MatmulItem, then its bias and conversion as a nest
    read write check                             → items of the control function
    Loop, If                                     → items with inner schedules; carried values live in one buffer each
    everything else                              → CallItem: the reference computes it

``load`` may carry ``lazy=True`` (set by graph/storage.py): nothing writes that region before the value's last use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.cpu.control import ControlPlan
from pypto.cpu.fuse import BlockPlan
from pypto.cpu.hold import Held
from pypto.cpu.items import Call, CallItem, ScalarSlot
from pypto.cpu.views import View, whole
from pypto.ir.program import PASS_FACTS, Block, If, Literal, Loop, Op, Program, Statement, Storage, Value
from pypto.ir.symbols import Expression
from pypto.ops.table import OPERATIONS, Kind, Operation


class Planner(ControlPlan):
    """Makes the schedule of one program: ``top.items``."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.top = BlockPlan(self, None)
        self.statements(self.top, program.body)

    def statements(self, plan: BlockPlan, block: Block) -> None:
        for statement in block.statements:
            self.statement(plan, statement)

    def statement(self, plan: BlockPlan, statement: Statement) -> None:
        self.evaluated(plan, self.risks.of(statement), statement.span)
        if isinstance(statement, Loop):
            self.loop(plan, statement)
        elif isinstance(statement, If):
            self.branch(plan, statement)
        elif statement.name in _STORAGE_OPS:
            _STORAGE_OPS[statement.name](self, plan, statement)
        else:
            self.operation(plan, statement, OPERATIONS[statement.name])

    def operation(self, plan: BlockPlan, op: Op, row: Operation) -> None:
        self.check_extents(plan, op)
        handler = _BY_KIND.get(row.kind)
        if handler is None or not handler(self, plan, op, row):
            self.call(plan, op)

    def printed(self, plan: BlockPlan, op: Op) -> None:
        self.call(plan, op)

    def call(self, plan: BlockPlan, op: Op) -> None:
        """Hand an operation to the reference."""
        scalars: list[Expression] = []
        slotted = lambda thing: _slotted(thing, scalars)  # noqa: E731
        described: list[tuple[Any, ...]] = []
        views: list[View | None] = []
        for operand in op.operands:
            if isinstance(operand, (Value, Storage)):
                held = self.operand(plan, operand)
                views.append(plan.memory(held))
                described.append(("view", held.type.dtype))
            else:
                number = operand.value if isinstance(operand, Literal) else operand
                views.append(None)
                described.append(("scalar", slotted(number), operand.dtype if isinstance(operand, Literal) else None))
        results = []
        for value in op.results:
            assert isinstance(value, Value), value
            results.append(whole(self.buffer(value.type), value.type))
        number = len(self.calls)
        attributes = {key: slotted(thing) for key, thing in op.attributes.items() if key not in PASS_FACTS}
        self.calls.append(Call(op.name, tuple(described), attributes, tuple(v.dtype for v in results), op.span))
        index = plan.append(CallItem(number, op.name, tuple(views), tuple(results), tuple(scalars)))
        for value, view in zip(op.results, results, strict=True):
            assert isinstance(value, Value)
            self.held[value] = Held(value.type, plan, index, view)


def _slotted(thing: Any, scalars: list[Expression]) -> Any:
    """``thing`` with run-time numbers replaced by ``ScalarSlot``; the numbers are collected in ``scalars``."""
    if isinstance(thing, Expression):
        found = next((i for i, s in enumerate(scalars) if s is thing), None)
        if found is None:
            found = len(scalars)
            scalars.append(thing)
        return ScalarSlot(found)
    if isinstance(thing, (tuple, list)):
        return type(thing)(_slotted(x, scalars) for x in thing)
    if isinstance(thing, dict):
        return {k: _slotted(v, scalars) for k, v in thing.items()}
    return thing


_STORAGE_OPS: dict[str, Callable[[Planner, BlockPlan, Op], None]] = {
    "allocate": Planner.allocate,
    "alias": Planner.alias,
    "load": Planner.load,
    "store": Planner.store,
    "accumulate": Planner.accumulate,
    "read": Planner.read,
    "write": Planner.write,
    "check": Planner.checked,
    "print": Planner.printed,
}
_BY_KIND: dict[Kind, Callable[[Planner, BlockPlan, Op, Operation], bool]] = {
    Kind.ELEMENTWISE: Planner.elementwise,
    Kind.REDUCTION: Planner.reduction,
    Kind.CREATION: Planner.creation,
    Kind.MOVEMENT: Planner.movement,
    Kind.MATMUL: Planner.matmul,
    Kind.SCAN: Planner.scan,
    Kind.INDEXING: Planner.indexing,
    Kind.SORT: Planner.sort,
}
