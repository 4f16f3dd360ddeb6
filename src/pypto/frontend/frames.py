"""Frames of interpreted functions: where names live, and the markers that stand for names without a usable value."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.errors.frontend import MaybeUnbound, UnboundLocal, UnboundName
from pypto.frontend.python import Code

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


class Poison:
    """A name that has no single value here; using it raises ``error`` (built anew, so that each use has its own place)."""

    __slots__ = ("error", "facts")

    def __init__(self, error: type[UserError], **facts: Any) -> None:
        self.error = error
        self.facts = facts

    def resolve(self, tracer: Any) -> Any:
        """The value to use; here there is none."""
        raise self.error(**self.facts)


class Deferred(Poison):
    """A name bound by a loop (``origin``) that may run zero times: using it records a check that it ran."""

    __slots__ = ("condition", "origin", "value")

    def __init__(self, value: Any, condition: Any, origin: Any, error: type[UserError], **facts: Any) -> None:
        super().__init__(error, **facts)
        self.value = value
        self.condition = condition
        self.origin = origin

    @classmethod
    def after_loop(cls, value: Any, ran: Any, node: Any, name: str, line: int) -> Deferred:
        """A name that the loop ``node`` binds at ``line`` when it runs at all."""
        return cls(value, ran, node, MaybeUnbound, name=name, line=line, when="if the loop runs at least once", other=node.lineno)

    def resolve(self, tracer: Any) -> Any:
        tracer.check(self.condition, self.error(**self.facts))
        return self.value


def is_poison(value: Any) -> bool:
    return value.__class__ is Poison or value.__class__ is Deferred


class Watch:
    """Globals, closure cells and attributes that tracing has read: when one holds something else, the kernel is traced again."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        self.cells: dict[int, tuple[Any, Any]] = {}
        self.classes: dict[tuple[int, str], tuple[type, str, Any]] = {}
        self.functions: dict[int, tuple[Any, Any, Any, Any]] = {}
        self.opaque = ""  # why another process cannot know that it would trace the same (it then traces for itself)
        self.warnings: list[tuple[str, Span | None, str | None, bool]] = []  # headline, place, help, portability

    def saw_name(self, namespace: Mapping[str, Any], name: str, value: Any) -> None:
        self.names.setdefault((id(namespace), name), (namespace, name, value))

    def saw_cell(self, cell: Any, value: Any) -> None:
        self.cells.setdefault(id(cell), (cell, value))

    def saw_function(self, function: Any) -> None:
        """A followed function may be patched in place: its code object is watched."""
        self.functions.setdefault(id(function), (function, function.__code__, function.__defaults__, function.__kwdefaults__))

    def saw_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Attributes kept in the ``__dict__`` of modules, objects and classes; those of this package cannot change."""
        space = getattr(owner, "__dict__", None)
        if space is None or type(owner).__module__.startswith("pypto."):
            return
        if isinstance(owner, type):
            self.classes.setdefault((id(owner), name), (owner, name, value))
        elif name in space:
            if not (isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] == "pypto"):
                self.saw_name(space, name, value)
        elif name in vars(type(owner)):
            kind = type(owner)
            self.classes.setdefault((id(kind), name), (kind, name, getattr(kind, name)))

    def settle(self) -> Watch:
        """Forget what the trace itself has changed: that will never hold again."""
        self.names = {k: v for k, v in self.names.items() if _same(v[0].get(v[1], MISSING), v[2])}
        self.cells = {k: v for k, v in self.cells.items() if _same(_content(v[0]), v[1])}
        self.classes = {k: v for k, v in self.classes.items() if _same(getattr(v[0], v[1], MISSING), v[2])}
        return self

    def holds(self) -> bool:
        """Whether everything seen is still there."""
        return (
            all(_same(space.get(name, MISSING), value) for space, name, value in self.names.values())
            and all(_same(_content(cell), value) for cell, value in self.cells.values())
            and all(_same(getattr(kind, name, MISSING), value) for kind, name, value in self.classes.values())
            and all(f.__code__ is c and f.__defaults__ is d and f.__kwdefaults__ is k for f, c, d, k in self.functions.values())
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

    __slots__ = (
        "bound",
        "caller",
        "cells",
        "code",
        "globals",
        "kernel",
        "locals",
        "node",
        "parameters",
        "parent",
        "spans",
        "watch",
    )

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

    def restore(self, name: str, value: Any) -> None:
        """Bind a local name, or unbind it when ``value`` is missing."""
        if value is MISSING:
            self.locals.pop(name, None)
        else:
            self.locals[name] = value

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
        self.watch.saw_name(self.globals, name, value)
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
