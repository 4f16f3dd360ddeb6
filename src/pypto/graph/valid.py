"""Valid extents and bounds: everything a run could get wrong about regions is proven, checked, or refused here.

In: a simplified program. Out: valid extents in their simplest form at their place; a ``check`` in front of every load, store,
read or write whose region is not proven to lie inside its storage, of every op that gives an extent not proven to be 0 or more, and
wherever a loop carries (or a branch gives) a tensor whose valid extent is not proven to be the declared one. The option ``regions_checked`` tells the engines that they need no bounds
checks of their own. What is certainly wrong, and certainly executed, is an error at the user's line.

Before::

    program example(x: fp32[n, 8], t: int32[4], y: fp32[16, 8]):
        where n: int(0, inf) = x.shape[0]
        k: int = read(t, indices=(0,))
        for i: int(0, inf) in range(0, (n // 4), 1):
            a: fp32[4, 8 valid min((n - (i * 4)), 4), 8] = load(x, offsets=((i * 4), 0))
            b: fp32[4, 8] = load(x, offsets=((i * 4), 0))
            store(y, b, offsets=(k, 0))

After::

    program example(x: fp32[n, 8], t: int32[4], y: fp32[16, 8]):
        where n: int(0, inf) = x.shape[0]
        option 'regions_checked' = True
        k: int = read(t, indices=(0,))
        for i: int(0, inf) in range(0, (n // 4), 1):
            a: fp32[4, 8] = load(x, offsets=((i * 4), 0))
            b: fp32[4, 8] = load(x, offsets=((i * 4), 0))
            check(((0 <= k) and (k <= 12)), error=pypto.errors.runtime.RegionOutOfBounds(action='write', extent=4, offset=k, axis=0, tensor='y', size=16))
            store(y, b, offsets=(k, 0))

Reading past the *valid* part of a storage is no mistake: the view's valid extent ends there. Not handled: checks do not move out of
loops.
"""  # noqa: E501  # a line of program text

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pypto.diagnostics import at
from pypto.errors.base import UserError
from pypto.errors.runtime import (
    CarriedExtentChanges,
    IndexOutOfBounds,
    LoopStepZeroInRun,
    NegativeExtent,
    RegionOutOfBounds,
    ValidShapeOutOfBounds,
)
from pypto.graph.facts import Facts, trip_count
from pypto.graph.regions import stored_extent
from pypto.ir import symbols as ir
from pypto.ir.program import Block, If, Loop, Op, Program, Result, Statement, Storage, TensorType, Value
from pypto.ir.rewrite import Rewriter
from pypto.ir.symbols import Expression, Scalar, Symbol

Guard = tuple[Scalar, UserError]


def valid(program: Program) -> Program:
    """``program`` with every region proven or checked; raises catalogue errors for what is certainly wrong."""
    made = Validator().program(program)
    options = {**program.options, "regions_checked": True}
    return Program(made.name, made.parameters, made.body, made.dimensions, options, made.span)


