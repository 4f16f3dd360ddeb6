"""Rebuilding a program: a walk that maps every scalar, operand and statement, and keeps what does not change.

A pass subclasses ``Rewriter`` and overrides what it cares about: ``scalar`` (every expression), ``op``, ``loop`` or ``branch``
(return the statements that replace one). ``replace`` says what a value, storage or symbol becomes from here on. Results
whose type changes are made anew, everything else keeps its identity::

    class Constant(Rewriter):                       # n is 8
        def __init__(self, n): super().__init__(); self.replace(n, 8)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pypto.dtypes import DataType
from pypto.errors.base import UserError
from pypto.ir.program import Block, Carried, If, Literal, Loop, Op, Operand, Program, Statement, Storage, TensorType, Value
from pypto.ir.symbols import Expression, Scalar, Symbol, substitute

PLAIN = {int, float, bool, str, type(None), DataType}


class Rewriter:
    """Maps a program to another. Without overrides and replacements it gives the same objects back."""

    def __init__(self) -> None:
        self.replaced: dict[Any, Any] = {}
        self.symbols: dict[Symbol, Scalar] = {}
        self.known: dict[Expression, Scalar] = {}  # results of ``scalar`` with these symbols

    def replace(self, old: Any, new: Any) -> None:
        """From here on ``old`` (a value, storage or symbol) is ``new``."""
        if isinstance(old, Symbol):
            self.symbols[old] = new.value if isinstance(new, Literal) else new
            self.known.clear()
        else:
            self.replaced[old] = new

    # -- parts -----------------------------------------------------------------------------------------------------------------

    def scalar(self, a: Scalar) -> Scalar:
        if not self.symbols or not isinstance(a, Expression):
            return a
        if a not in self.known:
            self.known[a] = substitute(a, self.symbols)
        return self.known[a]

    def type(self, type: TensorType) -> TensorType:
        if all_plain(type.shape) and all_plain(type.valid):
            return type
        shape, valid = self.thing(type.shape), self.thing(type.valid)
        return type if shape is type.shape and valid is type.valid else TensorType(type.dtype, shape, valid)

    def thing(self, a: Any) -> Any:
        """An operand, attribute or bound, mapped; ``a`` itself when nothing in it changes."""
        if type(a) in PLAIN:
            return a
        if isinstance(a, (Value, Storage)):
            return self.replaced.get(a, a)
        if isinstance(a, Expression):
            return self.scalar(a)
        if isinstance(a, Literal):
            value = self.thing(a.value)
            return a if value is a.value else Literal(value, a.dtype)
        if isinstance(a, (tuple, list)):
            if all_plain(a):
                return a
            items = [self.thing(x) for x in a]
            return a if unchanged(items, a) else type(a)(items)
        if isinstance(a, Mapping):
            if all_plain(a.values()):
                return a
            pairs = {key: self.thing(value) for key, value in a.items()}
            return a if unchanged(pairs.values(), a.values()) else pairs
        if isinstance(a, UserError):
            return self.error(a)
        return a

    def error(self, a: UserError) -> UserError:
        facts = self.thing(a.facts)
        return a if facts is a.facts else type(a)(span=a.span, chain=a.chain, notes=a.notes, advice=a.advice, **facts)

    def define(self, result: Any) -> Any:
        """The new result that stands for an old one."""
        if isinstance(result, Symbol):
            return result
        type = self.type(result.type)
        base = self.replaced.get(result.base, result.base) if isinstance(result, Storage) else None
        if type is result.type and (not isinstance(result, Storage) or base is result.base):
            return result
        made = Value(type, result.hint) if isinstance(result, Value) else Storage(result.name, type, result.role, base)
        self.replaced[result] = made
        return made

    # -- statements ------------------------------------------------------------------------------------------------------------

    def program(self, program: Program) -> Program:
        body = self.block(program.body)
        if body is program.body:
            return program
        return Program(program.name, program.parameters, body, program.dimensions, program.options, program.span)

    def block(self, block: Block) -> Block:
        statements: list[Statement] = []
        for statement in block.statements:
            statements.extend(self.statement(statement))
        yields = tuple(self.thing(y) for y in block.yields)
        if unchanged(statements, block.statements) and unchanged(yields, block.yields):
            return block
        return Block(tuple(statements), yields)

    def statement(self, statement: Statement) -> Iterable[Statement]:
        if isinstance(statement, Loop):
            return self.loop(statement)
        return self.branch(statement) if isinstance(statement, If) else self.op(statement)

    def op(self, op: Op) -> Iterable[Statement]:
        return [self.rebuilt_op(op)]

    def rebuilt_op(self, op: Op) -> Op:
        operands, attributes = self.thing(op.operands), self.thing(op.attributes)
        results = tuple(self.define(r) for r in op.results)
        if operands is op.operands and attributes is op.attributes and unchanged(results, op.results):
            return op
        return Op(op.name, operands, attributes, results, op.span)

    def loop(self, loop: Loop) -> Iterable[Statement]:
        return [self.rebuilt_loop(loop)]

    def rebuilt_loop(self, loop: Loop) -> Loop:
        bounds = tuple(map(self.thing, (loop.start, loop.stop, loop.step)))
        initials = [self.thing(c.initial) for c in loop.carried]
        arguments = [self.define(c.argument) for c in loop.carried]
        body = self.body_of(loop)
        results = [self.define(c.result) for c in loop.carried]
        carried = tuple(
            c if unchanged((a, i, r), (c.argument, c.initial, c.result)) else Carried(a, i, r)
            for c, a, i, r in zip(loop.carried, arguments, initials, results, strict=True)
        )
        if unchanged(bounds, (loop.start, loop.stop, loop.step)) and body is loop.body and unchanged(carried, loop.carried):
            return loop
        return with_parts(loop, bounds, body, carried)

    def body_of(self, loop: Loop) -> Block:
        """The rebuilt body; override to know more inside it."""
        return self.block(loop.body)

    def arm_of(self, branch: If, taken: bool) -> Block:
        """The rebuilt arm of a branch; override to know more inside it."""
        return self.block(branch.then if taken else branch.orelse)

    def branch(self, branch: If) -> Iterable[Statement]:
        return [self.rebuilt_branch(branch)]

    def rebuilt_branch(self, branch: If) -> If:
        condition = self.thing(branch.condition)
        then, orelse = self.arm_of(branch, True), self.arm_of(branch, False)
        results = tuple(self.define(r) for r in branch.results)
        if (
            condition is branch.condition
            and then is branch.then
            and orelse is branch.orelse
            and unchanged(results, branch.results)
        ):
            return branch
        return If(condition, then, orelse, results, branch.span)


def all_plain(things: Iterable[Any]) -> bool:
    """Whether nothing in here can change: numbers, names, types."""
    return all(type(x) in PLAIN for x in things)


def unchanged(new: Iterable[Any], old: Iterable[Any]) -> bool:
    a, b = list(new), list(old)
    return len(a) == len(b) and all(x is y or same_number(x, y) for x, y in zip(a, b, strict=True))


def same_number(x: Any, y: Any) -> bool:
    return type(x) is type(y) and isinstance(x, (bool, int, float, str)) and (x == y or x != x)


def with_parts(loop: Loop, bounds: Sequence[Scalar], body: Block, carried: tuple[Carried, ...], **changes: Any) -> Loop:
    """``loop`` with new bounds, body and carried values, and the flags in ``changes``."""
    start, stop, step = bounds
    flags = ("name", "parallel", "independent", "unroll", "submit_before", "span")
    kept = {name: getattr(loop, name) for name in flags} | changes
    return Loop(loop.index, start, stop, step, body, carried, **kept)


def operands_used(operands: Sequence[Operand]) -> list[Any]:
    """Values and storages among operands."""
    return [o for o in operands if isinstance(o, (Value, Storage))]
