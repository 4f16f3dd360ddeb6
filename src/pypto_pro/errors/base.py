"""Classes and rendering of what the tile front end says about a kernel (tile API sections 7.1 and 7.2).

Every mistake is a subclass of one of the parser classes, declared in the sibling modules::

    class ChainedTargets(ParserSyntaxError):
        message = "an assignment has one target"
        help = "write two assignments"

    raise ChainedTargets()

and its text is::

    ErrCode: F00002, an assignment has one target
      --> kernel.py:42:5
       |
     42 |     a = b = 1
       |     ^^^^^^^^^
      hint: write two assignments
"""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import Span, carets
from pypto.errors.base import UNKNOWN_CODE, Facts, UserError


class Location(dict):
    """Where something stands, as the public dictionary (1-based columns); its keys are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def location(span: Span) -> Location:
    """The public form of a span."""
    end_line = span.end_line or span.line
    return Location(
        filename=span.file,
        file=span.file,
        line=span.line,
        column=span.column + 1,
        begin_line=span.line,
        begin_column=span.column + 1,
        end_line=end_line,
        end_column=span.end_column + 1,
        function=span.function,
    )


class ParserError(UserError, RuntimeError):
    """Base of all that can be wrong with a kernel's text. Attributes: ``message``, ``span``, ``hint``, ``note``, ``source_lines``."""

    code = UNKNOWN_CODE

    def __init__(self, text: str | None = None, /, *, hint: str | None = None, note: str | None = None, **rest: Any) -> None:
        self.place: Span | None = None
        super().__init__(**rest)
        self.message = text if text is not None else type(self).message.format_map(self.facts)  # type: ignore[misc]
        self.given_hint = hint
        self.note = note

    @property
    def span(self) -> Any:  # type: ignore[override]
        """The public form of the place, None without one; set with a ``Span``."""
        return None if self.place is None else location(self.place)

    @span.setter
    def span(self, value: Any) -> None:
        self.place = value

    @property
    def hint(self) -> str | None:
        if self.given_hint or self.advice:
            return self.given_hint or self.advice
        return self.help.format_map(self.facts) if self.help else None

    @property
    def source_lines(self) -> list[str]:
        return [self.place.text] if self.place is not None and self.place.text else []

    def __str__(self) -> str:
        lines = [f"ErrCode: {self.code:X}, {self.message}", *_preview(self.place)]
        lines += [f"  hint: {self.hint}"] if self.hint else []
        lines += [f"  note: {note}" for note in (self.note, *self.notes, *_callers(self.place)) if note]
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        state = {"given_hint": self.given_hint, "note": self.note, "message": self.message}
        return _rebuild, (type(self), self.place, self.notes, self.advice, self.facts, state)


def _rebuild(cls: type[ParserError], place: Any, notes: Any, advice: Any, facts: dict[str, Any], state: dict[str, Any]) -> Any:
    made = cls(state["message"], span=place, notes=notes, advice=advice, hint=state["given_hint"], note=state["note"])
    made.facts = Facts(facts)
    return made


def _preview(place: Span | None) -> list[str]:
    if place is None or not place.line:
        return []
    lines = [f"  --> {place.file}:{place.line}:{place.column + 1}"]
    if place.text.strip():
        lines += ["   |", f"{place.line:>3} | {place.text}", f"   | {carets(place, place.text)}"]
    return lines


def _callers(place: Span | None) -> list[str]:
    calls = place.callers if place is not None else ()
    return [f"called from {call.file}:{call.line}: {call.text.strip()}" for call in calls]


class ParserSyntaxError(ParserError, ValueError):
    """Something the tile language does not have, or has in another form."""

    code = 0xF00002


class ParserTypeError(ParserError, TypeError):
    """A value of the wrong kind."""

    code = 0xF00001


class FinalRejectionError(ParserTypeError):
    """A rejection that stands even where the expression could be computed by Python."""


class UndefinedVariableError(ParserError, NameError):
    """A name that is bound nowhere the kernel can see."""

    code = 0xF00004


class SSAViolationError(ParserError):
    """A name bound twice where ``strict_ssa`` allows it once. ``previous_span`` is the first place."""

    code = 0xF00007

    def __init__(self, text: str | None = None, /, *, previous_span: Span | None = None, **rest: Any) -> None:
        super().__init__(text, **rest)
        self.previous_span = location(previous_span) if previous_span is not None else None


class UnsupportedFeatureError(ParserError, NotImplementedError):
    """A feature of Python that kernels do not have."""

    code = 0xF00005


class InvalidOperationError(ParserError):
    """An operation on scalars that has no meaning."""

    code = 0xF00007


class ScopeIsolationError(ParserError):
    """A name used outside the section that binds it."""

    code = 0xF00007
