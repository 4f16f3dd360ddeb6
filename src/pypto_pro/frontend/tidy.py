"""Core program → core program without what nobody reads.

Before::

    x = 0            after:  for i in range(0, 4): …
    for i in range(0, 4): …

Assignments to names that nothing reads are dropped (unless evaluating them turns a ring), then empty branches and loops. Not handled:
stores that are overwritten before they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pypto.cores.program import Assign, If, Loop, Repeat, Slot, Statement, expressions_in, names_read
from pypto.cores.types import Type


def tidy(body: tuple[Statement, ...], types: dict[str, Type]) -> tuple[tuple[Statement, ...], dict[str, Type]]:
    """The statements without dead ones, and the types of the names that are left."""
    while True:
        read = set(names_read(body))
        kept = _kept(body, read)
        if kept is body:
            break
        body = kept
    left = set(names_read(body)) | set(_declared(body))
    return body, {name: type for name, type in types.items() if name in left}


def _kept(body: tuple[Statement, ...], read: set[str]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, Assign) and statement.name not in read and not turns(statement.value):
            continue
        if isinstance(statement, If):
            then, otherwise = _kept(statement.then, read), _kept(statement.otherwise, read)
            if then is not statement.then or otherwise is not statement.otherwise:
                statement = replace(statement, then=then, otherwise=otherwise)
            if not statement.then and not statement.otherwise and not turns(statement.condition):
                continue
        elif isinstance(statement, (Loop, Repeat)):
            inner = _kept(statement.body, read)
            statement = statement if inner is statement.body else replace(statement, body=inner)
            if isinstance(statement, Loop) and not statement.body and statement.variable not in read:
                continue
        found.append(statement)
    return tuple(found) if len(found) != len(body) or any(a is not b for a, b in zip(found, body, strict=True)) else body


def without_inner(statement: Statement) -> Statement:
    """A statement without the statements in it."""
    if isinstance(statement, If):
        return replace(statement, then=(), otherwise=())
    return replace(statement, body=()) if isinstance(statement, (Loop, Repeat)) else statement


def turns(part: Any) -> bool:
    """Whether evaluating an expression turns a ring."""
    return any(isinstance(one, Slot) and one.how == "next" for one in expressions_in(part))


def _declared(body: tuple[Statement, ...]) -> Iterator[str]:
    for one in expressions_in(body):
        if isinstance(one, (Assign, Loop)):
            yield one.name if isinstance(one, Assign) else one.variable
        elif hasattr(one, "type") or type(one).__name__.startswith("Declare"):
            yield one.name
        elif type(one).__name__ == "Instruction" and one.result:
            yield one.result
