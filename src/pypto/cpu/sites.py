"""Places where a kernel can stop: which error, and which run-time numbers its message needs.

A site is picklable data: the error's class, its facts with every run-time number replaced by a ``Slot``, the place in the source.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.ir.symbols import Expression, Scalar, kind_of


@dataclass(frozen=True)
class Slot:
    """Word ``index`` of the facts, an integer or a float."""

    index: int
    kind: str


@dataclass(frozen=True)
class Site:
    error: type[UserError]
    facts: dict[str, Any]
    span: Span | None
    chain: tuple[Span, ...]
    notes: tuple[str, ...]

    def make(self, words: Sequence[int]) -> UserError:
        """The error with the numbers of a run."""
        facts = {key: _filled(fact, words) for key, fact in self.facts.items()}
        return self.error(span=self.span, chain=self.chain, notes=self.notes, **facts)


class Sites:
    def __init__(self) -> None:
        self.known: list[Site] = []

    def site(self, error: UserError) -> tuple[int, list[tuple[Scalar, str]]]:
        """Register a site; returns its number and the scalars to record, each with its kind."""
        scalars: list[Expression] = []
        facts = {key: _emptied(fact, scalars) for key, fact in error.facts.items()}
        self.known.append(Site(type(error), facts, error.span, error.chain, error.notes))
        return len(self.known) - 1, [(s, _kind(s)) for s in scalars]


def number_of_word(word: int, kind: str) -> Any:
    """The number that a kernel left in an 8-byte word."""
    if kind == "float":
        return struct.unpack("<d", struct.pack("<q", word))[0]
    return bool(word) if kind == "bool" else word


def _kind(scalar: Expression) -> str:
    return "float" if kind_of(scalar) == "float" else "int"


def _emptied(fact: Any, scalars: list[Expression]) -> Any:
    from pypto.cpu.context import MOST_FACTS

    if isinstance(fact, Expression):
        if len(scalars) == MOST_FACTS:
            return str(fact)
        scalars.append(fact)
        return Slot(len(scalars) - 1, _kind(fact))
    if isinstance(fact, (list, tuple)):
        return type(fact)(_emptied(f, scalars) for f in fact)
    return fact


def _filled(fact: Any, words: Sequence[int]) -> Any:
    if isinstance(fact, Slot):
        return number_of_word(words[fact.index], fact.kind)
    if isinstance(fact, (list, tuple)):
        return type(fact)(_filled(f, words) for f in fact)
    return fact
