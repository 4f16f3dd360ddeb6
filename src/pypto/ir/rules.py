"""What a legal program is, as data and a short checker.

    one definition     every value, storage and symbol is defined by one statement (or is a parameter or dimension)
    dominance          what a statement uses (operands, attributes, types) is defined before it, in the same or an outer block
    storages           only the ops of ``STORAGE_OPS`` touch storages, with the operands listed there
    regions            offsets and indices have one entry per axis; element types of what is stored and loaded agree
    blocks             yields match what a loop carries and a branch results in: count, element type, shape, kind of scalar
    shapes             valid and shape have one rank, constant valid extents lie inside constant shapes

``violations`` lists what is wrong, ``verify`` raises. Passes that leave an illegal program have a defect, not the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pypto.ir.program import (
    Block,
    If,
    Literal,
    Loop,
    Op,
    Program,
    Result,
    Statement,
    Storage,
    TensorType,
    Value,
    results_of,
    scalars_in,
    symbols_used,
)
from pypto.ir.symbols import Expression, Scalar, Symbol, bounds_of, kind_of, symbols_in

S, V, N = (Storage,), (Value, Literal), (Literal, Expression, int, float, bool)

# operands of each op that touches storages; the region attribute that needs one entry per axis of operand 0
STORAGE_OPS: dict[str, tuple[tuple[tuple[type, ...], ...], str | None]] = {
    "allocate": ((), None),
    "alias": ((S,), None),
    "load": ((S,), "offsets"),
    "store": ((S, V), "offsets"),
    "accumulate": ((S, V), "offsets"),
    "read": (((Storage, Value),), "indices"),
    "write": ((S, N), "indices"),
}
EFFECTS = {"store", "accumulate", "write", "print", "check"}
FREE = {"print", "check"}  # operands of any kind


class IllegalProgram(RuntimeError):
    """A program that breaks the rules. Not the user's fault: the step that made it has a defect."""


def verify(program: Program) -> Program:
    """``program`` itself; raises ``IllegalProgram`` naming the first few broken rules."""
    found = list(_Checker(program).program())
    if found:
        raise IllegalProgram("; ".join(found[:5]))
    return program


def violations(program: Program) -> list[str]:
    """Every rule that ``program`` breaks, in words."""
    return list(_Checker(program).program())


