"""Which scalars of a statement may have no value when the kernel runs, so that it must stop there.

Division by zero, ``int()`` of a float that is no number, and integers beyond 64 bits stop a kernel at the statement that uses them, as in
the reference. ``Risks`` finds the expressions for which that cannot be excluded; the planner puts an ``EvaluateItem`` in front of the
statement. Sizes of tensors are taken to stay below 2**44, and so are indices of loops that start at such a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from pypto.cpu.scalars import risk_of
from pypto.errors.base import UserError
from pypto.ir.program import If, Literal, Loop, Op, Program, Statement, scalars_in, walk
from pypto.ir.rewrite import PLAIN
from pypto.ir.symbols import Apply, Expression, Scalar, Symbol, bounds_of, children_first

LARGEST_SIZE = float(2**44)  # elements of an axis; more than any memory holds
LARGEST_INTEGER = float(2**63)
_GROWING = frozenset({"add", "sub", "mul", "neg"})


@dataclass(frozen=True)
class Risky:
    """Scalars to evaluate before a statement, and the expressions among them whose integers may leave 64 bits."""

    scalars: tuple[Expression, ...]
    careful: Collection[Expression]


class Risks:
    def __init__(self, program: Program) -> None:
        self.sizes: dict[Expression, float] = dict.fromkeys(program.dimensions, LARGEST_SIZE)
        self.undefined: dict[Expression, int] = {}
        self.overflowing: dict[Expression, bool] = {}
        for statement in walk(program.body):
            if isinstance(statement, Loop):
                ends = self.size(statement.start), min(self.size(statement.stop), LARGEST_SIZE)
                self.sizes[statement.index] = max(ends)
            elif isinstance(statement, Op) and statement.name == "read":
                source: Any = statement.operands[0]
                self.sizes[statement.result] = min(2.0**source.type.dtype.bits, LARGEST_INTEGER)

    def of(self, statement: Statement) -> Risky | None:
        """What a statement evaluates that may have no value."""
        used = tuple(_used(statement))
        return self.among(used) if used else None

    def among(self, things: Any) -> Risky | None:
        scalars = [s for s in scalars_in(things) if isinstance(s, Apply)]
        found = [s for s in scalars if self.overflows(s) or risk_of(s, self.undefined)]
        if not found:
            return None
        careful = {part for scalar in found for part in children_first(scalar) if self.overflowing[part]}
        return Risky(tuple(dict.fromkeys(found)), careful)

    def overflows(self, a: Apply) -> bool:
        """Whether an integer in ``a`` may need more than 64 bits."""
        if a not in self.overflowing:
            for part in children_first(a, self.overflowing):
                own = part.kind == "int" and self._grows(part) and self.size(part) >= LARGEST_INTEGER
                self.overflowing[part] = own or any(isinstance(x, Apply) and self.overflowing[x] for x in part.arguments)
        return self.overflowing[a]

    def _grows(self, a: Apply) -> bool:
        low, high = bounds_of(a.arguments[-1])
        return a.function in _GROWING or (a.function == "floordiv" and low <= -1 <= high)

    def size(self, a: Scalar) -> float:
        """The largest magnitude a number may have."""
        if not isinstance(a, Expression):
            return abs(float(a))
        for part in children_first(a, self.sizes):
            self.sizes[part] = self._size(part)
        return self._known(a)

    def _known(self, a: Scalar) -> float:
        if not isinstance(a, Expression):
            return abs(float(a))
        if a not in self.sizes:
            low, high = bounds_of(a)
            self.sizes[a] = min(max(abs(low), abs(high)), LARGEST_INTEGER)
        return self.sizes[a]

    def _size(self, a: Apply) -> float:
        low, high = a.bounds
        known = max(abs(low), abs(high))
        if a.kind != "int":
            return known
        sizes = [min(self._known(x), LARGEST_INTEGER) for x in a.arguments]
        if a.function in ("add", "sub"):
            return min(known, sum(sizes))
        if a.function == "mul":
            return min(known, sizes[0] * sizes[1])
        if a.function == "mod":
            return min(known, sizes[1])
        if a.function == "int":
            return min(known, LARGEST_INTEGER)
        return min(known, max(sizes))


def _used(statement: Statement) -> Iterator[Any]:
    """Everything in which a statement has scalars, in the order of evaluation."""
    if isinstance(statement, Loop):
        yield from (statement.start, statement.stop, statement.step, [c.initial for c in statement.carried])
    elif isinstance(statement, If):
        yield statement.condition
    else:
        yield from _used_by_op(statement)


def _used_by_op(op: Op) -> Iterator[Any]:
    """Only what may hold an expression: most operations of a program have none."""
    for operand in op.operands:
        number = operand.value if isinstance(operand, Literal) else operand
        if isinstance(number, Expression):
            yield number
    for thing in op.attributes.values():
        if type(thing) not in PLAIN and not isinstance(thing, UserError):
            yield thing
    for result in op.results:
        if not isinstance(result, Symbol):
            yield from (s for s in (*result.type.shape, *result.type.valid) if isinstance(s, Expression))
