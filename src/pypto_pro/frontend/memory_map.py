"""Where the tiles of a program lie: the map of every on-chip memory, and what is wrong with it before anything runs.

A tile that reaches beyond its memory is an error with the map and the smallest change that fits. Tiles may share bytes on purpose;
where both carry buffer tokens and none in common, the tokens keep nothing apart, and a warning names both tiles and the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pypto.chips import Chip, Memory, chip
from pypto.cores.enums import MemorySpace, TensorLayout
from pypto.cores.layout import FRACTAL_ROWS, bytes_of
from pypto.cores.program import TileProgram
from pypto.cores.text import type_text
from pypto.cores.types import Tile
from pypto.diagnostics import Span, warn
from pypto.errors.simulation import SpaceNotOnChip, TileMisaligned
from pypto.errors.tile_memory import TileMemoryExceeded
from pypto.sim.capacity import tiles_of

LINE_BYTES = 32  # rows and columns of plain UB tiles fill whole lines (tile API section 6.3)


@dataclass(frozen=True)
class MappedTile:
    """A tile in its memory: bytes ``start`` up to ``end``. ``slot`` of ``slots`` in a group, 0 of 1 outside one."""

    group: str
    slot: int
    slots: int
    type: Tile
    start: int
    ids: tuple[int, ...]
    cores: tuple[str, ...]
    place: Span | None = None

    @property
    def name(self) -> str:
        return f"{self.group}[{self.slot}]" if self.slots > 1 else self.group

    @property
    def bytes(self) -> int:
        return bytes_of(self.type)

    @property
    def end(self) -> int:
        return self.start + self.bytes


@dataclass(frozen=True)
class Overlap:
    """Two tiles that share bytes. ``apart`` says whether a common buffer token keeps their uses apart."""

    first: MappedTile
    second: MappedTile

    @property
    def start(self) -> int:
        return max(self.first.start, self.second.start)

    @property
    def end(self) -> int:
        return min(self.first.end, self.second.end)

    @property
    def differ(self) -> bool:
        """Both carry tokens, and none in common."""
        return bool(self.first.ids and self.second.ids) and not set(self.first.ids) & set(self.second.ids)

    def __str__(self) -> str:
        shared = f"{self.first.name} and {self.second.name} share bytes {self.start:#x} to {self.end - 1:#x}"
        if not self.differ:
            return shared
        return f"{shared}, but not a token: {_numbers(self.first.ids)} and {_numbers(self.second.ids)}"


@dataclass(frozen=True)
class Region:
    """One memory and its tiles by address."""

    space: MemorySpace
    memory: Memory | None
    tiles: tuple[MappedTile, ...]

    @property
    def used(self) -> int:
        """Bytes that some tile covers."""
        return covered(self.tiles)

    @property
    def reach(self) -> int:
        """Address behind the last tile."""
        return max((tile.end for tile in self.tiles), default=0)

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        return tuple(_overlaps(self.tiles))

    def lines(self) -> Iterator[str]:
        """The table of the memory: address, name, type, bytes, tokens, cores."""
        name = self.memory.name if self.memory is not None else self.space.name
        room = f" of {self.memory.bytes} bytes ({self.used / self.memory.bytes:.0%})" if self.memory is not None else " bytes"
        yield f"{name}: {self.used}{room}"
        width = max(len(tile.name) for tile in self.tiles)
        kinds = max(len(type_text(tile.type)) for tile in self.tiles)
        for tile in self.tiles:
            tokens = f"  tokens {_numbers(tile.ids)}" if tile.ids else ""
            over = "  beyond the end" if self.memory is not None and tile.end > self.memory.bytes else ""
            text = f"  {tile.start:#07x} {tile.name:<{width}}  {type_text(tile.type):<{kinds}} {tile.bytes:>7} bytes"
            yield f"{text}{tokens}{over}  {' and '.join(tile.cores)}"
        yield from (f"  {overlap}" for overlap in self.overlaps)


@dataclass(frozen=True)
class MemoryMap:
    """Every memory that a program uses. ``str(map)`` is the table.

    Attributes: ``kernel``, ``chip`` (a name), ``regions`` by memory space.
    """

    kernel: str
    chip: str
    regions: dict[MemorySpace, Region]

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        return tuple(overlap for region in self.regions.values() for overlap in region.overlaps)

    def __str__(self) -> str:
        tables = ["\n".join(region.lines()) for region in self.regions.values()]
        return "\n\n".join([f"memory of '{self.kernel}' on the {self.chip}", *tables]) + "\n"


def memory_map(program: TileProgram, model: Chip | None = None) -> MemoryMap:
    """The map of a program, for its own chip or another one.

    Example: ``print(memory_map(program))``.
    """
    model = model or chip(program.chip)
    found: dict[MemorySpace, list[MappedTile]] = {}
    for tile in _tiles(program):
        found.setdefault(tile.type.space, []).append(tile)
    regions = {
        space: Region(space, model.memory(space), tuple(sorted(found[space], key=lambda tile: (tile.start, tile.end))))
        for space in sorted(found, key=int)
    }
    return MemoryMap(program.name, model.name, regions)


def check_memory(program: TileProgram, model: Chip | None = None) -> MemoryMap:
    """The map, if it is right. Raises ``SpaceNotOnChip``, ``TileMisaligned``, ``TileMemoryExceeded`` at the declaration.

    Warns of tiles that share bytes but no token, and of shapes that the machine cannot hold without padding.
    """
    model = model or chip(program.chip)
    found = memory_map(program, model)
    for region in found.regions.values():
        _check_region(program, region, model)
    for overlap in found.overlaps:
        if overlap.differ:
            _warn_of(overlap)
    return found


# -- gathering ----------------------------------------------------------------------------------------------------------------


def _tiles(program: TileProgram) -> list[MappedTile]:
    """Every tile once; one that both programs declare belongs to both cores."""
    found: dict[tuple, MappedTile] = {}
    counts: dict[tuple, int] = {}
    for one in tiles_of(program):
        group = one.name.rpartition("[")[0] if one.slot is not None else one.name
        core = one.core.core.name.lower()
        counts[core, group] = counts.get((core, group), 0) + 1
        key = (one.type.space, group, one.slot, one.address)
        if key in found:
            found[key] = replace(found[key], cores=(*found[key].cores, core))
        else:
            found[key] = MappedTile(group, one.slot or 0, 1, one.type, one.address, one.ids, (core,), one.place)
    return [replace(tile, slots=counts[tile.cores[0], tile.group]) for tile in found.values()]


def covered(tiles: Sequence[MappedTile]) -> int:
    """Bytes that at least one of the tiles covers."""
    total = reached = 0
    for tile in sorted(tiles, key=lambda one: one.start):
        total += max(0, tile.end - max(tile.start, reached))
        reached = max(reached, tile.end)
    return total


def _overlaps(tiles: Sequence[MappedTile]) -> Iterator[Overlap]:
    for index, first in enumerate(tiles):
        for second in tiles[index + 1 :]:
            if second.start >= first.end:
                break
            yield Overlap(first, second)


def _numbers(numbers: Sequence[int]) -> str:
    return "+".join(map(str, numbers))


# -- checking -----------------------------------------------------------------------------------------------------------------


def _check_region(program: TileProgram, region: Region, model: Chip) -> None:
    memory = region.memory
    for tile in region.tiles:
        if memory is None:
            raise SpaceNotOnChip(span=tile.place, name=tile.name, space=region.space.name, chip=model.name)
        if tile.start % memory.alignment:
            raise TileMisaligned(
                span=tile.place, name=tile.name, address=tile.start, memory=memory.name, alignment=memory.alignment
            )
        if tile.slot == 0:
            _warn_of_shape(tile)
    if memory is not None and region.reach > memory.bytes:
        _refuse(program, region, memory)


def _refuse(program: TileProgram, region: Region, memory: Memory) -> None:
    over = max(region.tiles, key=lambda tile: tile.end)
    raise TileMemoryExceeded(
        span=over.place,
        space=memory.name,
        chip=program.chip,
        capacity=memory.bytes,
        kernel=program.name,
        used=region.reach,
        excess=region.reach - memory.bytes,
        notes=tuple(region.lines()),
        advice=smallest_change(region, memory),
    )


def smallest_change(region: Region, memory: Memory) -> str:
    """In words: other addresses where the tiles fit together, else the change that gives up the fewest bytes."""
    if (packed := _packed(region.tiles, memory)) is not None:
        moved = ", ".join(f"{tile.name} to {start:#x}" for tile, start in packed)
        return f"the tiles take {region.used} bytes together: move {moved}"
    changes = [
        change for group in dict.fromkeys(tile.group for tile in region.tiles) for change in _changes(group, region, memory)
    ]
    if not changes:
        return "no single tile is to blame: use smaller tiles"
    _, text = min(changes)
    return text


def _packed(tiles: Sequence[MappedTile], memory: Memory) -> list[tuple[MappedTile, int]] | None:
    """New addresses for the tiles that reach beyond the end, in gaps between the others; None where there is no room."""
    kept = [tile for tile in tiles if tile.end <= memory.bytes]
    moved: list[tuple[MappedTile, int]] = []
    for tile in tiles:
        if tile.end > memory.bytes:
            start = _gap(kept, tile.bytes, memory)
            if start is None:
                return None
            moved.append((tile, start))
            kept.append(replace(tile, start=start))
    return moved


def _gap(tiles: Sequence[MappedTile], size: int, memory: Memory) -> int | None:
    """The first aligned address with ``size`` free bytes."""
    start = 0
    for tile in sorted(tiles, key=lambda one: one.start):
        if tile.start - start >= size:
            return start
        start = max(start, -(-tile.end // memory.alignment) * memory.alignment)
    return start if memory.bytes - start >= size else None


def _changes(group: str, region: Region, memory: Memory) -> Iterator[tuple[int, str]]:
    """Fewer slots or fewer rows of one declaration, each with the bytes that it gives up."""
    mine = [tile for tile in region.tiles if tile.group == group]
    others = [tile for tile in region.tiles if tile.group != group]
    for kept in range(len(mine) - 1, 0, -1):
        if covered([*others, *mine[:kept]]) <= memory.bytes:
            saved = (len(mine) - kept) * mine[0].bytes
            yield saved, f"give '{group}' {kept} slot{'s' * (kept > 1)} instead of {len(mine)} ({saved} bytes less)"
            break
    rows, columns = mine[0].type.shape
    step = 1 if mine[0].type.layout in (TensorLayout.ND, TensorLayout.DN) else FRACTAL_ROWS
    for fewer in range((rows - 1) // step * step, 0, -step):
        smaller = [replace(tile, type=replace(tile.type, shape=(fewer, columns), valid=None)) for tile in mine]
        if covered([*others, *smaller]) <= memory.bytes:
            saved = sum(tile.bytes for tile in mine) - sum(tile.bytes for tile in smaller)
            yield saved, f"give '{group}' the shape [{fewer}, {columns}] instead of [{rows}, {columns}] ({saved} bytes less)"
            break


def _warn_of(overlap: Overlap) -> None:
    warn(
        str(overlap),
        overlap.second.place,
        help="tokens keep tiles apart only where both have one in common: give both the same mutex_ids",
    )


def _warn_of_shape(tile: MappedTile) -> None:
    """Plain UB tiles fill whole lines, blocked tiles whole blocks (tile API section 6.3); valid extents are free."""
    kind = tile.type
    bits = kind.dtype.facts.bits
    if kind.space is MemorySpace.Vec and kind.layout in (TensorLayout.ND, TensorLayout.DN):
        axis = 1 if kind.layout is TensorLayout.ND else 0
        what = ("column", "row")[axis]
        if kind.shape[axis] * bits % (LINE_BYTES * 8):
            text = f"a {what} of '{tile.name}' ({type_text(kind)}) has {kind.shape[axis] * bits / 8:g} bytes"
            warn(f"{text}; the machine needs multiples of {LINE_BYTES}", tile.place, portability=True, help=_VALID_HELP)
    elif kind.shape[0] > 1 and tile.bytes > kind.bytes:  # one row (bias, scales) is loaded as it is
        text = f"'{tile.name}' ({type_text(kind)}) takes {tile.bytes} bytes in whole blocks, {tile.bytes - kind.bytes} more than its shape"
        warn(f"{text}; the machine needs whole blocks", tile.place, portability=True, help=_VALID_HELP)


_VALID_HELP = "enlarge the shape and limit the valid extent: valid_shape=[rows, columns], or pl.set_validshape"
