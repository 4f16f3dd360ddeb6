"""Public scopes: ``pypto.options``, ``set_options``, ``reset_options``, ``get_current_scope`` … (tensor API section 7.1)."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from typing import Any

from pypto.config import known_arguments
from pypto.errors.options import NotATile, OptionNotFound, OptionsNotDictionary
from pypto.options import scopes as _scopes
from pypto.options.check import checked, row
from pypto.options.table import FAMILIES, TABLE, rows_of
from pypto.tiles import ConvTile, CubeTile, positive_sizes


def _tile(cls: type[Any], given: Any) -> Any:
    if isinstance(given, cls):
        return given
    if isinstance(given, (tuple, list)):
        return cls(*given)
    raise NotATile(function="options", expected=f"a pypto.{cls.__name__} or its arguments", got=type(given).__name__)


_SHAPES: dict[str, Callable[[Any], Any]] = {
    "vec_tile_shapes": lambda given: positive_sizes("options", given if isinstance(given, (list, tuple)) else [given]),
    "cube_tile_shapes": lambda given: _tile(CubeTile, given),
    "conv_tile_shapes": lambda given: _tile(ConvTile, given),
    "matrix_size": lambda given: positive_sizes("options", given),
}
_ARGUMENTS = (*(f"{family}_options" for family in FAMILIES), *_SHAPES)


def full_keys(arguments: Mapping[str, Any], function: str = "options") -> dict[str, Any]:
    """``{"pass_options": {"enable_slice": True}}`` → ``{"pass.enable_slice": True}``; ``None`` means: leave alone."""
    known_arguments(function, arguments, _ARGUMENTS)
    values: dict[str, Any] = {}
    for argument, given in arguments.items():
        if given is None:
            continue
        if argument in _SHAPES:
            values[argument] = _SHAPES[argument](given)
            continue
        family = argument.removesuffix("_options")
        if not isinstance(given, Mapping):
            raise OptionsNotDictionary(family=family, got=type(given).__name__, example=next(iter(rows_of(family))))
        values.update({f"{family}.{name}": value for name, value in given.items() if value is not None})
    return values


class OptionsScope:
    """What ``pypto.options(...)`` returns: a context manager, and a decorator that opens the scope around each call."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name = name
        self.values = dict(values)
        self._open = threading.local()  # one object may be entered by several threads, and again inside itself

    def __enter__(self) -> ConfigScope:
        manager: AbstractContextManager[_scopes.Scope] = _scopes.scope(self.name, self.values)
        inner = manager.__enter__()
        self._open.__dict__.setdefault("stack", []).append(manager)
        return ConfigScope(inner)

    def __exit__(self, *error: Any) -> None:
        self._open.stack.pop().__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        name = self.name or getattr(function, "__name__", "")

        @functools.wraps(function)
        def scoped(*arguments: Any, **named: Any) -> Any:
            with _scopes.scope(name, self.values):
                return function(*arguments, **named)

        return scoped


class _Options:
    """``pypto.options``: call it to open a scope. It has all that the package ``pypto.options`` has, whose name it hides."""

    current = staticmethod(_scopes.current)
    scope = staticmethod(_scopes.scope)

    def __call__(self, name: str = "", **arguments: Any) -> OptionsScope:
        """Open a scope: ``pypto.options(name="", pass_options={...}, run_options={...}, vec_tile_shapes=[...], …)``.

        >>> import pypto
        >>> with pypto.options(run_options={"engine": "reference"}):
        ...     pypto.get_run_options()["engine"]
        'reference'
        """
        values = full_keys(arguments)
        for key, value in values.items():
            checked(key, value)
        return OptionsScope(name, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["pypto.options"], name)

    def __repr__(self) -> str:
        return "<function pypto.options>"


options = _Options()


def set_options(**arguments: Any) -> None:
    """Set options of several families in the current scope; the arguments of ``pypto.options`` without ``name``."""
    _scopes.update(full_keys(arguments, "set_options"))


def reset_options() -> None:
    """Return everything to the defaults (and the environment variables, which are read again)."""
    _scopes.reset()


class ConfigScope:
    """A read-only look at the options in force."""

    def __init__(self, scope: _scopes.Scope) -> None:
        self._scope = scope

    @property
    def name(self) -> str:
        return self._scope.name

    def has(self, key: str) -> bool:
        return isinstance(key, str) and self._scope.has(key)

    def get_options_prefix(self, key: str) -> Any:
        """The value of a full key such as ``"pass.enable_slice"``."""
        if not self.has(key):
            raise OptionNotFound(key=key)
        return copy(self._scope.get(key))

    def get_options(self, prefix: str) -> dict[str, Any]:
        """All options of a family by short name."""
        return {key: copy(value) for key, value in self._scope.family(prefix).items()}

    def get_all(self) -> dict[str, Any]:
        return {key: copy(value) for key, value in self._scope.values.items()}

    def get_pass_options(self) -> dict[str, Any]:
        return self.get_options("pass")

    def get_codegen_options(self) -> dict[str, Any]:
        return self.get_options("codegen")

    def get_host_options(self) -> dict[str, Any]:
        return self.get_options("host")

    def get_debug_options(self) -> dict[str, Any]:
        return self.get_options("debug")

    def get_verify_options(self) -> dict[str, Any]:
        return self.get_options("verify")

    def get_operation_options(self) -> dict[str, Any]:
        return self.get_options("operation")

    def get_vec_tile_shapes(self) -> list[int]:
        return list(self._scope.get("vec_tile_shapes"))

    def get_cube_tile_shapes(self) -> Any:
        return self._scope.get("cube_tile_shapes")

    def get_conv_tile_shapes(self) -> Any:
        return self._scope.get("conv_tile_shapes")

    def get_matrix_size(self) -> list[int]:
        return list(self._scope.get("matrix_size"))

    def __repr__(self) -> str:
        return "\n".join(f"{key}: {value}" for key, value in sorted(self.get_all().items()))


def get_current_scope() -> ConfigScope:
    """The options in force, for reading."""
    return ConfigScope(_scopes.current())


def get_options_tree() -> str:
    """The open scopes, outermost first, each with what was set in it; then the names and defaults of all options."""
    chain = []
    scope: _scopes.Scope | None = _scopes.current()
    while scope is not None:
        chain.append(scope)
        scope = scope.parent
    lines = []
    for depth, layer in enumerate(reversed(chain)):
        lines.append("  " * depth + (layer.name or "scope"))
        lines += ["  " * (depth + 1) + f"{key}: {value}" for key, value in sorted(layer.own.items())]
    lines.append("defaults")
    lines += [f"  {key}: {option.default!r}" for key, option in TABLE.items()]
    return "\n".join(lines)


def get_global_config(key: str) -> Any:
    """The value of ``global.<key>``."""
    return _scopes.current().get(row(f"global.{key}").key)


def set_global_config(key: str, value: Any) -> None:
    """Set ``global.<key>``; the type is not checked."""
    _scopes.update({f"global.{key}": value})
