"""Building a program statement by statement: a stack of open blocks.

The front end drives it; tests and passes may too::

    b = Builder("double")
    x = b.parameter("x", TensorType(DataType.DT_FP32, (4, 8)))
    y = b.parameter("y", TensorType(DataType.DT_FP32, (4, 8)))
    v = b.load(x)
    b.store(y, b.op("add", v, v))
    program = b.finish()
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.operations import SizeTooLarge
from pypto.ir.program import (
    Block,
    Literal,
    Loop,
    Op,
    Operand,
    Program,
    Statement,
    Storage,
    Symbol,
    TensorType,
    Value,
)
from pypto.ir.symbols import Scalar, maximum, minimum, sub
from pypto.ops.guards import guards
from pypto.ops.table import OPERATIONS

INT32_MAX = 2**31 - 1


def clipped_valid(valid: Sequence[Scalar], offsets: Sequence[Scalar], extent: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Valid extent of a view: ``min(max(valid - offset, 0), extent)`` per axis (tensor API section 4.6)."""
    return tuple(minimum(maximum(sub(v, o), 0), e) for v, o, e in zip(valid, offsets, extent, strict=True))


def check_element_count(operation: str, types: Sequence[TensorType]) -> None:
    """Static results hold at most 2^31 - 1 elements (tensor API section 8.3)."""
    for type in types:
        if type.is_static and math.prod(type.shape) > INT32_MAX:  # type: ignore[arg-type]
            raise SizeTooLarge(shape=list(type.shape), operation=operation.upper())


class Builder:
    """Appends statements to the innermost open block. ``span`` is stamped on what is appended."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters: list[Storage | Symbol] = []
        self.dimensions: dict[Symbol, tuple[Storage, int]] = {}
        self.open: list[list[Statement]] = [[]]
        self.span: Span | None = None

    # -- parameters ------------------------------------------------------------------------------------------------------------

    def parameter(self, name: str, type: TensorType) -> Storage:
        storage = Storage(name, type, "parameter")
        self.parameters.append(storage)
        for axis, size in enumerate(type.shape):
            if isinstance(size, Symbol):
                self.dimensions.setdefault(size, (storage, axis))
        return storage

    def scalar_parameter(self, name: str, kind: str = "int") -> Symbol:
        symbol = Symbol(name, kind)
        self.parameters.append(symbol)
        return symbol

    # -- statements ------------------------------------------------------------------------------------------------------------

    def append(self, statement: Statement) -> None:
        self.open[-1].append(statement)

    def effect(self, name: str, *operands: Operand, **attributes: Any) -> None:
        self.append(Op(name, operands, attributes, (), self.span))

    def op(self, name: str, *operands: Operand, hint: str = "", **attributes: Any) -> Any:
        """Append a row of the op table, its guards first; the row's typing rule makes the results. One is returned bare."""
        with guards() as needed:
            types = OPERATIONS[name].infer(operands, attributes)
        check_element_count(name, types)
        for condition, error in needed:
            self.effect("check", condition, error=error)
        results = tuple(Value(t, hint) for t in types)
        self.append(Op(name, operands, attributes, results, self.span))
        return results[0] if len(results) == 1 else results

    def allocate(self, name: str, type: TensorType) -> Storage:
        storage = Storage(name, type, "local")
        self.append(Op("allocate", (), {}, (storage,), self.span))
        return storage

    def alias(self, base: Storage, shape: Sequence[Scalar], name: str = "") -> Storage:
        storage = Storage(name or base.name, TensorType(base.type.dtype, tuple(shape)), "alias", base)
        self.append(Op("alias", (base,), {"shape": tuple(shape)}, (storage,), self.span))
        return storage

    def load(
        self,
        storage: Storage,
        shape: Sequence[Scalar] | None = None,
        offsets: Sequence[Scalar] | None = None,
        valid: Sequence[Scalar] | None = None,
        hint: str = "",
    ) -> Value:
        extent = tuple(storage.type.shape if shape is None else shape)
        start = tuple([0] * len(extent) if offsets is None else offsets)
        inner = tuple(valid) if valid is not None else clipped_valid(storage.type.valid, start, extent)
        value = Value(TensorType(storage.type.dtype, extent, inner), hint)
        self.append(Op("load", (storage,), {"offsets": start}, (value,), self.span))
        return value

    def store(self, storage: Storage, value: Value | Literal, offsets: Sequence[Scalar] | None = None) -> None:
        start = tuple([0] * storage.type.rank if offsets is None else offsets)
        self.effect("store", storage, value, offsets=start)

    def read(self, source: Value | Storage, indices: Sequence[Scalar], name: str = "element", kind: str = "int") -> Symbol:
        symbol = Symbol(name, kind)
        self.append(Op("read", (source,), {"indices": tuple(indices)}, (symbol,), self.span))
        return symbol

    # -- structure -------------------------------------------------------------------------------------------------------------

    @contextmanager
    def block(self, into: list[Statement]) -> Iterator[None]:
        """Append to ``into`` while the block is open."""
        self.open.append(into)
        try:
            yield
        finally:
            self.open.pop()

    @contextmanager
    def loop(self, start: Scalar, stop: Scalar, step: Scalar = 1, name: str = "i", **flags: Any) -> Iterator[Symbol]:
        """A loop without carried values, for tests and simple passes."""
        index = Symbol(name)
        statements: list[Statement] = []
        with self.block(statements):
            yield index
        self.append(Loop(index, start, stop, step, Block(tuple(statements)), span=self.span, name=name, **flags))

    def finish(self, options: Mapping[str, Any] | None = None, span: Span | None = None) -> Program:
        (statements,) = self.open
        return Program(
            self.name, tuple(self.parameters), Block(tuple(statements)), dict(self.dimensions), dict(options or {}), span
        )
