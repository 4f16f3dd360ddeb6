"""The program form: a tree of immutable statements over values, storages and symbols.

    Program   ::= program name(Parameter*) Block
    Parameter ::= Storage | Symbol                      tensor argument | run-time scalar argument (dims of storages are symbols too)
    Block     ::= Statement* yields Operand*
    Statement ::= Op(name, operands, attributes) -> results      results: Value | Symbol | Storage
                | Loop(index, start, stop, step, carried, Block)
                | If(condition, Block, Block) -> results
    Operand   ::= Value | Storage | Literal | Scalar    (Scalar: Expression or number, see symbols.py)

*Values* are single-assignment tensors: an op makes them, nobody changes them. *Storages* are memory: parameters, ``pypto.tensor``
locals, in-place reshapes of either. Only these ops touch storages, everything else is pure:

    allocate()            -> Storage      a local; lives until its block ends; contents undefined
    alias(storage)        -> Storage      other shape, same bytes, row-major (``shape=``)
    load(storage)         -> Value        ``offsets=``: copy of a region as it is *now* (the result type carries the extent)
    store(storage, value)                 ``offsets=``: writes the valid part of value
    accumulate(storage, value)            ``offsets=``: adds the valid part of value
    read(storage|value)   -> Symbol       ``indices=``: one element as a scalar
    write(storage, scalar)                ``indices=``: one element from a scalar
    print(...)            ``text=`` parts interleaved with operands;  check(scalar) ``error=``: stop with that error unless true

A *shape* is the allocated extent, ``valid`` how much of it holds data; both are tuples of Scalar. What lies between is undefined and
never read. Loops and branches carry rebound values as block arguments (``Carried``) and results; storages need no carrying.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.errors.base import UserError
from pypto.ir.symbols import Expression, Scalar, Symbol, symbols_in


@dataclass(frozen=True)
class TensorType:
    """Element type, allocated extent, valid extent."""

    dtype: DataType
    shape: tuple[Scalar, ...]
    valid: tuple[Scalar, ...] = None  # type: ignore[assignment]  # None means: all of the shape

    def __post_init__(self) -> None:
        if self.valid is None:
            object.__setattr__(self, "valid", self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_full(self) -> bool:
        """Whether every element is known to be valid."""
        return all(a is b or (not isinstance(a, Expression) and a == b) for a, b in zip(self.shape, self.valid, strict=True))

    @property
    def is_static(self) -> bool:
        return not any(isinstance(d, Expression) for d in self.shape)

    def with_(self, **changes: Any) -> TensorType:
        shape = changes.get("shape", self.shape)
        valid = changes.get("valid", shape if "shape" in changes else self.valid)
        return TensorType(changes.get("dtype", self.dtype), tuple(shape), tuple(valid))


@dataclass(frozen=True, eq=False)
class Value:
    """A single-assignment tensor. ``hint`` is the user's name for it, for printing only."""

    type: TensorType
    hint: str = ""


@dataclass(frozen=True, eq=False)
class Storage:
    """Memory that can be written. ``role``: ``"parameter"``, ``"local"`` or ``"alias"`` (then ``base`` is what it aliases)."""

    name: str
    type: TensorType
    role: str = "local"
    base: Storage | None = None

    @property
    def root(self) -> Storage:
        return self.base.root if self.base is not None else self


@dataclass(frozen=True)
class Literal:
    """A scalar operand of a tensor op, already in the op's element type. ``value`` may be an Expression (run-time scalar)."""

    value: Scalar
    dtype: DataType


Tensorial = Union[Value, Storage]
Operand = Union[Value, Storage, Literal, Expression, int, float, bool]
Result = Union[Value, Symbol, Storage]


