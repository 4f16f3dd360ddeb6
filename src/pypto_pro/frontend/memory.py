"""What a program's tiles take of every memory: checked against the chip, and drawn as a table.

Capacity is an error that lists the tiles. Tiles that overlap may do so on purpose; where both carry buffer tokens, and different ones, a
warning names the bytes, since such tokens exclude nothing (seed: tiles that share addresses declare the same ``mutex_ids``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pypto.cores.enums import MemorySpace
from pypto.cores.program import CoreProgram, DeclareGroup, DeclareTile, TileProgram, walk
from pypto.cores.types import Tile
from pypto.diagnostics import Span, warn
from pypto_pro.errors.programs import MemoryFull


@dataclass(frozen=True)
class Piece:
    """Bytes ``start`` to ``end`` of a memory, used by tile ``index`` of ``count`` of the declaration ``name``."""

    name: str
    space: MemorySpace
    start: int
    end: int
    index: int
    count: int
    ids: tuple[int, ...]
    place: Span | None

    @property
    def label(self) -> str:
        return f"{self.name}[{self.index}]" if self.count > 1 else self.name


def pieces_of(core: CoreProgram) -> Iterator[Piece]:
    """Every tile that a core declares."""
    for one in walk(core.body):
        if isinstance(one, DeclareTile):
            yield _piece(one.name, one.type, one.address, (0, 1), one.ids, one.place)
        elif isinstance(one, DeclareGroup):
            for index, address in enumerate(one.addresses):
                ids = one.ids[index] if one.ids else ()
                yield _piece(one.name, one.type, address, (index, len(one.addresses)), ids, one.place)


def _piece(name: str, type: Tile, address: int, position: tuple[int, int], ids: tuple[int, ...], place: Any) -> Piece:
    return Piece(name, type.space, address, address + footprint(type), *position, ids, place)


def footprint(type: Tile) -> int:
    """Bytes from the first to the last element, blocks padded."""
    from pypto.cores.layout import placement

    if type.dtype.bits < 8:
        return type.bytes
    return placement(type.shape, type.dtype.size, type.layout, type.fractal).elements * type.dtype.size


def all_pieces(program: TileProgram) -> dict[MemorySpace, list[Piece]]:
    """Tiles by memory; what both programs declare is listed once."""
    found: dict[MemorySpace, dict[tuple, Piece]] = {}
    for core in program.cores:
        for piece in pieces_of(core):
            found.setdefault(piece.space, {}).setdefault((piece.name, piece.index, piece.start, piece.end), piece)
    return {space: sorted(pieces.values(), key=lambda p: (p.start, p.end)) for space, pieces in found.items()}


def check(program: TileProgram, chip: Any) -> None:
    """Raises where a tile does not fit into its memory; warns of overlaps whose tokens differ."""
    for space, pieces in all_pieces(program).items():
        memory = chip.memories.get(space)
        if memory is not None:
            _check_capacity(program, pieces, memory)
        _check_tokens(pieces)


def _check_capacity(program: TileProgram, pieces: list[Piece], memory: Any) -> None:
    over = max(pieces, key=lambda piece: piece.end)
    if over.end <= memory.bytes:
        return
    notes = [f"{one.label:24} {one.start:>8} to {one.end:>8} ({one.end - one.start} bytes)" for one in pieces]
    used = _used(pieces)
    advice = f"{over.label} ends {over.end - memory.bytes} bytes behind the memory"
    if used <= memory.bytes:
        advice += f"; together the tiles take {used} bytes, so lower addresses would do"
    else:
        ringed = sorted({one.name for one in pieces if one.count > 1})
        advice += f"; the tiles take {used} bytes together, use smaller tiles or fewer slots" + (
            f" in {', '.join(ringed)}" if ringed else ""
        )
    raise MemoryFull(
        kernel=program.name,
        space=memory.space.name,
        name=memory.name,
        capacity=memory.bytes,
        end=over.end,
        span=over.place,
        notes=tuple(notes),
        advice=advice,
    )


def _used(pieces: list[Piece]) -> int:
    total, reached = 0, 0
    for one in pieces:
        total += max(0, one.end - max(one.start, reached))
        reached = max(reached, one.end)
    return total


def _check_tokens(pieces: list[Piece]) -> None:
    for index, first in enumerate(pieces):
        for second in pieces[index + 1 :]:
            if second.start >= first.end:
                break
            if first.name != second.name and first.ids and second.ids and set(first.ids).isdisjoint(second.ids):
                _warn(first, second)


def _warn(first: Piece, second: Piece) -> None:
    start, end = second.start, min(first.end, second.end)
    warn(
        f"{first.label} and {second.label} share bytes {start} to {end} of {first.space.name}, but their mutex ids differ"
        f" ({list(first.ids)} and {list(second.ids)}): the tokens do not keep them apart",
        second.place,
        help="give tiles that share addresses the same mutex_ids",
    )


def memory_map(program: TileProgram, chip: Any) -> str:
    """A table of every memory that the program uses."""
    lines: list[str] = []
    for space, pieces in sorted(all_pieces(program).items(), key=lambda item: int(item[0])):
        memory = chip.memories.get(space)
        capacity = f" of {memory.bytes}" if memory is not None else ""
        lines.append(f"{space.name}: {_used(pieces)}{capacity} bytes used")
        lines += [f"  {one.start:>8} {one.end:>8}  {one.label}{_ids(one)}" for one in pieces]
    return "\n".join(lines) + "\n"


def _ids(piece: Piece) -> str:
    return f"  mutex {list(piece.ids)}" if piece.ids else ""
