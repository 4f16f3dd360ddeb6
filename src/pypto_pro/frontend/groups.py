"""``make_tile`` and ``make_tile_group`` (tile API section 1.8)."""

from __future__ import annotations

import ast
from typing import Any

from pypto.chips import Chip
from pypto.cores.program import DeclareGroup, DeclareTile, Name
from pypto.cores.types import Group, Tile
from pypto_pro.errors.calls import UnexpectedKeyword
from pypto_pro.errors.tiles import (
    AddressCount,
    CompileTimeInteger,
    DepthMismatch,
    DepthPositive,
    DepthRequired,
    GroupMissing,
    GroupPositional,
    GroupType,
    MakeTileAddress,
    MakeTileFirst,
    MakeTileMany,
    MakeTileNoSize,
    MakeTileSize,
    Misaligned,
    MutexCounts,
    MutexDuplicate,
    MutexEmpty,
    MutexList,
    MutexRange,
    TileShape,
)
from pypto_pro.frontend import binding
from pypto_pro.frontend.binding import Arguments
from pypto_pro.frontend.values import GroupHandle, Static, TileHandle, describe, elements, static_integer
from pypto_pro.language.tiles import TileType

LAST_MUTEX = 31  # tile API section 4.5
GROUP_KEYWORDS = ("type", "addrs", "mutex_ids", "depth", "fwd_ids", "bwd_ids")


def make_tile(reader: Any, node: ast.Call) -> TileHandle:
    """One tile at a fixed address."""
    hint = reader.take_hint("tile")
    arguments = binding.evaluate(reader, "make_tile()", node)
    if len(arguments.positional) > 1:
        raise MakeTileMany(count=len(arguments.positional))
    type = _tile_type(arguments)
    for keyword in arguments.keywords:
        if keyword not in ("addr", "size", "tile_type"):
            raise UnexpectedKeyword(call="make_tile()", name=keyword)
    if "addr" not in arguments.keywords:
        raise MakeTileAddress()
    address = _integer("make_tile()", "addr", arguments.keywords["addr"])
    _check_size(arguments)
    check_alignment(reader.unit.chip, type, address)
    name = reader.home(hint, TileHandle(Name(hint), type))
    reader.emit(DeclareTile(name, type, address, (), reader.frame.span(node)))
    return TileHandle(Name(name), type, address)


def _tile_type(arguments: Arguments) -> Tile:
    first = arguments.optional("tile_type", 0)
    if first is None:
        raise MakeTileFirst(got="no positional argument")
    if not isinstance(first, Static) or not isinstance(first.value, TileType):
        raise MakeTileFirst(got=describe(first))
    try:
        return first.value.core()
    except TileShape as error:
        raise MakeTileNoSize(reason=f"the shape must be compile-time integers that must be positive, got {error.facts['got']}")


def _integer(call: str, name: str, value: Any) -> int:
    found = static_integer(value)
    if found is None:
        raise CompileTimeInteger(call=call, name=name)
    return found


def _check_size(arguments: Arguments) -> None:
    size = arguments.keywords.get("size")
    if size is None or size == Static(None):
        return
    found = _integer("make_tile()", "size", size)
    if found <= 0:
        raise MakeTileSize(got=found)


def check_alignment(chip: Chip, type: Tile, address: int) -> None:
    """The address as the memory of the chip has it; one that the chip does not have is the memory map's concern."""
    memory = chip.memory(type.space)
    alignment = memory.alignment if memory is not None else 1
    if address % alignment or address < 0:
        raise Misaligned(address=address, alignment=alignment, space=type.space.name)


# -- groups -----------------------------------------------------------------------------------------------------------------


def make_tile_group(reader: Any, node: ast.Call) -> GroupHandle:
    """A ring of tiles."""
    hint = reader.take_hint("group")
    if node.args:
        raise GroupPositional()
    arguments = binding.evaluate(reader, "make_tile_group()", node)
    keywords = arguments.keywords
    for keyword in keywords:
        if keyword not in GROUP_KEYWORDS:
            raise UnexpectedKeyword(call="make_tile_group()", name=keyword)
    for name in ("type", "addrs"):
        if name not in keywords:
            raise GroupMissing(name=name)
    given = keywords["type"]
    if not isinstance(given, Static) or not isinstance(given.value, TileType):
        raise GroupType(got=describe(given))
    tile = given.value.core()
    ids = mutex_ids(keywords.get("mutex_ids"))
    depth = group_depth(keywords.get("depth"), ids)
    addresses = group_addresses(reader.unit.chip, keywords["addrs"], depth, tile)
    type = Group(tile, depth, ids)
    name = reader.home(hint, GroupHandle(Name(hint), type, addresses))
    events = tuple(event_ids(keywords.get(one)) for one in ("fwd_ids", "bwd_ids"))
    reader.emit(DeclareGroup(name, tile, addresses, ids, events[0], events[1], reader.frame.span(node)))
    return GroupHandle(Name(name), type, addresses)


def mutex_ids(value: Any) -> tuple[tuple[int, ...], ...]:
    """Buffer tokens of every tile: the same count for each, () where there are none."""
    if value is None or value == Static(None):
        return ()
    items = elements(value)
    if items is None:
        raise MutexList(got=describe(value))
    found = tuple(_tokens(item) for item in items)
    for one in found[1:]:
        if len(one) != len(found[0]):
            raise MutexCounts(first=len(found[0]), second=len(one))
    return found


def _tokens(item: Any) -> tuple[int, ...]:
    several = elements(item)
    if several is not None and not several:
        raise MutexEmpty()
    numbers = tuple(map(static_integer, [item] if several is None else several))
    for number in numbers:
        if number is None or not 0 <= number <= LAST_MUTEX:
            raise MutexRange(got=number if number is not None else describe(item))
    if len(set(numbers)) != len(numbers):
        raise MutexDuplicate(got=list(numbers))
    return numbers  # type: ignore[return-value]


def group_depth(value: Any, ids: tuple) -> int:
    if value is None or value == Static(None):
        if not ids:
            raise DepthRequired()
        return len(ids)
    depth = static_integer(value)
    if depth is None or depth <= 0:
        raise DepthPositive(got=describe(value))
    if ids and len(ids) != depth:
        raise DepthMismatch(ids=len(ids), depth=depth)
    return depth


def group_addresses(chip: Chip, value: Any, depth: int, tile: Tile) -> tuple[int, ...]:
    """One address: the tiles lie behind one another; a list: one each."""
    first = static_integer(value)
    if first is not None:
        found = tuple(first + index * tile.bytes for index in range(depth))
    else:
        items = elements(value)
        if items is None:
            raise CompileTimeInteger(call="make_tile_group()", name="addrs")
        found = tuple(_integer("make_tile_group()", "addrs", item) for item in items)
    if len(found) != depth:
        raise AddressCount(count=len(found), depth=depth)
    for address in found:
        check_alignment(chip, tile, address)
    return found


def event_ids(value: Any) -> tuple[int, ...]:
    """Cross-core events, kept for reports; the pipeline transform has checked and used them."""
    items = elements(value) if value is not None else None
    found = [static_integer(item) for item in items or ()]
    return tuple(one for one in found if one is not None)
