"""The front end: reads Python, records a tensor program. ``pypto.frontend.jit``, ``function`` and ``dynamic`` are public."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "jit": "pypto.kernel",
    "function": "pypto.frontend.marker",
    "dynamic": "pypto.frontend.marker",
    "SymbolicScalar": "pypto.frontend.symbolic",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
