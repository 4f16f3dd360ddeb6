"""The op table. Importing this room enters every row; ``PUBLIC`` maps the public names to their functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ops import arithmetic, arranging, casting, creation, functions, matmul, movement, reduction  # noqa: F401
from pypto.ops.table import OPERATIONS

PUBLIC: dict[str, Callable[..., Any]] = {row.name: row.function for row in OPERATIONS.values() if row.public}
