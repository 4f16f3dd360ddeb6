"""Scopes: immutable layers of option values, the current one in a context variable, so that threads do not disturb each other.

A lookup falls through: innermost scope → … → this context's unscoped settings → process settings → environment → defaults.
A new thread starts with what the main thread had set outside any scope; from then on its settings are its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pypto.options.check import checked, key_kind, row
from pypto.options.environment import from_environment
from pypto.options.table import TABLE


@dataclass(frozen=True, eq=False)
class Scope:
    """One layer. ``own`` are the values set in it, ``values`` everything in force; ``parent`` is None for the outermost."""

    name: str
    own: Mapping[str, Any]
    values: Mapping[str, Any]
    parent: Scope | None = None

    def get(self, key: str) -> Any:
        """The value in force; raises ``UnknownOption`` with the nearest name."""
        try:
            return self.values[key]
        except KeyError:
            row(key)
            raise

    def has(self, key: str) -> bool:
        return key in self.values

    def with_values(self, changes: Mapping[str, Any]) -> Scope:
        return Scope(self.name, {**self.own, **changes}, MappingProxyType({**self.values, **changes}), self.parent)

    def child(self, name: str, changes: Mapping[str, Any]) -> Scope:
        return Scope(name, dict(changes), MappingProxyType({**self.values, **changes}), self)

    def family(self, family: str) -> dict[str, Any]:
        """All values of a family by short name."""
        start = family + "."
        return {key[len(start) :]: value for key, value in self.values.items() if key.startswith(start)}


_PROCESS: dict[str, Any] = {}  # set by set_process: survives reset_options
_LOCK = threading.Lock()
_base: Scope | None = None  # where new contexts start; the main thread's unscoped settings
_CURRENT: ContextVar[Scope | None] = ContextVar("pypto_options", default=None)


def _root() -> Scope:
    defaults = {key: option.default for key, option in TABLE.items()}
    values = {**defaults, **from_environment(), **_PROCESS}
    return Scope("global", {}, MappingProxyType(values))


def current() -> Scope:
    """The scope in force: a read-only view, new object after every change.

    >>> from pypto.options import current
    >>> current().get("run.engine") in ("cpu", "reference", "compare")
    True
    """
    scope = _CURRENT.get()
    return scope if scope is not None else base()


def in_force() -> Scope | None:
    """``current()`` in less time, for the call path: None before the first option was asked for."""
    return _CURRENT.get() or _base


def base() -> Scope:
    """The settings that a new context starts with."""
    global _base
    with _LOCK:
        if _base is None:
            _base = _root()
        return _base


def _install(scope: Scope) -> None:
    global _base
    _CURRENT.set(scope)
    if scope.parent is None and threading.current_thread() is threading.main_thread():
        with _LOCK:
            _base = scope


def update(values: Mapping[str, Any]) -> None:
    """Check ``values`` (full keys) and set them in the current scope."""
    _install(current().with_values(prepared(values)))


def prepared(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` checked and in stored form; merge settings keep the key kinds that are not mentioned."""
    result = {}
    for key, value in values.items():
        stored = checked(key, value)
        if TABLE[key].kind == "dict":
            stored = _merged(current().get(key), stored)
        result[key] = stored
    return result


def _merged(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> dict[Any, Any]:
    replaced = {key_kind(k) for k in new} or {"int", "function", "label"}
    if replaced & {"int", "function"}:
        replaced |= {"int", "function"}  # these two cannot stand together
    return {**{k: v for k, v in old.items() if key_kind(k) not in replaced}, **new}


@contextmanager
def scope(name: str = "", values: Mapping[str, Any] | None = None, **more: Any) -> Iterator[Scope]:
    """Open a scope; everything set inside ends with it.

    >>> from pypto.options import current, scope
    >>> with scope("test", {"run.engine": "reference"}):
    ...     current().get("run.engine")
    'reference'
    """
    inner = current().child(name, prepared({**(values or {}), **more}))
    token = _CURRENT.set(inner)
    try:
        yield inner
    finally:
        _CURRENT.reset(token)


def reset() -> None:
    """Back to defaults, environment (read again) and process settings. In an open scope (a kernel, ``with``) until it ends."""
    root, scope = _root(), current()
    _install(root if scope.parent is None else Scope(scope.name, {}, root.values, scope.parent))


def set_process(key: str, value: Any) -> None:
    """Set the process-wide value below all scopes; survives ``reset``. At once in this context, elsewhere in new ones."""
    _PROCESS[key] = checked(key, value) if key in TABLE else value
    _install(current().with_values({key: _PROCESS[key]}))
