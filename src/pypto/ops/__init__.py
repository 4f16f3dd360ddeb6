"""The op table. Importing this room enters every row; ``PUBLIC`` maps the public names to their functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ops import (  # noqa: F401
    arithmetic,
    arranging,
    bitwise,
    casting,
    comparison,
    composite,
    creation,
    functions,
    indexing,
    matmul,
    movement,
    power,
    reduction,
    scan,
    signs,
)
from pypto.ops.table import OPERATIONS

PUBLIC: dict[str, Callable[..., Any]] = {row.name: row.function for row in OPERATIONS.values() if row.public}
