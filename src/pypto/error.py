"""Exception classes under the reference's module name, and the decorator that its tests use (tensor API section 3.1)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pypto.errors.base import (
    FeError,
    InternalError,
    ParserError,
    PassError,
    PyptoError,
    PyptoGeneralError,
    PyptoRtError,
    RenderedParserError,
    UserError,
    VerifyError,
)

__all__ = [
    "FeError",
    "InternalError",
    "ParserError",
    "PassError",
    "PyptoError",
    "PyptoGeneralError",
    "PyptoRtError",
    "RenderedParserError",
    "UserError",
    "VerifyError",
]


def _wrapped(operation: str, name: str, error: Exception) -> PyptoGeneralError:
    text = f"Failed to {operation} '{name}'.\n{error}"
    if "ErrCode" in str(error):
        return PyptoGeneralError(text)  # keeps the inner code
    wrapped = PyptoGeneralError(error)
    wrapped.args = (f"ErrCode: {wrapped.err_code:X}, {type(error).__name__}: {text}",)
    return wrapped


def _catch_and_wrap_error(operation: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what leaves the function and is not a ``PyptoError`` becomes one that names the operation and its subject."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return function(*arguments, **named)
            except PyptoError:
                raise
            except Exception as error:  # the decorator's purpose: nothing else leaves the function
                subject = getattr(arguments[0], "__name__", None) if arguments else None
                raise _wrapped(operation, subject or function.__name__, error) from error

        return call

    return decorate
