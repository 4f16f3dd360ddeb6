"""Log lines and checks under the reference's names (tensor API section 1.6). Lines go to standard error."""

from __future__ import annotations

import builtins
import sys
from typing import Any, NoReturn

from pypto.enums import LogLevel
from pypto.errors.base import InternalError, PyptoGeneralError
from pypto.errors.options import CheckFailed, InvalidChoice, UnknownErrorType
from pypto.options import current, update

__all__ = [
    "InternalError",
    "LogLevel",
    "check",
    "get_log_level",
    "internal_check",
    "log_debug",
    "log_error",
    "log_event",
    "log_fatal",
    "log_info",
    "log_warn",
    "raise_error",
    "set_log_level",
]


def set_log_level(level: LogLevel) -> None:
    """Print lines of ``level`` and above.

    >>> set_log_level(LogLevel.ERROR); get_log_level()
    LogLevel.ERROR
    """
    update({"run.log_level": _level(level).name.lower()})


def _level(level: LogLevel | int) -> LogLevel:
    if isinstance(level, LogLevel):
        return level
    names = [member.name for member in LogLevel]
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < len(names):
        raise InvalidChoice(name="log level", value=str(level), expected=f"LogLevel.{' '.join(names)}")
    return LogLevel(level)


def get_log_level() -> LogLevel:
    """The least level that is printed."""
    return LogLevel[current().get("run.log_level").upper()]


def _log(level: LogLevel, message: str) -> None:
    if int(get_log_level()) <= int(level):
        print(f"[{level.name}] pypto: {message}", file=sys.stderr)


def log_debug(message: str) -> None:
    """Print ``message`` at level DEBUG."""
    _log(LogLevel.DEBUG, message)


def log_info(message: str) -> None:
    """Print ``message`` at level INFO."""
    _log(LogLevel.INFO, message)


def log_warn(message: str) -> None:
    """Print ``message`` at level WARN."""
    _log(LogLevel.WARN, message)


def log_error(message: str) -> None:
    """Print ``message`` at level ERROR."""
    _log(LogLevel.ERROR, message)


def log_fatal(message: str) -> None:
    """Print ``message`` at level FATAL."""
    _log(LogLevel.FATAL, message)


def log_event(message: str) -> None:
    """Print ``message`` at level EVENT."""
    _log(LogLevel.EVENT, message)


def check(condition: bool, message: Any) -> None:
    """Raise a ``ValueError`` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise CheckFailed(text=str(message))


class InternalCheckFailed(InternalError):
    """``internal_check`` found its condition false; the text is the caller's."""

    def __init__(self, message: str) -> None:
        RuntimeError.__init__(self, message)
        self.step = ""
        self.program_file = ""


def internal_check(condition: bool, message: Any) -> None:
    """Raise ``pypto.InternalError`` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise InternalCheckFailed(str(message))


_RAISABLE = ("ValueError", "TypeError", "RuntimeError", "NotImplementedError", "IndexError", "AssertionError")


def raise_error(error_type: str, message: str) -> NoReturn:
    """Raise the exception that ``error_type`` names."""
    if error_type in _RAISABLE:
        raise getattr(builtins, error_type)(message)
    if error_type == "InternalError":
        raise InternalCheckFailed(message)
    if error_type == "Error":
        raise PyptoGeneralError(message)
    raise UnknownErrorType(name=error_type)