class _Checker:
    def __init__(self, program: Program) -> None:
        self.whole = program
        self.defined: set[Any] = set()
        self.visible: set[Any] = set()

    def program(self) -> Iterator[str]:
        for symbol, (storage, axis) in self.whole.dimensions.items():
            yield from self.define(symbol)
            if storage not in self.whole.parameters or storage.type.shape[axis] is not symbol:
                yield f"dimension {symbol} is not axis {axis} of a parameter"
        for parameter in self.whole.parameters:
            if parameter not in self.whole.dimensions:
                yield from self.define(parameter)
        for parameter in self.whole.parameters:
            if isinstance(parameter, Storage):
                yield from self.type(parameter.type, parameter.name)
        yield from self.block(self.whole.body, "the program")

    # -- names -----------------------------------------------------------------------------------------------------------------

    def define(self, thing: Result) -> Iterator[str]:
        if thing in self.defined:
            yield f"{thing!r} is defined twice"
        self.defined.add(thing)
        self.visible.add(thing)

    def uses(self, statement: Statement) -> Iterator[str]:
        for symbol in symbols_used(statement):
            if symbol not in self.visible and symbol not in results_of(statement):
                yield f"{label(statement)} uses symbol {symbol} before it is defined"
        if isinstance(statement, If):
            return
        operands: Sequence[Any] = statement.operands if isinstance(statement, Op) else [c.initial for c in statement.carried]
        for operand in operands:
            yield from self.visible_operand(operand, label(statement))

    def visible_operand(self, operand: Any, where: str) -> Iterator[str]:
        if isinstance(operand, (Value, Storage)) and operand not in self.visible:
            yield f"{where} uses {getattr(operand, 'hint', '') or getattr(operand, 'name', 'a value')} before it is defined"
        for scalar in scalars_in(operand if not isinstance(operand, (Value, Storage)) else ()):
            for symbol in symbols_in(scalar):
                if symbol not in self.visible:
                    yield f"{where} uses symbol {symbol} before it is defined"

    # -- statements ------------------------------------------------------------------------------------------------------------

    def block(self, block: Block, where: str) -> Iterator[str]:
        outside = set(self.visible)
        for statement in block.statements:
            yield from self.statement(statement)
        for operand in block.yields:
            yield from self.visible_operand(operand, f"the yield of {where}")
        self.visible = outside

    def statement(self, statement: Statement) -> Iterator[str]:
        yield from self.uses(statement)
        if isinstance(statement, Loop):
            yield from self.loop(statement)
        elif isinstance(statement, If):
            yield from self.branch(statement)
        else:
            yield from self.op(statement)
        for result in results_of(statement):
            yield from self.define(result)
        for result in results_of(statement):  # a type may use a scalar that is defined beside it
            if not isinstance(result, Symbol):
                yield from self.type(result.type, label(statement))

    def op(self, op: Op) -> Iterator[str]:
        if op.name not in STORAGE_OPS:
            if op.name not in FREE and any(isinstance(o, Storage) for o in op.operands):
                yield f"{op.name} takes values, not storages"
            return
        wanted, region = STORAGE_OPS[op.name]
        if len(op.operands) != len(wanted) or not all(isinstance(o, w) for o, w in zip(op.operands, wanted, strict=True)):
            yield f"{op.name} has the wrong operands"
            return
        source: Any = op.operands[0] if op.operands else None
        if region is not None and len(op.attributes.get(region, ())) != source.type.rank:
            yield f"{op.name} of rank {source.type.rank} has {region} {op.attributes.get(region)}"
        other: Any = op.result if op.name == "load" else op.operands[1] if op.name in ("store", "accumulate") else None
        if isinstance(other, Literal) and other.dtype is not source.type.dtype:
            yield f"{op.name} mixes {source.type.dtype.label} and {other.dtype.label}"
        if isinstance(other, Value):
            yield from self.same(other.type, source.type, op.name, shapes=False)

    def loop(self, loop: Loop) -> Iterator[str]:
        outside = set(self.visible)
        for thing in (loop.index, *(c.argument for c in loop.carried)):
            yield from self.define(thing)
        if not isinstance(loop.step, Expression) and loop.step == 0:
            yield "a loop has step 0"
        yield from self.block(loop.body, label(loop))
        for carried, given in zip(loop.carried, loop.body.yields, strict=False):
            things: tuple[Any, ...] = (carried.initial, given, carried.result)
            for thing in things:
                yield from self.matches(carried.argument, thing, label(loop))
        if len(loop.body.yields) != len(loop.carried):
            yield f"{label(loop)} carries {len(loop.carried)} and yields {len(loop.body.yields)}"
        self.visible = outside

    def branch(self, branch: If) -> Iterator[str]:
        for block in (branch.then, branch.orelse):
            yield from self.block(block, "a branch")
            if len(block.yields) != len(branch.results):
                yield f"a branch yields {len(block.yields)} and results in {len(branch.results)}"
            for result, given in zip(branch.results, block.yields, strict=False):
                yield from self.matches(result, given, "a branch")

    # -- types -----------------------------------------------------------------------------------------------------------------

    def matches(self, name: Result, given: Any, where: str) -> Iterator[str]:
        if isinstance(name, Symbol):
            if isinstance(given, (Value, Storage)):
                yield f"{where}: a tensor where the scalar {name} is expected"
            elif name.kind == "int" and kind_of(given.value if isinstance(given, Literal) else given) == "float":
                yield f"{where}: a float where the integer {name} is expected"
        elif isinstance(given, Value):
            yield from self.same(given.type, name.type, where)
        elif not isinstance(given, Literal):
            yield f"{where}: a scalar where a tensor is expected"

    def same(self, a: TensorType, b: TensorType, where: str, shapes: bool = True) -> Iterator[str]:
        if a.dtype is not b.dtype or a.rank != b.rank:
            yield f"{where}: {a.dtype.label} of rank {a.rank} where {b.dtype.label} of rank {b.rank} is expected"
        elif shapes and any(differ(x, y) for x, y in zip(a.shape, b.shape, strict=True)):
            yield f"{where}: shape {list(a.shape)} where {list(b.shape)} is expected"

    def type(self, type: TensorType, where: str) -> Iterator[str]:
        if len(type.shape) != len(type.valid):
            yield f"{where}: valid {list(type.valid)} of shape {list(type.shape)}"
            return
        for size, extent in zip(type.shape, type.valid, strict=True):
            if kind_of(size) != "int" or kind_of(extent) != "int":
                yield f"{where}: an extent is not an integer"
            if bounds_of(extent)[0] > bounds_of(size)[1]:
                yield f"{where}: valid extent {extent} exceeds {size}"
        for scalar in (*type.shape, *type.valid):
            for symbol in symbols_in(scalar):
                if symbol not in self.visible:
                    yield f"{where}: its type uses symbol {symbol} before it is defined"


def differ(a: Scalar, b: Scalar) -> bool:
    """Whether two extents are certainly different."""
    return not isinstance(a, Expression) and not isinstance(b, Expression) and a != b


def label(statement: Statement) -> str:
    if isinstance(statement, Loop):
        return f"the loop over {statement.index}"
    return "a branch" if isinstance(statement, If) else statement.name
