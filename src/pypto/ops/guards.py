"""Conditions of a typing rule that only a run can decide.

A rule calls ``require(condition, error)``: a constant condition is settled at once, a symbolic one is handed to whoever
opened ``guards()`` and becomes a ``check`` statement in front of the op (``Builder.op`` does that)::

    with guards() as needed:
        types = row.infer(operands, attributes)
    for condition, error in needed: ...
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pypto.errors.base import UserError
from pypto.ir.symbols import Expression, Scalar

_collector: ContextVar[list[tuple[Scalar, UserError]] | None] = ContextVar("pypto_guards", default=None)


@contextmanager
def guards() -> Iterator[list[tuple[Scalar, UserError]]]:
    """Collect the conditions that rules in this block leave to the run."""
    needed: list[tuple[Scalar, UserError]] = []
    token = _collector.set(needed)
    try:
        yield needed
    finally:
        _collector.reset(token)


def require(condition: Scalar, at_run_time: UserError, at_compile_time: UserError | None = None) -> None:
    """Raise when ``condition`` is false; when it is symbolic, leave it to the run. Without a collector it is trusted."""
    if isinstance(condition, Expression):
        collector = _collector.get()
        if collector is not None:
            collector.append((condition, at_run_time))
    elif not condition:
        raise at_compile_time or at_run_time
