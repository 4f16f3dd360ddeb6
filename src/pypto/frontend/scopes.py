"""Checks that a finished program uses symbols only where they are defined.

A symbolic scalar can leave its loop or branch through a Python list or attribute; then the number it stands for does not exist where it
is used, and the error names that place.
"""

from __future__ import annotations

from typing import Any

from pypto.errors.frontend import EscapedScalar
from pypto.ir.program import Block, If, Loop, Op, Program, Storage, Value, results_of, scalars_in, symbols_used
from pypto.ir.symbols import Symbol, symbols_in


def check_scopes(program: Program) -> None:
    """Raise ``EscapedScalar`` at the first statement that uses a symbol out of its scope."""
    known = {p for p in program.parameters if isinstance(p, Symbol)} | set(program.dimensions)
    _block(program.body, known)


def _block(block: Block, known: set[Symbol]) -> None:
    """``known`` are the symbols of the blocks around; what this block defines is added to a copy."""
    known = set(known) if known else set()
    for statement in block.statements:
        _check(symbols_used(statement), known, statement)
        if isinstance(statement, Loop):
            inner = {statement.index, *(c.argument for c in statement.carried if isinstance(c.argument, Symbol))}
            _block(statement.body, known | inner)
            _yields(statement, statement.body, known | inner)
        elif isinstance(statement, If):
            for arm in (statement.then, statement.orelse):
                _block(arm, known)
        known.update(symbol for symbol in results_of(statement) if isinstance(symbol, Symbol))


def _yields(statement: Loop, body: Block, known: set[Symbol]) -> None:
    defined = {s for inner in body.statements for s in results_of(inner) if isinstance(s, Symbol)}
    used = {s for y in body.yields for scalar in scalars_in(_plain(y)) for s in symbols_in(scalar)}
    _check(used, known | defined, statement)


def _plain(operand: Any) -> Any:
    return () if isinstance(operand, (Value, Storage)) else operand


def _check(used: set[Symbol], known: set[Symbol], statement: Any) -> None:
    for symbol in used:
        if symbol not in known:
            span = statement.span
            raise EscapedScalar(
                name=symbol.name,
                what=statement.name if isinstance(statement, Op) else "a loop or branch",
                span=span,
                chain=() if span is None else span.callers,
            )
