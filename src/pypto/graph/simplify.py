"""Simplification: the same program with less in it.

In: a program as traced. Out: scalars folded with what loops, branches and checks tell; branches whose condition is known
replaced by their arm; loops that never run removed and loops that run once unrolled; carried values that do not change, or
grow by a constant, replaced by formulas; equal pure ops (and loads and reads with no write in between) computed once; reshapes,
views and factors of 1 that change nothing removed; dead code removed (``unused.py``).

Before::

    program example(x: fp32[4, 8], y: fp32[4, 8]):
        a: fp32[4, 8] = load(x, offsets=(0, 0))
        b: fp32[4, 8] = load(x, offsets=(0, 0))
        c: fp32[4, 8] = reshape(b, shape=(4, 8), valid=None)
        d: fp32[4, 8] = add(a, c)
        for i in range(0, 4, 1):
            carry k: int = 0 -> k_1
            if (k == i):
                store(y, d, offsets=(0, 0))
            else:
                store(y, a, offsets=(0, 0))
            yield (k + 1)

After::

    program example(x: fp32[4, 8], y: fp32[4, 8]):
        a: fp32[4, 8] = load(x, offsets=(0, 0))
        d: fp32[4, 8] = add(a, a)
        for i: int(0, 3) in range(0, 4, 1):
            store(y, d, offsets=(0, 0))

Not handled: algebra on tensors (it would change rounding), statements that could move out of loops, views of views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pypto.graph.facts import Facts, index_bounds, trip_count
from pypto.graph.memo import WRITES, Memo
from pypto.graph.unused import remove_unused
from pypto.ir import symbols as ir
from pypto.ir.program import Block, Carried, If, Literal, Loop, Op, Operand, Program, Statement, Value
from pypto.ir.rewrite import Rewriter, same_number, with_parts
from pypto.ir.symbols import Apply, Expression, Scalar, Symbol


def simplify(program: Program) -> Program:
    """``program`` with less in it, and the same effects."""
    return remove_unused(Simplifier().program(program))


class Simplifier(Rewriter):
    """One walk from the top; ``facts`` and ``memo`` are those of the block being rebuilt."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts()
        self.memo = Memo()

    def scalar(self, a: Scalar) -> Scalar:
        return self.facts.simplify(super().scalar(a))

    def inner(self, block: Block, facts: Facts) -> Block:
        """An inner block, rebuilt with what is known in it."""
        outer = self.facts, self.memo
        self.facts, self.memo = facts, self.memo.inside()
        made = self.block(block)
        self.facts, self.memo = outer
        return made

    # -- ops -------------------------------------------------------------------------------------------------------------------

    def op(self, op: Op) -> Iterable[Statement]:
        made = self.rebuilt_op(op)
        if made.name == "check":
            return self.checked(made)
        if made.name in WRITES:
            self.memo.wrote(made.operands[0])  # type: ignore[arg-type]
            return [made]
        same = identity(made)
        if same is not None:
            self.replace(op.result, same)
            return []
        earlier = self.memo.same_as(made)
        if earlier is None:
            return [made]
        for old, mine, new in zip(op.results, made.results, earlier.results, strict=True):
            self.replace(old, new)
            self.replace(mine, new)
        return []

    def checked(self, op: Op) -> Iterable[Statement]:
        condition = op.operands[0]
        if condition is True or self.facts.proves(condition):  # type: ignore[arg-type]
            return []
        self.facts.learn(condition)  # type: ignore[arg-type]
        return [op]

    # -- branches --------------------------------------------------------------------------------------------------------------

    def branch(self, branch: If) -> Iterable[Statement]:
        condition = self.thing(branch.condition)
        if not isinstance(condition, Expression):
            return self.spliced(branch.then if condition else branch.orelse, branch.results)
        then = self.inner(branch.then, self.facts.inside([condition]))
        orelse = self.inner(branch.orelse, self.facts.inside([ir.logical_not(condition)]))
        for block in (then, orelse):
            self.memo.wrote_in(block)
        kept = []
        for position, result in enumerate(branch.results):
            joined = self.joined(
                condition, then.yields[position], orelse.yields[position], not (then.statements or orelse.statements)
            )
            if joined is None:
                kept.append(position)
            else:
                self.replace(result, joined)
        results = tuple(self.define(branch.results[p]) for p in kept)
        arms = [Block(b.statements, tuple(b.yields[p] for p in kept)) for b in (then, orelse)]
        return [If(condition, arms[0], arms[1], results, branch.span)] if results or then.statements or orelse.statements else []

    def joined(self, condition: Scalar, a: Operand, b: Operand, empty: bool) -> Operand | None:
        """What both arms give: the same thing, or (when the arms do nothing) a choice between two scalars."""
        if a is b or same_number(a, b):
            return a
        scalar = all(isinstance(x, (Expression, int, float, bool)) for x in (a, b))
        return self.scalar(ir.select(condition, a, b)) if scalar and empty else None  # type: ignore[arg-type]

    def spliced(self, block: Block, results: Sequence[Any]) -> list[Statement]:
        """The statements of a block in place; ``results`` become what it yields."""
        made = self.block(block)
        for result, operand in zip(results, made.yields, strict=True):
            self.replace(result, operand)
        return list(made.statements)

    # -- loops -----------------------------------------------------------------------------------------------------------------

    def loop(self, loop: Loop) -> Iterable[Statement]:
        start, stop, step = (self.thing(x) for x in (loop.start, loop.stop, loop.step))
        seen = with_parts(loop, (start, stop, step), loop.body, loop.carried)
        trips = trip_count(seen)
        trips = self.facts.simplify(trips) if trips is not None else None
        if trips is not None and ir.bounds_of(trips)[1] <= 0:
            for carried in loop.carried:
                self.replace(carried.result, self.thing(carried.initial))
            return []
        if trips == 1 and not isinstance(trips, Expression):
            return self.once(loop, start)
        return [self.repeated(loop, (start, stop, step), trips)]

    def once(self, loop: Loop, start: Scalar) -> list[Statement]:
        self.replace(loop.index, start)
        for carried in loop.carried:
            self.replace(carried.argument, self.thing(carried.initial))
        return self.spliced(loop.body, [c.result for c in loop.carried])

    def repeated(self, loop: Loop, bounds: tuple[Scalar, Scalar, Scalar], trips: Scalar | None) -> Loop:
        index = self.bounded_index(loop, bounds)
        kept = [p for p, c in enumerate(loop.carried) if not self.formula(loop, p, c, index, bounds, trips)]
        initials = [self.thing(loop.carried[p].initial) for p in kept]
        arguments = [self.define(loop.carried[p].argument) for p in kept]
        self.memo.wrote_in(loop.body)
        seen = Loop(index, *bounds, loop.body)
        body = self.inner(Block(loop.body.statements, tuple(loop.body.yields[p] for p in kept)), self.facts.inside_loop(seen))
        self.memo.wrote_in(body)
        results = [self.define(loop.carried[p].result) for p in kept]
        carried = tuple(Carried(a, i, r) for a, i, r in zip(arguments, initials, results, strict=True))
        made = with_parts(loop, bounds, body, carried)
        return made if index is loop.index else with_index(made, index)

    def bounded_index(self, loop: Loop, bounds: tuple[Scalar, Scalar, Scalar]) -> Symbol:
        """The index, or one that knows tighter bounds."""
        low, high = index_bounds(Loop(loop.index, *bounds, loop.body))
        known_low, known_high = loop.index.bounds
        if low <= known_low and high >= known_high:
            return loop.index
        made = Symbol(loop.index.name, "int", max(low, known_low), min(high, known_high))
        self.replace(loop.index, made)
        return made

    def formula(
        self,
        loop: Loop,
        position: int,
        carried: Carried,
        index: Symbol,
        bounds: tuple[Scalar, Scalar, Scalar],
        trips: Scalar | None,
    ) -> bool:
        """Replace a carried value that never changes, or a count that grows by a constant, by what it is."""
        given = loop.body.yields[position]
        initial = self.thing(carried.initial)
        if given is carried.argument or given is carried.initial:
            self.replace(carried.argument, initial)
            self.replace(carried.result, initial)
            return True
        growth = constant_growth(given, carried.argument)
        if growth is None or trips is None or not isinstance(initial, (Expression, int)):
            return False
        start, _, step = bounds
        done = ir.floordiv(ir.sub(index, start), step)
        self.replace(carried.argument, self.scalar(ir.add(initial, ir.mul(done, growth))))
        self.replace(carried.result, self.scalar(ir.add(initial, ir.mul(trips, growth))))
        return True


