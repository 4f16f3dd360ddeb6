"""Paths through a loop body that Python runs several times, and the builder that repeats what is recorded already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto.errors.frontend import TooManyPaths
from pypto.ir.program import Block, If, Loop, Op, Operand, Statement, Storage, TensorType, Value
from pypto.ir.symbols import Scalar, Symbol
from pypto.ops.build import Builder

if TYPE_CHECKING:
    from pypto.frontend.builder import BlockTracer

PATHS = 64  # rulings, "`with pypto.function(…)` builder"
Decisions = tuple[bool, ...]


class Repeated(list):
    """An open block that repeats ``original``: what is appended is dropped, results are those recorded before."""

    def __init__(self, original: list[Statement]) -> None:
        super().__init__()
        self.original = original
        self.position = 0

    def next(self, kind: Any) -> Any:
        """The next recorded statement of this kind (an op name or a class); checks in between are passed over."""
        while self.position < len(self.original):
            statement = self.original[self.position]
            self.position += 1
            if (
                statement.name == kind
                if isinstance(statement, Op)
                else isinstance(statement, kind)
                if isinstance(kind, type)
                else False
            ):
                return statement
        return None


class ReplayBuilder(Builder):
    """A builder that gives recorded results while its innermost block is a repeated one."""

    def _recorded(self, name: str) -> Any:
        block = self.open[-1]
        return block.next(name) if isinstance(block, Repeated) else None

    def append(self, statement: Statement) -> None:
        block = self.open[-1]
        if not isinstance(block, Repeated):
            block.append(statement)
        elif isinstance(statement, Loop):
            block.next(Loop)
        elif isinstance(statement, Op) and statement.name != "check":
            block.next(statement.name)

    def op(self, name: str, *operands: Operand, hint: str = "", **attributes: Any) -> Any:
        found = self._recorded(name)
        if found is None:
            return super().op(name, *operands, hint=hint, **attributes)
        return found.results[0] if len(found.results) == 1 else found.results

    def allocate(self, name: str, type: TensorType) -> Storage:
        found = self._recorded("allocate")
        return super().allocate(name, type) if found is None else found.result

    def alias(self, base: Storage, shape: Sequence[Scalar], name: str = "") -> Storage:
        found = self._recorded("alias")
        return super().alias(base, shape, name) if found is None else found.result

    def load(self, storage: Storage, *arguments: Any, **keywords: Any) -> Value:
        found = self._recorded("load")
        return super().load(storage, *arguments, **keywords) if found is None else found.result

    def read(self, source: Value | Storage, indices: Sequence[Scalar], name: str = "element", kind: str = "int") -> Symbol:
        found = self._recorded("read")
        return super().read(source, indices, name, kind) if found is None else found.result


class Arm:
    """Statements from a decision on, up to the condition that splits them further (if any)."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.condition: Scalar | None = None
        self.span: Any = None


class Paths:
    """The paths through one body, depth first: every condition true, then false from the last one back."""

    def __init__(self, tracer: BlockTracer) -> None:
        self.tracer = tracer
        self.arms: dict[Decisions, Arm] = {}
        self.plan: Decisions = ()
        self.taken: Decisions = ()
        self.known: dict[Scalar, bool] = {}
        self.count = 0
        self.depth = 0
        self.done = False

    def begin(self) -> bool:
        """Start the next path; False when there is none."""
        if self.done:
            return False
        self.count += 1
        if self.count > PATHS:
            raise TooManyPaths(limit=PATHS)
        self.depth, self.taken, self.known = len(self.tracer.blocks), (), {}
        self._open()
        return True

    def end(self) -> None:
        """Close the path and plan the next: the last true decision becomes false."""
        tracer = self.tracer
        while len(tracer.blocks) > self.depth:
            tracer.open_blocks.discard(tracer.blocks.pop())
            tracer.builder.open.pop()
        trues = [position for position, decision in enumerate(self.taken) if decision]
        self.done = not trues
        self.plan = (*self.taken[: trues[-1]], False) if trues else ()

    def _open(self) -> None:
        """Open the block of the arm that starts after the decisions taken so far."""
        tracer, fresh = self.tracer, self.taken not in self.arms
        arm = self.arms.setdefault(self.taken, Arm())
        serial = tracer._next_block
        tracer._next_block += 1
        tracer.blocks.append(serial)
        tracer.open_blocks.add(serial)
        tracer.builder.open.append(arm.statements if fresh else Repeated(arm.statements))

    def decide(self, condition: Scalar) -> bool:
        """What the condition is on this path."""
        if condition in self.known:
            return self.known[condition]
        arm = self.arms[self.taken]
        if arm.condition is None:
            arm.condition, arm.span = condition, self.tracer.span
        position = len(self.taken)
        decision = self.plan[position] if position < len(self.plan) else True
        self.known[arm.condition] = self.known[condition] = decision
        self.taken = (*self.taken, decision)
        self._open()
        return decision

    def statements(self, decisions: Decisions = ()) -> list[Statement]:
        """The recorded body: every condition an ``If`` at the end of its arm."""
        arm = self.arms[decisions]
        if arm.condition is None:
            return arm.statements
        then, orelse = (Block(tuple(self.statements((*decisions, taken)))) for taken in (True, False))
        return [*arm.statements, If(arm.condition, then, orelse, span=arm.span)]
