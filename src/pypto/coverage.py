"""Which documented names work today: read by ``pypto ops`` and the coverage page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


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

    for name, row in sorted(OPERATIONS.items()):
        native = row.lower is not None or row.kind is Kind.COMPOSITE
        summary = next((line.strip() for line in row.doc.splitlines() if line.strip()), "")
        yield Row(name, row.kind.value, "native" if native else "reference", tuple(d.label for d in row.dtypes), summary)


def _planned() -> Iterator[Row]:
    import pypto
    from pypto.ops.table import OPERATIONS
    from pypto.public import OPERATION_GROUPS, split

    for group, names in OPERATION_GROUPS.items():
        for name in split(names):
            if name not in OPERATIONS and not hasattr(pypto, name):
                yield Row(name, group, "planned")
