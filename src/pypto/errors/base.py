"""The two kinds of failure.

``UserError``: one subclass per mistake, declared in the sibling modules (the catalogue)::

    class TileRankTooSmall(UserError, RuntimeError):
        code = 0xF00003
        message = "{operation}(): tile shape {tile} has rank {got}, the result needs {expected}"
        help = "call pypto.set_vec_tile_shapes with {expected} numbers before {operation}"

    raise TileRankTooSmall(operation="add", tile=[4], got=1, expected=2)

The text starts with ``ErrCode: F00003, RuntimeError: …`` (tensor API section 3.1) and ends with the source line, the
call chain, notes and help. ``InternalError`` is our own mistake and says how to report it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pypto.diagnostics import Span, render

EXTERNAL_CODES: dict[type[BaseException], int] = {
    TypeError: 0xF00001,
    ValueError: 0xF00002,
    RuntimeError: 0xF00003,
    NameError: 0xF00004,
    NotImplementedError: 0xF00005,
    KeyError: 0xF00006,
    IndexError: 0xF00008,
}
UNKNOWN_CODE = 0xF0FFFF


def code_of(error: type[BaseException]) -> int:
    """Code of a builtin exception class (tensor API section 3.2)."""
    for cls in error.__mro__:
        if cls in EXTERNAL_CODES:
            return EXTERNAL_CODES[cls]
    return UNKNOWN_CODE


def builtin_of(error: type[BaseException]) -> str:
    """Name of the builtin exception that a class also is."""
    return next((cls.__name__ for cls in error.__mro__ if cls.__module__ == "builtins" and cls is not Exception), "Error")


class PyptoError(Exception):
    """Base of everything this package raises about user code. ``err_code`` is the number, ``node`` an ast node or None."""

    def __init__(self, err_code: int, msg: str | BaseException) -> None:
        if isinstance(msg, BaseException):
            text = str(msg)
            if "ErrCode" not in text:
                text = f"ErrCode: {err_code:X}, {type(msg).__name__}: {text}"
        else:
            text = msg if "ErrCode" in msg else f"ErrCode: {err_code:X}, {msg}"
        super().__init__(text)
        self.err_code = err_code
        self.node: Any = None

    def __str__(self) -> str:
        return str(self.args[0])


class PyptoGeneralError(PyptoError):
    """A ``PyptoError`` whose code follows from the class of the exception it wraps."""

    def __init__(self, msg: str | BaseException) -> None:
        super().__init__(code_of(type(msg)) if isinstance(msg, BaseException) else UNKNOWN_CODE, msg)


class FeError(PyptoGeneralError):
    """Front-end problem."""


class PyptoRtError(PyptoGeneralError):
    """Run-time problem."""


class PassError(PyptoGeneralError):
    """Pass-configuration problem."""


class VerifyError(PyptoGeneralError):
    """Verification problem."""


class ParserError(PyptoError):
    """Problem found while reading the kernel's source; ``node`` is the offending ast node."""

    def __init__(self, node: Any, msg: str | BaseException) -> None:
        super().__init__(code_of(type(msg)) if isinstance(msg, BaseException) else UNKNOWN_CODE, msg)
        self.node = node


class RenderedParserError(ParserError):
    """Already printed with its source context."""


class Facts(dict[str, Any]):
    """What a message is filled with. ``name_text`` is what the user wrote for the parameter that ``name`` holds: its name if unknown."""

    def __missing__(self, key: str) -> Any:
        if key.endswith("_text"):
            return self[key.removesuffix("_text")]
        raise KeyError(key)


class UserError(FeError):
    """Base of the catalogue. Subclasses set ``code``, ``message`` and (usually) ``help`` as templates over the facts."""

    code: ClassVar[int] = UNKNOWN_CODE
    message: ClassVar[str] = ""
    help: ClassVar[str | None] = None
    about: ClassVar[str] = ""  # the parameter to point at where no fact names one

    def __init__(
        self,
        *,
        span: Span | None = None,
        chain: tuple[Span, ...] = (),
        notes: tuple[str, ...] = (),
        advice: str | None = None,
        **facts: Any,
    ) -> None:
        Exception.__init__(self, self.message)
        self.err_code = self.code
        self.node = None
        self.span = span
        self.chain = chain
        self.notes = notes
        self.advice = advice
        self.facts = Facts(facts)

    @property
    def builtin(self) -> str:
        """Name of the builtin exception this one also is."""
        return builtin_of(type(self))

    def __str__(self) -> str:
        headline = f"ErrCode: {self.code:X}, {self.builtin}: {self.message.format_map(self.facts)}"
        help_text = self.advice or self.help
        return render(
            headline,
            self.span,
            chain=self.chain,
            notes=self.notes,
            help=help_text.format_map(self.facts) if help_text and not self.advice else help_text,
        )

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.span, self.chain, self.notes, self.advice, self.facts)


def _rebuild(cls: type[UserError], span: Any, chain: Any, notes: Any, advice: Any, facts: dict[str, Any]) -> UserError:
    return cls(span=span, chain=chain, notes=notes, advice=advice, **facts)


class InternalError(RuntimeError):
    """A mistake of this package, not of the user's. ``program_file`` holds the program it failed on, when there is one."""

    def __init__(self, text: str, *, step: str = "", program_file: str = "") -> None:
        lines = [f"internal error{f' in {step}' if step else ''}: {text}"]
        if program_file:
            lines.append(f"  the program was saved to {program_file}; reproduce with: pypto show {program_file}")
        lines.append("  this is a defect of openpypto, please report it with the file above and `pypto doctor`")
        super().__init__("\n".join(lines))
        self.step = step
        self.program_file = program_file
