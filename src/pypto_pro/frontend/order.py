"""Python's order of evaluation: what an operand does is not seen by the operands before it.

An operand that reads what later statements may change (a field of a struct, the valid extent of a tile) is put into a variable as soon as
a later operand needs statements of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from pypto.cores.program import Constant, Field, Name, ValidExtent, expressions_in
from pypto_pro.frontend.values import HANDLES, Bundle, as_number, expression_of


def in_order(reader: Any, nodes: Sequence[ast.expr], evaluate: Callable[[ast.expr], Any]) -> list[Any]:
    """The values of ``nodes``, from left to right."""
    values: list[Any] = []
    for node in nodes:
        outer, reader.block = reader.block, []
        try:
            value, statements = evaluate(node), reader.block
        finally:
            reader.block = outer
        if statements:
            place = reader.frame.span(node)
            values = [fixed(reader, one, place, only_changing=True) for one in values]
        reader.block.extend(statements)
        values.append(value)
    return values


def fixed(reader: Any, value: Any, place: Any, *, only_changing: bool = False) -> Any:
    """A value that later statements cannot change: constants and names as they are, everything else in a variable."""
    if isinstance(value, Bundle):
        return Bundle(tuple(fixed(reader, item, place, only_changing=only_changing) for item in value.items), value.names)
    if as_number(value) is None and not isinstance(value, HANDLES):
        return value
    expression = expression_of(value)
    if isinstance(expression, (Constant, Name)) or (only_changing and not changes(expression)):
        return value
    return reader.hold(value, "held", place)


def changes(part: Any) -> bool:
    """Whether an expression reads what a statement may change without naming it."""
    return any(isinstance(one, (Field, ValidExtent)) for one in expressions_in(part))
