"""Decorators for families of rows that differ only in a few columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.dtypes import DataType
from pypto.ops import rules
from pypto.ops.table import Kind, Unit, operation


def elementwise(
    name: str,
    *,
    dtypes: tuple[DataType, ...],
    result: DataType | rules.ResultType | None = None,
    equal_ranks: bool = False,
    empty: bool = True,
    mixed: bool = False,
    instruction: str = "",
    **columns: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An elementwise row: typing from ``rules.elementwise``, vector pipe, instruction ``V<NAME>`` unless given."""
    infer = rules.elementwise(name, dtypes, result=result, equal_ranks=equal_ranks, empty=empty, mixed=mixed)
    unit = Unit("V", instruction or f"V{name.upper()}")
    return operation(name=name, kind=Kind.ELEMENTWISE, infer=infer, dtypes=dtypes, npu=unit, **columns)


def composite(name: str, **columns: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A row whose public function records other rows."""
    return operation(name=name, kind=Kind.COMPOSITE, **columns)
