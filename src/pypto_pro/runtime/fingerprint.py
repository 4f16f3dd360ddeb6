"""Whether what a kernel was compiled from is still what it was: globals, closure cells and helpers rebound since then are noticed.

A container that is changed in place is noticed at the next compilation only (rulings, FC-157).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from pypto.frontend.python import cells_of
from pypto_pro.runtime.compilation import Definition

_MISSING = object()


class Seen:
    """The values of all global and closure names that a kernel and its helpers mention, as they are now."""

    def __init__(self, definition: Definition) -> None:
        self.cells: list[tuple[FunctionType, dict[str, Any]]] = []
        self.globals: list[tuple[Mapping[str, Any], str, Any]] = []
        self._visit(definition.function, set())

    def _visit(self, function: FunctionType, done: set[int]) -> None:
        if id(function.__code__) in done:
            return
        done.add(id(function.__code__))
        cells = cells_of(function)
        self.cells += [(function, cells)] if cells else []
        found = list(cells.values())
        for name in _names(function.__code__):
            value = function.__globals__.get(name, _MISSING)
            if value is not _MISSING:
                self.globals.append((function.__globals__, name, value))
                found.append(value)
        for value in found:
            if isinstance(value, FunctionType):
                self._visit(value, done)

    def unchanged(self) -> bool:
        return all(scope.get(name, _MISSING) is value for scope, name, value in self.globals) and all(
            _same(cells_of(function), cells) for function, cells in self.cells
        )


def _same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    return now.keys() == before.keys() and all(now[name] is before[name] for name in now)


def _names(code: Any) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            found |= _names(constant)
    return found
