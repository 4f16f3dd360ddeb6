"""Dead code: what no effect needs.

In: any program. Out: the same effects, without the values, reads, loads, carried values, locals, branches and loops that
nothing uses.

Before::

    program example(x: fp32[4], y: fp32[4]):
        t: fp32[4] = allocate()
        v0: fp32[4] = load(x, offsets=(0,))
        v1: fp32[4] = exp(v0)
        store(t, v1, offsets=(0,))
        store(y, v0, offsets=(0,))

After::

    program example(x: fp32[4], y: fp32[4]):
        v0: fp32[4] = load(x, offsets=(0,))
        store(y, v0, offsets=(0,))

A store into a local that nothing reads is no effect. Not handled: a store that a later one overwrites.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto.ir.program import (
    Block,
    If,
    Literal,
    Loop,
    Op,
    Program,
    Statement,
    Storage,
    Value,
    results_of,
    scalars_in,
    symbols_used,
)
from pypto.ir.rewrite import Rewriter, unchanged, with_parts
from pypto.ir.symbols import symbols_in

WRITES = {"store", "accumulate", "write"}
ALWAYS = {"print", "check"}


def remove_unused(program: Program) -> Program:
    """``program`` without what no effect needs."""
    needed = _Needed()
    needed.block(program.body, ())
    needed.spread()
    return _Remover(needed).program(program)


class _Needed:
    """Marks from the effects backwards. ``things`` holds needed values, symbols and storages, ``statements`` what must stay."""

    def __init__(self) -> None:
        self.things: set[Any] = set()
        self.statements: set[Statement] = set()
        self.around: dict[Statement, tuple[Statement, ...]] = {}
        self.definition: dict[Any, tuple[Statement, int]] = {}
        self.arguments: dict[Any, tuple[Loop, int]] = {}
        self.writes: dict[Storage, list[Op]] = {}
        self.pending: list[Any] = []

    def block(self, block: Block, around: tuple[Statement, ...]) -> None:
        for statement in block.statements:
            self.around[statement] = around
            for position, result in enumerate(results_of(statement)):
                self.definition[result] = (statement, position)
            if isinstance(statement, Loop):
                for position, carried in enumerate(statement.carried):
                    self.arguments[carried.argument] = (statement, position)
                self.block(statement.body, (*around, statement))
            elif isinstance(statement, If):
                self.block(statement.then, (*around, statement))
                self.block(statement.orelse, (*around, statement))
            elif statement.name in ALWAYS:
                self.keep(statement)
            elif statement.name in WRITES:
                self.write(statement)

    def write(self, op: Op) -> None:
        storage: Any = op.operands[0]
        root = storage.root
        self.writes.setdefault(root, []).append(op)
        if root.role == "parameter" or root in self.things:
            self.keep(op)

    # -- marking ---------------------------------------------------------------------------------------------------------------

    def keep(self, statement: Statement) -> None:
        if statement in self.statements:
            return
        self.statements.add(statement)
        for outer in self.around[statement]:
            self.keep(outer)
        if isinstance(statement, Loop):  # what it carries is marked one by one
            self.scalars((statement.start, statement.stop, statement.step))
            return
        for symbol in symbols_used(statement):
            self.need(symbol)
        if isinstance(statement, Op):
            for operand in statement.operands:
                self.need(operand)

    def need(self, thing: Any) -> None:
        """Mark a value, symbol, storage, or what is inside an expression or a type."""
        if isinstance(thing, (int, float, bool, str)) or thing in self.things:
            return
        if isinstance(thing, Literal):
            self.need(thing.value)
        else:
            self.things.add(thing)
            self.pending.append(thing)

    def spread(self) -> None:
        while self.pending:
            thing = self.pending.pop()
            if isinstance(thing, (Value, Storage)):
                self.scalars(thing.type)
            else:
                self.scalars(thing)
            if isinstance(thing, Storage):
                self.storage(thing)
            if thing in self.definition:
                self.defined_by(*self.definition[thing])
            if thing in self.arguments:
                self.argument(*self.arguments[thing])

    def scalars(self, thing: Any) -> None:
        for scalar in scalars_in(thing):
            for symbol in symbols_in(scalar):
                self.need(symbol)

    def storage(self, storage: Storage) -> None:
        if storage.base is not None:
            self.need(storage.base)
        if storage.root in self.writes:
            for op in self.writes[storage.root]:
                self.keep(op)

    def defined_by(self, statement: Statement, position: int) -> None:
        self.keep(statement)
        if isinstance(statement, Loop):
            self.argument(statement, position)
        elif isinstance(statement, If):
            self.need(statement.then.yields[position])
            self.need(statement.orelse.yields[position])

    def argument(self, loop: Loop, position: int) -> None:
        self.keep(loop)
        carried = loop.carried[position]
        for thing in (carried.argument, carried.initial, carried.result, loop.body.yields[position]):
            self.need(thing)


class _Remover(Rewriter):
    def __init__(self, needed: _Needed) -> None:
        super().__init__()
        self.needed = needed

    def statement(self, statement: Statement) -> Iterable[Statement]:
        return super().statement(statement) if statement in self.needed.statements else []

    def op(self, op: Op) -> Iterable[Statement]:
        return [op]

    def loop(self, loop: Loop) -> Iterable[Statement]:
        kept = [c.argument in self.needed.things or c.result in self.needed.things for c in loop.carried]
        body = self.block(loop.body)
        if all(kept):
            return [loop if body is loop.body else with_parts(loop, (loop.start, loop.stop, loop.step), body, loop.carried)]
        carried = tuple(c for c, keep in zip(loop.carried, kept, strict=True) if keep)
        yields = tuple(y for y, keep in zip(body.yields, kept, strict=True) if keep)
        return [with_parts(loop, (loop.start, loop.stop, loop.step), Block(body.statements, yields), carried)]

    def branch(self, branch: If) -> Iterable[Statement]:
        kept = [r in self.needed.things for r in branch.results]
        arms = [self.arm(block, kept) for block in (branch.then, branch.orelse)]
        results = tuple(r for r, keep in zip(branch.results, kept, strict=True) if keep)
        if unchanged(arms, (branch.then, branch.orelse)) and len(results) == len(branch.results):
            return [branch]
        return [If(branch.condition, arms[0], arms[1], results, branch.span)]

    def arm(self, block: Block, kept: list[bool]) -> Block:
        made = self.block(block)
        return made if all(kept) else Block(made.statements, tuple(y for y, keep in zip(made.yields, kept, strict=True) if keep))
