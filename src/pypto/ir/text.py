"""Readable text of a program. ``ir/parse.py`` reads it back.

::

    program total(x: fp32[n, 8], y: fp32[1, 8]):
        where n: int(0, inf) = x.shape[0]
        zero: fp32[1, 8] = full(fp32(0.0), shape=(1, 8), valid=None)
        for i in range(0, n, 1), name='rows':
            carry acc: fp32[1, 8] = zero -> acc_1
            row: fp32[1, 8 valid min(n, 1), 8] = load(x, offsets=(i, 0))    # kernel.py:7
            v0: fp32[1, 8] = add(acc, row)
            yield v0
        store(y, acc_1, offsets=(0, 0))

Names are the user's, made unique. ``valid`` appears only where a tensor is not full, bounds of a symbol only where known.
The text depends on the program alone: no addresses, no hash order.
"""

from __future__ import annotations

import enum
import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pypto.dtypes import BY_LABEL, DataType
from pypto.errors.base import UserError
from pypto.ir import symbols
from pypto.ir.program import Block, If, Literal, Loop, Op, Program, Statement, Storage, TensorType, Value
from pypto.ir.symbols import Expression, Symbol

INDENT = "    "
WORDS = {"program", "where", "option", "carry", "range", "valid", "inf", "nan", "int", "float", "bool", "min", "max", "select"}
RESERVED = WORDS | set(keyword.kwlist) | set(BY_LABEL)


def program_text(program: Program, spans: bool = False) -> str:
    """The whole program; with ``spans``, statements end in ``# file:line``."""
    return "\n".join(_Printer(spans).program(program)) + "\n"


def statement_text(statement: Statement) -> str:
    """One statement (and what is in it) on its own, for messages and debugging."""
    return "\n".join(_Printer(False).statement(statement))