class Validator(Rewriter):
    """``facts`` are those of the current place; ``certain`` tells whether it is reached whenever the program runs."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts()
        self.certain = True
        self.counts: set[Expression] = set()  # extents known to be 0 or more

    def scalar(self, a: Scalar) -> Scalar:
        return self.facts.simplify(super().scalar(a))

    def inner(self, block: Block, facts: Facts, certain: bool, names: Sequence[Result]) -> Block:
        """A rebuilt inner block, with checks at its end that what it yields is what ``names`` declare."""
        outer = self.facts, self.certain, self.counts
        self.facts, self.certain, self.counts = facts, self.certain and certain, set(self.counts)
        made = self.block(block)
        checks = [check for guard in matching(names, made.yields) for check in self.checks(guard)]
        self.facts, self.certain, self.counts = outer
        return Block((*made.statements, *checks), made.yields) if checks else made

    # -- guards ----------------------------------------------------------------------------------------------------------------

    def checks(self, guard: Guard, span: Any = None) -> Iterator[Op]:
        """The check that a guard needs here: none when it is proven; an error when it certainly fails."""
        condition = self.facts.simplify(guard[0])
        if condition is True or self.facts.proves(condition):
            return
        if self.certain and self.facts.proves(ir.logical_not(condition)) and not self.facts.impossible():
            with at(span):
                raise guard[1]
        self.facts.learn(condition)
        yield Op("check", (condition,), {"error": guard[1]}, (), span)

    def op(self, op: Op) -> Iterable[Statement]:
        made = self.rebuilt_op(op)
        if made.name == "check":
            return list(self.checks((made.operands[0], made.attributes["error"]), made.span))  # type: ignore[arg-type]
        counted = [check for guard in self.extents(made) for check in self.checks(guard, made.span)]
        return [*counted, *(check for guard in guards_of(made) for check in self.checks(guard, made.span)), made]

    def extents(self, op: Op) -> Iterator[Guard]:
        """No extent that an op gives is negative; one that was seen before needs no second look."""
        for result in op.results:
            if isinstance(result, Symbol):
                continue
            for extents in (result.type.shape, result.type.valid):
                for axis, extent in enumerate(extents):
                    if isinstance(extent, Expression) and extent.bounds[0] < 0 and extent not in self.counts:
                        self.counts.add(extent)
                        yield ir.compare("le", 0, extent), NegativeExtent(extent=extent, axis=axis)

    # -- structure -------------------------------------------------------------------------------------------------------------

    def loop(self, loop: Loop) -> Iterable[Statement]:
        before = list(self.checks((ir.compare("ne", loop.step, 0), LoopStepZeroInRun()), loop.span))
        for guard in matching([c.argument for c in loop.carried], [self.thing(c.initial) for c in loop.carried]):
            before += self.checks(guard, loop.span)
        return [*before, self.rebuilt_loop(loop)]

    def body_of(self, loop: Loop) -> Block:
        trips = trip_count(loop)
        certain = trips is not None and self.facts.proves(ir.compare("lt", 0, trips))
        return self.inner(loop.body, self.facts.inside_loop(loop), certain, [c.argument for c in loop.carried])

    def arm_of(self, branch: If, taken: bool) -> Block:
        block = branch.then if taken else branch.orelse
        return self.inner(block, self.facts.inside_branch(branch, taken), False, branch.results)


# -- what must hold ------------------------------------------------------------------------------------------------------------


def guards_of(op: Op) -> Iterator[Guard]:
    """Conditions for ``op`` to stay inside the storages and values it touches."""
    if op.name == "load":
        yield from _inside(op.result.type)
        yield from _region("read", op.operands[0], op.attributes["offsets"], op.result.type.valid)
    elif op.name in ("store", "accumulate"):
        yield from _region("write", op.operands[0], op.attributes["offsets"], stored_extent(op))
    elif op.name == "read":
        source: Any = op.operands[0]
        name = source.name if isinstance(source, Storage) else source.hint
        yield from _element(f"read of '{name}'" if name else "read", op.attributes["indices"], source.type.valid)
    elif op.name == "write":
        target: Any = op.operands[0]
        yield from _element(f"write to '{target.name}'", op.attributes["indices"], target.type.shape)


def _inside(type: TensorType) -> Iterator[Guard]:
    """A view holds what is valid of it."""
    for axis, (extent, size) in enumerate(zip(type.valid, type.shape, strict=True)):
        if isinstance(extent, Expression):
            yield (
                ir.compare("le", extent, size),
                ValidShapeOutOfBounds(operation="view", extent=extent, axis=axis, size=size),
            )


def _region(action: str, storage: Any, offsets: Sequence[Scalar], extents: Sequence[Scalar]) -> Iterator[Guard]:
    if any(not isinstance(extent, Expression) and extent == 0 for extent in extents):
        return
    nothing: Scalar = False  # an empty region may lie anywhere
    for extent in extents:
        if isinstance(extent, Expression):
            nothing = ir.logical_or(nothing, ir.compare("eq", extent, 0))
    for axis, (offset, extent, size) in enumerate(zip(offsets, extents, storage.type.shape, strict=True)):
        inside = ir.logical_and(ir.compare("le", 0, offset), ir.compare("le", ir.add(offset, extent), size))
        facts = {"action": action, "extent": extent, "offset": offset, "axis": axis, "tensor": storage.name, "size": size}
        yield ir.logical_or(inside, nothing), RegionOutOfBounds(**facts)


def _element(operation: str, indices: Sequence[Scalar], sizes: Sequence[Scalar]) -> Iterator[Guard]:
    for axis, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        inside = ir.logical_and(ir.compare("le", 0, index), ir.compare("lt", index, size))
        yield inside, IndexOutOfBounds(operation=operation, index=index, axis=axis, size=size)


def matching(names: Sequence[Result], given: Sequence[Any]) -> Iterator[Guard]:
    """What a block yields has the valid extents its names declare; a declared extent may be one of the yielded scalars."""
    scalars = {name: thing for name, thing in zip(names, given, strict=True) if isinstance(name, Symbol)}
    for name, thing in zip(names, given, strict=True):
        if isinstance(name, Value) and isinstance(thing, Value):
            declared = [ir.substitute(extent, scalars) for extent in name.type.valid]
            error = CarriedExtentChanges(first=declared, second=list(thing.type.valid))
            for expected, extent in zip(declared, thing.type.valid, strict=True):
                yield ir.compare("eq", expected, extent), error
