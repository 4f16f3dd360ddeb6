"""Which documented names work today: read by ``pypto ops`` and the coverage page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypto.ops.table import Operation


@dataclass(frozen=True)
class Row:
    """One operation. ``engine``: ``native`` (compiled), ``reference`` (numpy called by the compiled kernel), ``planned``."""

    name: str
    kind: str
    engine: str
    dtypes: tuple[str, ...] = ()
    summary: str = ""


def rows() -> list[Row]:
    """Every row of the op table, then the documented operations that are still missing."""
    return [*_table(), *_planned()]


def _table() -> Iterator[Row]:
    import pypto.ops  # noqa: F401  # fills the table
    from pypto.ops.table import OPERATIONS, Kind
    from pypto.public import DOCUMENTED

    for name, row in sorted(OPERATIONS.items()):
        if row.kind is Kind.COMPOSITE and name not in DOCUMENTED:
            continue  # spelled as a method or operator only
        native = is_native(row)
        summary = next((line.strip() for line in row.doc.splitlines() if line.strip()), "")
        yield Row(name, row.kind.value, "native" if native else "reference", tuple(d.label for d in row.dtypes), summary)


def is_native(row: Operation) -> bool:
    """Whether the CPU engine compiles the operation itself (what ``cpu.plan`` does; a test compares the two)."""
    from pypto.cpu import indexing
    from pypto.cpu.shapes import MOVERS
    from pypto.ops.table import Kind, Reduction

    if row.kind is Kind.ELEMENTWISE:
        return callable(row.lower)
    if row.kind is Kind.REDUCTION:
        return isinstance(row.lower, Reduction)
    if row.kind is Kind.MOVEMENT:
        return row.name in MOVERS or row.name == "concat"
    if row.kind is Kind.INDEXING:
        return row.name in indexing.NATIVE
    return row.kind in (Kind.COMPOSITE, Kind.MATMUL) or row.name in ("full", "arange", "tril", "triu", "cumsum", "topk")


def compiled_types() -> list[str]:
    """Labels of the element types for which native operations are compiled; with any other the reference computes."""
    from pypto.cpu.compute import NATIVE

    return sorted(dtype.label for dtype in NATIVE)


def _planned() -> Iterator[Row]:
    import pypto
    from pypto.ops.table import OPERATIONS
    from pypto.public import OPERATION_GROUPS, split

    for group, names in OPERATION_GROUPS.items():
        for name in split(names):
            if name not in OPERATIONS and not hasattr(pypto, name):
                yield Row(name, group, "planned")
