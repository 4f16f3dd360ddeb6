"""Element types that exist by name only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UnusedType:
    """A declared type that no operation takes."""

    name: str
    reason: str

    def __repr__(self) -> str:
        return f"pl.{self.name} ({self.reason})"
