"""Rows of the table of tile operations, as the pipeline needs them: roles of the tiles and the pipe of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto.cores.enums import MemorySpace, PipeType
from pypto.ops.tile.table import TileOperation, find

# Calls that bind handles or move nothing on tiles; they are no rows, or their rows have no business here.
_HANDLES = {
    "make_tile",
    "make_tile_group",
    "make_tuple",
    "struct",
    "struct_array",
    "make_tensor",
    "make_ptr",
    "addptr",
    "TileType",
}


def row(name: str) -> TileOperation | None:
    """The row of an operation that works on tiles, or None."""
    return None if name in _HANDLES or "." in name else find(name)


def roles(operation: TileOperation, count: int) -> list[str]:
    """The roles of ``count`` positional operands; the last role repeats where it ends in ``*``. Scratch (T) is written."""
    found = ["W" if role == "T" else role for role in operation.roles]
    if found and found[-1].endswith("*"):
        found[-1] = found[-1][:-1]
        found += [found[-1]] * (count - len(found))
    return found[:count] + ["-"] * (count - len(found))


def pipe(operation: TileOperation, spaces: Sequence[MemorySpace | None], tiles: Sequence[bool]) -> PipeType | None:
    """The pipe of a call, or None where it depends on a memory that is not known."""
    if isinstance(operation.pipe, PipeType):
        return operation.pipe
    if any(tile and space is None for tile, space in zip(tiles, spaces, strict=True)):
        return None
    return operation.pipe(spaces)


def arguments(operation: TileOperation, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional operands in the order of the row, and what remains as keywords."""
    found = list(positional)
    remaining = dict(named)
    for parameter in operation.positional[len(found) :]:
        found.append(remaining.pop(parameter.name, None))
    while found and found[-1] is None:
        found.pop()
    return found, remaining
