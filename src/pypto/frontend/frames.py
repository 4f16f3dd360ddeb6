"""Frames of interpreted functions: where names live, and the markers that stand for names without a usable value."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.errors.frontend import UnboundLocal, UnboundName
from pypto.frontend.python import Code

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


class Poison:
    """A name that has no single value here; using it raises ``error`` (built anew, so that each use has its own place)."""

    __slots__ = ("error", "facts")

    def __init__(self, error: type[UserError], **facts: Any) -> None:
        self.error = error
        self.facts = facts

    def raise_(self) -> None:
        raise self.error(**self.facts)


class Watch:
    """Globals and closure cells that tracing has read, with what they held: when one changes, the kernel is traced again."""

    def __init__(self) -> None:
        self.globals: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        self.cells: dict[int, tuple[Any, Any]] = {}

    def saw_global(self, namespace: Mapping[str, Any], name: str, value: Any) -> None:
        self.globals[id(namespace), name] = (namespace, name, value)

    def saw_cell(self, cell: Any, value: Any) -> None:
        self.cells[id(cell)] = (cell, value)

    def holds(self) -> bool:
        """Whether everything seen is still there."""
        return all(_same(space.get(name, MISSING), value) for space, name, value in self.globals.values()) and all(
            _same(_content(cell), value) for cell, value in self.cells.values()
        )


_PLAIN = (int, float, bool, str, bytes, complex, type(None))


def _same(now: Any, then: Any) -> bool:
    return now is then or (type(now) is type(then) and isinstance(now, _PLAIN) and now == then)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


class Frame:
    """One activation. ``parent`` is the lexically enclosing frame, ``caller`` the calling one, ``node`` what is evaluated now."""

    __slots__ = ("bound", "caller", "cells", "code", "globals", "kernel", "locals", "node", "parameters", "parent", "spans", "watch")

    def __init__(
        self,
        code: Code,
        globals: dict[str, Any],
        cells: Mapping[str, Any],
        watch: Watch,
        parent: Frame | None = None,
        caller: Frame | None = None,
    ) -> None:
        self.code = code
        self.bound = code.bound
        self.locals: dict[str, Any] = {}
        self.globals = globals
        self.cells = cells
        self.watch = watch
        self.parent = parent
        self.caller = caller
        self.node: Any = code.node
        self.kernel = False
        self.parameters: dict[str, Any] = {}  # of a kernel: name -> handle of the tensor parameter
        self.spans: dict[int, Span] = {}

    def inner(self, bound: frozenset[str]) -> Frame:
        """A scope inside this one, for a comprehension."""
        frame = Frame(self.code, self.globals, self.cells, self.watch, self, self.caller)
        frame.bound = bound
        frame.node = self.node
        return frame

    def lookup(self, name: str) -> Any:
        """The value of ``name`` by Python's rules; raises ``UnboundLocal`` or ``UnboundName``."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.locals.get(name, MISSING)
            if value is not MISSING:
                return value
            if name in frame.bound:
                raise UnboundLocal(name=name)
            frame = frame.parent
        return self._outer(name)

    def _outer(self, name: str) -> Any:
        cell = self.cells.get(name)
        if cell is not None:
            value = _content(cell)
            if value is MISSING:
                raise UnboundName(name=name)
            self.watch.saw_cell(cell, value)
            return value
        value = self.globals.get(name, MISSING)
        self.watch.saw_global(self.globals, name, value)
        if value is not MISSING:
            return value
        try:
            return getattr(builtins, name)
        except AttributeError:
            raise UnboundName(name=name)

    def span(self) -> Span:
        """The place being evaluated, with the calls that led here."""
        node = self.node
        found = self.spans.get(id(node))
        if found is None:
            found = self.code.span(node)
            if self.caller is not None:
                found = Span(
                    found.file, found.line, found.column, found.end_line, found.end_column, found.function, self.caller.span()
                )
            self.spans[id(node)] = found
        return found
