"""What a name may hold while a kernel is read: groups, tiles of groups, structs, bundles, constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

from pypto.cores.enums import PipeType
from pypto.diagnostics import Span


@dataclass(frozen=True)
class Group:
    name: str


@dataclass(frozen=True)
class Slot:
    """A tile of a group (``how``: next, current, previous, at) or a single tile (``how``: tile)."""

    buffer: str
    how: str
    index: ast.expr | None = None
    pick: int = 0  # numbers the statement that took it: two calls of next() give two tiles


@dataclass(frozen=True)
class Struct:
    name: str


@dataclass(frozen=True)
class StructArray:
    name: str


@dataclass(frozen=True)
class Bundle:
    """``pl.make_tuple``, a tuple or a list; fields of the latter are numbered."""

    fields: tuple[tuple[str, Any], ...]

    def get(self, name: str) -> Any:
        return dict(self.fields).get(name, OTHER)


@dataclass(frozen=True)
class Known:
    """A value known before anything runs: also functions and modules."""

    value: Any


@dataclass(frozen=True)
class Choice:
    """One of several, decided at run time."""

    options: tuple[Any, ...]


@dataclass(frozen=True)
class Other:
    """Anything else: scalars, tensors, pointers."""


OTHER = Other()
Value = Union[Group, Slot, Struct, StructArray, Bundle, Known, Choice, Other]


def options(value: Value) -> Iterator[Value]:
    """Everything that ``value`` may be."""
    if isinstance(value, Choice):
        for option in value.options:
            yield from options(option)
    else:
        yield value


def either(first: Value, second: Value) -> Value:
    """What a name may hold after a branch."""
    found = list(dict.fromkeys([*options(first), *options(second)]))
    return found[0] if len(found) == 1 else Choice(tuple(found))


def slots(value: Value) -> list[Slot]:
    return [one for one in options(value) if isinstance(one, Slot)]


@dataclass(frozen=True)
class Access:
    """An operation reads (R) or writes (W) a tile."""

    buffer: str
    role: str
    slot: Slot
    certain: bool = True  # False where the operand may be another tile


@dataclass(frozen=True)
class Step:
    """One operation: its pipe, what it reads and then writes. ``sure``: it runs whenever its stage does."""

    operation: str
    pipe: PipeType | None
    accesses: tuple[Access, ...]
    sure: bool
    place: Span
    repeated: bool = False  # may run more than once per call of its stage
    arms: tuple[tuple[int, int], ...] = ()  # branches it stands in: number of the ``if``, 0 or 1


@dataclass(frozen=True)
class Turn:
    """A tile of a group is taken, by its cursor or by number: ``slot.how`` says in which way.

    ``once``: exactly once per call of the stage. ``number``: the index where it is a constant. ``text``: the index in the kernel's own
    names where it can be written in them.
    """

    slot: Slot
    once: bool
    place: Span
    number: int | None = None
    text: str | None = None


@dataclass(frozen=True)
class FieldUse:
    """A field of a struct is read or written."""

    struct: str
    field: str
    written: bool
    place: Span
