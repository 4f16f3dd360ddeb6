"""The CPU engine: fusion, loop nests, LLVM text, matrix multiplication, threads, linking."""

from __future__ import annotations

from typing import Any

__all__ = ["build", "generate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from pypto.cpu import kernel as module

        return getattr(module, name)
    raise AttributeError(name)
