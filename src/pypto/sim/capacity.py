"""Whether the tiles of a program fit into the memories of a chip, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pypto.chips.model import Chip, Memory
from pypto.cores.enums import MemorySpace
from pypto.cores.layout import bytes_of
from pypto.cores.program import CoreProgram, DeclareGroup, DeclareTile, TileProgram, walk
from pypto.cores.types import Tile
from pypto.diagnostics import Span
from pypto.errors.simulation import SpaceNotOnChip, TileMisaligned, TileOutsideMemory


@dataclass(frozen=True)
class Placed:
    """A tile at a fixed place. ``core``: whose program declares it; ``slot``: its number in a group, None outside one."""

    name: str
    type: Tile
    address: int
    ids: tuple[int, ...]
    core: CoreProgram
    slot: int | None
    place: Span | None

    @property
    def end(self) -> int:
        return self.address + bytes_of(self.type)


def tiles_of(program: TileProgram) -> Iterable[Placed]:
    """Every tile of the program, cube core first."""
    for core in program.cores:
        for one in walk(core.body):
            if isinstance(one, DeclareTile):
                yield Placed(one.name, one.type, one.address, one.ids, core, None, one.place)
            elif isinstance(one, DeclareGroup):
                ids = one.ids or ((),) * len(one.addresses)
                for slot, (address, mine) in enumerate(zip(one.addresses, ids, strict=True)):
                    yield Placed(f"{one.name}[{slot}]", one.type, address, mine, core, slot, one.place)


def check_memories(program: TileProgram, chip: Chip, *, permissive: bool = False) -> dict[MemorySpace, int]:
    """Bytes that each memory needs. Raises ``SpaceNotOnChip``, ``TileMisaligned``, ``TileOutsideMemory`` at the declaration.

    ``permissive`` lets tiles reach beyond a memory and start anywhere, for looking at values only.
    """
    tiles = list(tiles_of(program))
    needed: dict[MemorySpace, int] = {}
    for one in tiles:
        space = one.type.space
        memory = chip.memory(space)
        if memory is None:
            raise SpaceNotOnChip(span=one.place, name=one.name, space=space.name, chip=chip.name)
        needed[space] = max(needed.get(space, 0), one.end)
        if not permissive:
            _check(one, memory, tiles)
    return needed


def _check(one: Placed, memory: Memory, tiles: list[Placed]) -> None:
    if one.address % memory.alignment or one.address < 0:
        raise TileMisaligned(span=one.place, name=one.name, address=one.address, memory=memory.name, alignment=memory.alignment)
    if one.end > memory.bytes:
        raise TileOutsideMemory(
            span=one.place,
            name=one.name,
            bytes=bytes_of(one.type),
            address=one.address,
            excess=one.end - memory.bytes,
            capacity=memory.bytes,
            memory=memory.name,
            notes=tuple(_table(memory, tiles)),
            advice=_advice(one, memory),
        )


def _table(memory: Memory, tiles: list[Placed]) -> Iterable[str]:
    """Who lies where in the memory, and the sum."""
    mine = sorted((one for one in tiles if one.type.space is memory.space), key=lambda one: one.address)
    unique = {(one.name, one.address): one for one in mine}
    for one in unique.values():
        kind = "" if one.slot is None else f", slot {one.slot} of a group"
        yield f"{memory.name} 0x{one.address:05X} to 0x{one.end - 1:05X}: {one.name}, {bytes_of(one.type)} bytes{kind}"
    yield f"{memory.name}: {sum(bytes_of(one.type) for one in unique.values())} bytes of tiles, {memory.bytes} there"


def _advice(one: Placed, memory: Memory) -> str:
    start = (memory.bytes - bytes_of(one.type)) // memory.alignment * memory.alignment
    if start < 0:
        return f"the tile alone is larger than {memory.name}: use a smaller tile"
    if one.slot:
        return f"give the group fewer slots, or let it start earlier; slot {one.slot} fits at 0x{start:X}"
    return f"it fits at 0x{start:X} or before"
