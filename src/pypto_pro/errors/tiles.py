"""Mistakes in tile types, tiles and tile groups (tile API sections 1.7 and 1.8)."""

from __future__ import annotations

from pypto.errors.base import UserError
from pypto_pro.errors.base import FinalRejectionError, ParserSyntaxError, ParserTypeError


class TileValueError(UserError, ValueError):
    """Base of what ``TileType`` refuses, in and outside kernels."""

    code = 0xF00002


class TileDtype(UserError, TypeError):
    code = 0xF00001
    message = "TileType: dtype must be a dtype (pl.DT_…), got {got}"


class TileSpace(UserError, TypeError):
    code = 0xF00001
    message = "TileType: target_memory must be a pl.MemorySpace, got {got}"


class TileLayout(UserError, TypeError):
    code = 0xF00001
    message = "TileType: layout must be a TensorLayout, got {got}"


class TileShape(TileValueError):
    message = "TileType: {what} must be two compile-time integers that must be positive, got {got}"


class PadValue(TileValueError):
    message = "TileType: pad must be TilePad.null, TilePad.zero, TilePad.max or TilePad.min (0 to 3), got {got}"


class PadType(UserError, TypeError):
    code = 0xF00001
    message = "TileType: pad must be a pl.TilePad or an int, got {got}"


class CompactMode(TileValueError):
    message = "TileType: compact must be None, 0, 1 or 2, got {got}"


class ZigZagLayout(TileValueError):
    message = "{space} tiles do not support {layout} layout on 'a5'"
    help = "leave the layout out: Left and Acc are NZ there, Right is ZN"


class LayoutNotAllowed(TileValueError):
    message = "{space} tiles require layout in {allowed}, got {got}. Default for '{arch}' is {default}."


class ScaleSpace(TileValueError):
    message = "{space} tiles are only supported on A5"


# -- make_tile ---------------------------------------------------------------------------------------------------------------


class MakeTileFirst(FinalRejectionError):
    message = "make_tile() takes a pl.TileType as its first argument, got {got}"


class MakeTileMany(FinalRejectionError):
    message = "make_tile() takes 1 positional argument (the tile type) but {count} were given"


class MakeTileAddress(FinalRejectionError):
    message = "make_tile() is missing required keyword 'addr'"


class CompileTimeInteger(FinalRejectionError):
    message = "{call}: '{name}' must be a compile-time integer"


class MakeTileSize(FinalRejectionError):
    message = "make_tile(): 'size' must be a positive byte count, got {got}"


class MakeTileNoSize(FinalRejectionError):
    message = "make_tile() cannot derive 'size': {reason}"


class Misaligned(FinalRejectionError):
    message = (
        "Tile address 0x{address:X} ({address}) is not {alignment}-byte aligned for memory space {space}"
        " (address rules: tile API section 1.7)"
    )


# -- make_tile_group ---------------------------------------------------------------------------------------------------------


class GroupPositional(ParserSyntaxError):
    message = "make_tile_group() takes keyword args only"


class GroupMissing(ParserTypeError):
    message = "make_tile_group() is missing required keyword '{name}'"


class GroupType(ParserTypeError):
    message = "make_tile_group(): 'type' must be a pl.TileType, got {got}"


class MutexList(ParserTypeError):
    message = "make_tile_group(): mutex_ids must be a list, a tuple or None, got {got}"


class MutexRange(ParserTypeError):
    message = "make_tile_group(): mutex_ids must be ints in [0,31], got {got!r}"


class MutexDuplicate(ParserTypeError):
    message = "make_tile_group(): the mutex ids of one tile must not contain duplicates: {got}"


class MutexEmpty(ParserTypeError):
    message = "make_tile_group(): the mutex ids of a tile must be non-empty"


class MutexCounts(ParserTypeError):
    message = "all tiles in a tile group must have the same mutex ID count: {first} and {second}"


class DepthRequired(ParserTypeError):
    message = "make_tile_group(): depth is required when mutex_ids is None or empty"


class DepthPositive(ParserTypeError):
    message = "make_tile_group(): depth must be a positive compile-time integer, got {got}"


class DepthMismatch(ParserTypeError):
    message = "make_tile_group(): mutex_ids length {ids} must equal depth {depth}"


class AddressCount(ParserTypeError):
    message = "make_tile_group(): addrs length {count} must equal the number of tiles, {depth}"


class GroupIndex(ParserTypeError):
    message = "tile group index {index} is out of range for a {depth}-tile group"


class GroupIndexType(ParserTypeError):
    message = "a tile group index must be an integer scalar, got {got}"


class NoGroup(ParserTypeError):
    message = "'{text}' has no group metadata: .{method}() needs a tile group"


class MergedIds(ParserTypeError):
    message = "cannot merge tile mutex metadata with different ID counts: {first} and {second}"
    help = "'{name}' comes from tiles with {first} and {second} mutex ids; give both groups the same number"