@dataclass(frozen=True, eq=False)
class Op:
    """One operation. ``name`` is a row of the op table (or one of the storage ops above)."""

    name: str
    operands: tuple[Operand, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    span: Span | None = None

    @property
    def result(self) -> Any:
        (only,) = self.results
        return only


@dataclass(frozen=True, eq=False)
class Carried:
    """One loop-carried binding: ``initial`` before the loop, ``argument`` inside the body, ``result`` after the loop."""

    argument: Value | Symbol
    initial: Operand
    result: Value | Symbol


@dataclass(frozen=True, eq=False)
class Block:
    statements: tuple[Statement, ...] = ()
    yields: tuple[Operand, ...] = ()


@dataclass(frozen=True, eq=False)
class Loop:
    """``for index in range(start, stop, step)``; ``body.yields`` are the next values of ``carried``, in the same order."""

    index: Symbol
    start: Scalar
    stop: Scalar
    step: Scalar
    body: Block
    carried: tuple[Carried, ...] = ()
    name: str = ""
    parallel: bool = False  # the user's word; graph/dependence.py proves or refuses
    independent: bool = False  # set by graph/dependence.py: iterations may run in any order
    unroll: tuple[int, ...] = ()  # advice to the NPU model, never changes meaning
    submit_before: bool = False
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class If:
    """``results[i]`` is ``then.yields[i]`` or ``orelse.yields[i]``."""

    condition: Scalar
    then: Block
    orelse: Block = field(default_factory=Block)
    results: tuple[Value | Symbol, ...] = ()
    span: Span | None = None


Statement = Union[Op, Loop, If]

# Attributes that passes add to an op for the engines; they are no arguments of the op's meaning (``compute``).
PASS_FACTS = frozenset({"lazy", "in_place", "unproven"})


@dataclass(frozen=True, eq=False)
class Program:
    """``dimensions`` maps a symbol that is the size of a parameter's DYNAMIC axis to (parameter, axis)."""

    name: str
    parameters: tuple[Storage | Symbol, ...]
    body: Block
    dimensions: Mapping[Symbol, tuple[Storage, int]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    span: Span | None = None


# -- walking ------------------------------------------------------------------------------------------------------------------


def blocks_of(statement: Statement) -> tuple[Block, ...]:
    if isinstance(statement, Loop):
        return (statement.body,)
    if isinstance(statement, If):
        return (statement.then, statement.orelse)
    return ()


def walk(block: Block) -> Iterator[Statement]:
    """Every statement, outer before inner, in program order."""
    for statement in block.statements:
        yield statement
        for inner in blocks_of(statement):
            yield from walk(inner)


def results_of(statement: Statement) -> tuple[Result, ...]:
    if isinstance(statement, Loop):
        return tuple(c.result for c in statement.carried)
    return statement.results


_NUMBERLESS = {int, float, bool, str, type(None), DataType}  # types in which there is no expression


def scalars_in(thing: Any) -> Iterator[Scalar]:
    """Every Expression inside an operand, type or attribute value (nested tuples, mappings and facts of errors included)."""
    if type(thing) in _NUMBERLESS:
        return
    if isinstance(thing, Expression):
        yield thing
    elif isinstance(thing, Literal):
        yield from scalars_in(thing.value)
    elif isinstance(thing, (Value, Storage)):
        yield from scalars_in(thing.type)
    elif isinstance(thing, TensorType):
        yield from scalars_in(thing.shape)
        yield from scalars_in(thing.valid)
    elif isinstance(thing, UserError):
        yield from scalars_in(thing.facts)
    elif isinstance(thing, Mapping):
        for item in thing.values():
            yield from scalars_in(item)
    elif isinstance(thing, (tuple, list)):
        for item in thing:
            if type(item) not in _NUMBERLESS:
                yield from scalars_in(item)


def symbols_used(statement: Statement) -> set[Symbol]:
    """Symbols this one statement reads (inner blocks not included)."""
    if isinstance(statement, Loop):
        sources: tuple[Any, ...] = (statement.start, statement.stop, statement.step, tuple(c.initial for c in statement.carried))
    elif isinstance(statement, If):
        sources = (statement.condition,)
    else:
        sources = (
            statement.operands,
            statement.attributes,
            tuple(r for r in statement.results if isinstance(r, (Value, Storage))),
        )
    return {symbol for scalar in scalars_in(sources) for symbol in symbols_in(scalar)}