def constant_growth(given: Any, argument: Any) -> int | None:
    """``c`` when ``given`` is ``argument + c``."""
    if isinstance(given, Apply) and given.function == "add" and isinstance(argument, Symbol) and argument.kind == "int":
        left, right = given.arguments
        if left is argument and isinstance(right, int) and not isinstance(right, bool):
            return right
    return None


def with_index(loop: Loop, index: Symbol) -> Loop:
    flags = (loop.name, loop.parallel, loop.independent, loop.unroll, loop.submit_before, loop.span)
    return Loop(index, loop.start, loop.stop, loop.step, loop.body, loop.carried, *flags)


def identity(op: Op) -> Value | None:
    """The operand, when ``op`` gives it back unchanged: a reshape or view to the same type, or a product or quotient by 1."""
    if op.name not in ("reshape", "view", "mul", "div") or len(op.results) != 1:
        return None
    source = op.operands[0]
    if not isinstance(source, Value) or source.type != op.result.type:
        return None
    if op.name in ("mul", "div"):  # exact in every element type, NaN and signed zeros included
        one = op.operands[1]
        return source if isinstance(one, Literal) and not isinstance(one.value, Expression) and one.value == 1 else None
    still = all(not isinstance(o, Expression) and o == 0 for o in op.attributes.get("offsets", ()))
    return source if still else None
