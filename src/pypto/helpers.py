"""Small public functions that belong to no room."""

from __future__ import annotations

from typing import Any


def ceildiv(a: Any, b: Any) -> Any:
    """``(a + b - 1) // b`` for integers and symbolic scalars.

    >>> ceildiv(10, 4)
    3
    """
    return (a + b - 1) // b
