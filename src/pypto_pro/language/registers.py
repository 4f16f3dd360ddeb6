"""The register level: ``pl.vector_function``, ``pl.Vf`` (tile API section 3.12) and ``pl.simt`` (section 3.13).

This version has tile operations only. The names exist so that files import; using one inside a kernel is refused by name. What comes
later grows here: the declarations, and beside ``frontend/`` a reader of register-level bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_pro.errors.language import RegisterLevel, SimtLevel

REGISTER_LEVEL = "pypto_pro_register_level"


def vector_function(function: Callable[..., Any] | None = None, **named: Any) -> Any:
    """Marks a register-level function; a kernel that calls it is refused for now."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, REGISTER_LEVEL, "vector_function")
        return function

    return mark if function is None else mark(function)


class _Refusing(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RegisterLevel(name=name)


class Vf(metaclass=_Refusing):
    """Register-level operations, used through the name ``vf``; all of them come later."""


class Simt:
    """``pl.simt``: functions of many threads; they come later."""

    @staticmethod
    def function(function: Callable[..., Any] | None = None, **named: Any) -> Any:
        """Marks a SIMT function; a kernel that launches it is refused for now."""

        def mark(function: Callable[..., Any]) -> Callable[..., Any]:
            setattr(function, REGISTER_LEVEL, "simt.function")
            return function

        return mark if function is None else mark(function)

    callee = function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise SimtLevel(name=name)


simt = Simt()