class _Printer:
    def __init__(self, spans: bool) -> None:
        self.spans = spans
        self.names: dict[Any, str] = {}
        self.taken = set(RESERVED)
        self.anonymous = 0

    # -- names ---------------------------------------------------------------------------------------------------------------

    def name(self, thing: Any) -> str:
        """The unique name of a value, storage or symbol."""
        if thing not in self.names:
            wanted = thing.hint if isinstance(thing, Value) else thing.name
            self.names[thing] = self.free(re.sub(r"\W", "_", wanted) or self.number())
        return self.names[thing]

    def number(self) -> str:
        self.anonymous += 1
        return f"v{self.anonymous - 1}"

    def free(self, wanted: str) -> str:
        """``wanted``, or with a number behind it when it is taken."""
        base = f"_{wanted}" if wanted[0].isdigit() else wanted
        candidate, count = base, 0
        while candidate in self.taken:
            count += 1
            candidate = f"{base}_{count}"
        self.taken.add(candidate)
        return candidate

    # -- parts ---------------------------------------------------------------------------------------------------------------

    def scalar(self, a: Any) -> str:
        return symbols.text(a, self.name)

    def type(self, type: TensorType) -> str:
        shape = ", ".join(map(self.scalar, type.shape))
        valid = "" if type.is_full else f" valid {', '.join(map(self.scalar, type.valid))}"
        return f"{type.dtype.label}[{shape}{valid}]"

    def definition(self, thing: Any) -> str:
        """``name: type``."""
        if not isinstance(thing, Symbol):
            return f"{self.name(thing)}: {self.type(thing.type)}"
        return f"{self.name(thing)}: {self.kind(thing)}"

    def kind(self, symbol: Symbol) -> str:
        low, high = symbol.bounds
        known = math.isfinite(low) or math.isfinite(high)
        return f"{symbol.kind}({low}, {high})" if known and symbol.kind != "bool" else symbol.kind

    def value(self, thing: Any) -> str:
        """An operand or attribute, in Python's syntax."""
        if isinstance(thing, (Symbol, Value, Storage)):
            return self.name(thing)
        if isinstance(thing, Expression):
            return self.scalar(thing)
        if isinstance(thing, Literal):
            return f"{thing.dtype.label}({self.scalar(thing.value)})"
        if isinstance(thing, DataType):
            return thing.label
        if isinstance(thing, enum.Enum):
            return f"{type(thing).__name__}.{thing.name}"
        if isinstance(thing, UserError):
            return f"{type(thing).__module__}.{type(thing).__name__}({self.keywords(thing.facts)})"
        if isinstance(thing, (list, tuple, Mapping)):
            return self.collection(thing)
        if thing is None or isinstance(thing, (bool, int, float, str)):
            return repr(thing)
        return repr(thing.item()) if hasattr(thing, "item") else repr(str(thing))

    def collection(self, thing: Any) -> str:
        if isinstance(thing, Mapping):
            return "{" + ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in thing.items()) + "}"
        inner = ", ".join(map(self.value, thing))
        if isinstance(thing, list):
            return f"[{inner}]"
        return f"({inner},)" if len(thing) == 1 else f"({inner})"

    def keywords(self, attributes: Mapping[str, Any]) -> str:
        return ", ".join(f"{key}={self.value(value)}" for key, value in attributes.items())

    # -- statements ----------------------------------------------------------------------------------------------------------

    def program(self, program: Program) -> Iterator[str]:
        for symbol in program.dimensions:
            self.name(symbol)
        parameters = [self.definition(p) for p in program.parameters]
        yield f"program {re.sub(r'[^0-9A-Za-z_]', '_', program.name)}({', '.join(parameters)}):"
        for symbol, (storage, axis) in program.dimensions.items():
            yield f"{INDENT}where {self.definition(symbol)} = {self.name(storage)}.shape[{axis}]"
        for key, value in program.options.items():
            yield f"{INDENT}option {self.value(key)} = {self.value(value)}"
        yield from self.block(program.body)

    def block(self, block: Block, header: Sequence[str] = ()) -> Iterator[str]:
        lines = list(header)
        for statement in block.statements:
            lines += self.statement(statement)
        if block.yields:
            lines.append(f"yield {', '.join(map(self.value, block.yields))}")
        yield from (INDENT + line for line in lines or ["pass"])

    def statement(self, statement: Statement) -> Iterator[str]:
        place = f"    # {statement.span}" if self.spans and statement.span is not None else ""
        if isinstance(statement, Op):
            yield self.op(statement) + place
        elif isinstance(statement, If):
            yield from self.branch(statement, place)
        else:
            yield from self.loop(statement, place)

    def op(self, op: Op) -> str:
        arguments = ", ".join([*map(self.value, op.operands), *([self.keywords(op.attributes)] if op.attributes else [])])
        results = ", ".join(map(self.definition, op.results))
        return f"{results}{' = ' if results else ''}{op.name}({arguments})"

    def loop(self, loop: Loop, place: str) -> Iterator[str]:
        flags = {"name": loop.name, "parallel": loop.parallel, "independent": loop.independent}
        flags |= {"unroll": loop.unroll, "submit_before": loop.submit_before}
        shown = {key: value for key, value in flags.items() if value}
        bounds = ", ".join(map(self.scalar, (loop.start, loop.stop, loop.step)))
        index = self.definition(loop.index) if self.kind(loop.index) != "int" else self.name(loop.index)
        yield f"for {index} in range({bounds}){', ' if shown else ''}{self.keywords(shown)}:{place}"
        yield from self.block(loop.body, [self.carried(c) for c in loop.carried])

    def carried(self, carried: Any) -> str:
        argument = self.definition(carried.argument)
        same = isinstance(carried.result, Value) and carried.result.type == carried.argument.type
        same = same or (isinstance(carried.result, Symbol) and self.kind(carried.result) == self.kind(carried.argument))
        result = self.name(carried.result) if same else self.definition(carried.result)
        return f"carry {argument} = {self.value(carried.initial)} -> {result}"

    def branch(self, branch: If, place: str) -> Iterator[str]:
        results = ", ".join(map(self.definition, branch.results))
        condition = self.scalar(branch.condition)
        yield f"{results}{' = ' if results else ''}if {condition}:{place}"
        yield from self.block(branch.then)
        if branch.orelse.statements or branch.orelse.yields:
            yield "else:"
            yield from self.block(branch.orelse)
