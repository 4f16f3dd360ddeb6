"""Checks that a finished program uses symbols only where they are defined.

A symbolic scalar can leave its loop or branch through a Python list or attribute; then the number it stands for does not exist where it
is used, and the error names that place.
"""

from __future__ import annotations

from typing import Any

from pypto.errors.frontend import EscapedScalar
from pypto.ir.program import Block, If, Literal, Loop, Op, Program, Statement, Storage, TensorType, Value, results_of
from pypto.ir.symbols import Expression, Symbol, symbols_in

_INERT = (int, float, bool, str, type(None), Value, Storage)


def check_scopes(program: Program) -> None:
    """Raise ``EscapedScalar`` at the first statement that uses a symbol out of its scope."""
    known = {p for p in program.parameters if isinstance(p, Symbol)} | set(program.dimensions)
    _block(program.body, known, None)


def _block(block: Block, around: set[Symbol], owner: Statement | None) -> None:
    """``around`` are the symbols of the blocks around; what this block defines is added to a copy."""
    known = set(around)
    for statement in block.statements:
        if isinstance(statement, Op):
            _op(statement, known)
        elif isinstance(statement, Loop):
            initials = [c.initial for c in statement.carried]
            _check((statement.start, statement.stop, statement.step, initials), known, statement)
            inner = {statement.index, *(c.argument for c in statement.carried if isinstance(c.argument, Symbol))}
            _block(statement.body, known | inner, statement)
        else:
            _check(statement.condition, known, statement)
            for arm in (statement.then, statement.orelse):
                _block(arm, known, statement)
        known.update(symbol for symbol in results_of(statement) if isinstance(symbol, Symbol))
    if owner is not None:
        _check(block.yields, known, owner)


def _op(op: Op, known: set[Symbol]) -> None:
    """Types of operands were checked where the operands were made."""
    _check(op.operands, known, op)
    _check(op.attributes, known, op)
    for result in op.results:
        if not isinstance(result, Symbol):
            _check(result.type, known, op)


def _check(thing: Any, known: set[Symbol], statement: Statement) -> None:
    """Every symbol in scalars, types and nested containers of them must be known."""
    if isinstance(thing, _INERT):
        return
    if isinstance(thing, (tuple, list)):
        for part in thing:
            if part.__class__ is not int:
                _check(part, known, statement)
    elif isinstance(thing, TensorType):
        _check(thing.shape, known, statement)
        _check(thing.valid, known, statement)
    elif isinstance(thing, dict):
        for part in thing.values():
            _check(part, known, statement)
    elif isinstance(thing, Literal):
        _check(thing.value, known, statement)
    elif isinstance(thing, Expression):
        for symbol in symbols_in(thing):
            if symbol not in known:
                _refuse(symbol, statement)


def _refuse(symbol: Symbol, statement: Statement) -> None:
    span = statement.span
    what = statement.name if isinstance(statement, Op) else "a branch" if isinstance(statement, If) else "a loop"
    raise EscapedScalar(name=symbol.name, what=what, span=span, chain=() if span is None else span.callers)
