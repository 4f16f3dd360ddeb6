"""Where something stands in the user's source, and how a message about it is drawn.

A ``Span`` is attached to every statement of a program. ``render`` draws the caret picture that all errors and
warnings share. ``at(span)`` stamps an error that passes through it and has no place yet.
"""

from __future__ import annotations

import contextlib
import linecache
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """A piece of source: file, first and last line (1-based), columns (0-based, end exclusive), enclosing function.

    ``caller`` is the place that called this function while the kernel was traced, when it was a helper.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    caller: Span | None = field(default=None, repr=False)

    @property
    def callers(self) -> tuple[Span, ...]:
        """The calls that led here, innermost first."""
        found: list[Span] = []
        call = self.caller
        while call is not None:
            found.append(call)
            call = call.caller
        return tuple(found)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).rstrip("\n")


def display_width(text: str) -> int:
    """Columns that ``text`` takes on a terminal (wide East Asian characters take two)."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def carets(span: Span, text: str) -> str:
    """The line below ``text``, the first line of ``span``: carets under what the span covers of it."""
    encoded = text.encode()
    before = encoded[: span.column].decode(errors="replace")  # ast columns count bytes of UTF-8
    one_line = span.end_line in (0, span.line)
    end = encoded[: span.end_column].decode(errors="replace") if one_line and span.end_column else text
    pad = "".join("\t" if c == "\t" else " " * display_width(c) for c in before)
    return pad + "^" * max(1, display_width(end) - display_width(before))


def _calls(chain: tuple[Span, ...]) -> list[str]:
    """One line per call; a call that repeats itself is shown twice."""
    lines: list[str] = []
    for call in chain:
        where = f"{call.file}:{call.line}" + (f" in {call.function}" if call.function else "")
        line = f"   called from {where}" + (f": {call.text.strip()}" if call.text.strip() else "")
        if lines[-2:] == [line, line]:
            lines.append("   … and so on")
        elif lines[-1:] != ["   … and so on"] or lines[-2] != line:
            lines.append(line)
    return lines


def render(
    headline: str,
    span: Span | None = None,
    *,
    chain: tuple[Span, ...] = (),
    notes: tuple[str, ...] = (),
    help: str | None = None,
) -> str:
    """Draw a message: headline, source line with caret, call chain (innermost first), notes, help."""
    lines = [headline]
    if span is not None:
        gutter = " " * len(str(span.line))
        where = f"{span.file}:{span.line}" + (f" in {span.function}" if span.function else "")
        lines.append(f"{gutter}--> {where}")
        text = span.text
        if text.strip():
            lines += [f"{gutter} |", f"{span.line} | {text}", f"{gutter} | {carets(span, text)}"]
    lines += _calls(chain)
    lines += [f"  note: {note}" for note in notes]
    if help:
        lines.append(f"  help: {help}")
    return "\n".join(lines)


@contextlib.contextmanager
def at(span: Span | None) -> Iterator[None]:
    """Give ``span`` to any catalogue error that leaves the block without a place."""
    from pypto.errors.base import UserError

    try:
        yield
    except UserError as error:
        if error.span is None and span is not None:
            error.span = span
            error.chain = error.chain or span.callers
        raise


class PyptoWarning(UserWarning):
    """Every warning this package gives; filter on it."""


class PortabilityWarning(PyptoWarning):
    """Fine on the CPU, refused by an NPU."""


_SHOWN: dict = {}  # what Python's filters have shown; without it every call would show again


def warn(headline: str, span: Span | None = None, *, help: str | None = None, portability: bool = False) -> None:
    """Issue a warning once per place and text (Python's filters apply)."""
    category = PortabilityWarning if portability else PyptoWarning
    text = render(headline, span, help=help)
    if span is not None:
        warnings.warn_explicit(text, category, span.file, span.line, registry=_SHOWN)
    else:
        warnings.warn(text, category, stacklevel=3)
