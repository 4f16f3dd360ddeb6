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
    help = "for example pl.TileType(shape=[64, 128], dtype=pl.DT_FP32)"


class TileSpace(UserError, TypeError):
    code = 0xF00001
    message = "TileType: target_memory must be a pl.MemorySpace, got {got}"
    help = "for example target_memory=pl.MemorySpace.Vec"


class TileLayout(UserError, TypeError):
    code = 0xF00001
    message = "TileType: layout must be a TensorLayout, got {got}"
    help = "for example layout=pl.TensorLayout.ND, or leave it out for the default of the memory"


class TileShape(TileValueError):
    message = "TileType: {what} must be two compile-time integers that must be positive, got {got}"
    help = "for example {what}=[64, 128]"


class PadValue(TileValueError):
    message = "TileType: pad must be TilePad.null, TilePad.zero, TilePad.max or TilePad.min (0 to 3), got {got}"
    help = "for example pad=pl.TilePad.zero"


class PadType(UserError, TypeError):
    code = 0xF00001
    message = "TileType: pad must be a pl.TilePad or an int, got {got}"
    help = "for example pad=pl.TilePad.zero"


class CompactMode(TileValueError):
    message = "TileType: compact must be None, 0, 1 or 2, got {got}"
    help = "leave compact out, or write 0, 1 or 2"


class ZigZagLayout(TileValueError):
    message = "{space} tiles do not support {layout} layout on 'a5'"
    help = "leave the layout out: Left and Acc are NZ there, Right is ZN"


class LayoutNotAllowed(TileValueError):
    message = "{space} tiles require layout in {allowed}, got {got}. Default for '{arch}' is {default}."
    help = "leave layout out for {default}"


class ScaleSpace(TileValueError):
    message = "{space} tiles are only supported on A5"
    help = "compile for the 950: @pl.jit(arch='a5')"


# -- make_tile ---------------------------------------------------------------------------------------------------------------


class MakeTileFirst(FinalRejectionError):
    message = "make_tile() takes a pl.TileType as its first argument, got {got}"
    help = "for example pl.make_tile(pl.TileType(shape=[64, 128], dtype=pl.DT_FP32), addr=0)"


class MakeTileMany(FinalRejectionError):
    message = "make_tile() takes 1 positional argument (the tile type) but {count} were given"
    help = "name the others: pl.make_tile(tile_type, addr=0)"


class MakeTileAddress(FinalRejectionError):
    message = "make_tile() is missing required keyword 'addr'"
    help = "add addr=0, or another multiple of 32 that no other tile covers"


class CompileTimeInteger(FinalRejectionError):
    message = "{call}: '{name}' must be a compile-time integer"
    help = "write a number or a module-level constant as {name}"


class MakeTileSize(FinalRejectionError):
    message = "make_tile(): 'size' must be a positive byte count, got {got}"
    help = "leave size out: it follows from the type"


class MakeTileNoSize(FinalRejectionError):
    message = "make_tile() cannot derive 'size': {reason}"
    help = "give the type a positive shape, or pass size=bytes"


class Misaligned(FinalRejectionError):
    message = (
        "Tile address 0x{address:X} ({address}) is not {alignment}-byte aligned for memory space {space}"
        " (address rules: tile API section 1.7)"
    )
    help = "use the next multiple of {alignment}: addr = (addr + {alignment} - 1) // {alignment} * {alignment}"


# -- make_tile_group ---------------------------------------------------------------------------------------------------------


class GroupPositional(ParserSyntaxError):
    message = "make_tile_group() takes keyword args only"
    help = "write pl.make_tile_group(type=tile_type, addrs=0, mutex_ids=[0, 1])"


class GroupMissing(ParserTypeError):
    message = "make_tile_group() is missing required keyword '{name}'"
    help = "write pl.make_tile_group(type=tile_type, addrs=0, mutex_ids=[0, 1])"


class GroupType(ParserTypeError):
    message = "make_tile_group(): 'type' must be a pl.TileType, got {got}"
    help = "for example type=pl.TileType(shape=[64, 128], dtype=pl.DT_FP32)"


class MutexList(ParserTypeError):
    message = "make_tile_group(): mutex_ids must be a list, a tuple or None, got {got}"
    help = "for example mutex_ids=[0, 1]: two tiles, one id each"


class MutexRange(ParserTypeError):
    message = "make_tile_group(): mutex_ids must be ints in [0,31], got {got!r}"
    help = "for example mutex_ids=[0, 1]; ids are shared by the whole kernel"


class MutexDuplicate(ParserTypeError):
    message = "make_tile_group(): the mutex ids of one tile must not contain duplicates: {got}"
    help = "name each id once"


class MutexEmpty(ParserTypeError):
    message = "make_tile_group(): the mutex ids of a tile must be non-empty"
    help = "for example mutex_ids=[[0, 1], [2, 3]]: two tiles, two ids each"


class MutexCounts(ParserTypeError):
    message = "all tiles in a tile group must have the same mutex ID count: {first} and {second}"
    help = "for example mutex_ids=[[0, 1], [2, 3]]: two tiles, two ids each"


class DepthRequired(ParserTypeError):
    message = "make_tile_group(): depth is required when mutex_ids is None or empty"
    help = "add depth=2, the number of tiles, or mutex_ids=[0, 1]"


class DepthPositive(ParserTypeError):
    message = "make_tile_group(): depth must be a positive compile-time integer, got {got}"
    help = "for example depth=2"


class DepthMismatch(ParserTypeError):
    message = "make_tile_group(): mutex_ids length {ids} must equal depth {depth}"
    help = "write depth={ids}, or leave depth out"


class AddressCount(ParserTypeError):
    message = "make_tile_group(): addrs length {count} must equal the number of tiles, {depth}"
    help = "pass one address for all, then tiles follow each other, or {depth} of them"


class GroupIndex(ParserTypeError):
    message = "tile group index {index} is out of range for a {depth}-tile group"
    help = "count from 0: the index must be below {depth}; or use group.next()"


class GroupIndexType(ParserTypeError):
    message = "a tile group index must be an integer scalar, got {got}"
    help = "write an integer, a loop variable, or use group.next()"


class NoGroup(ParserTypeError):
    message = "'{text}' has no group metadata: .{method}() needs a tile group"
    help = "make one: pl.make_tile_group(type=tile_type, addrs=0, mutex_ids=[0, 1])"


class MergedIds(ParserTypeError):
    message = "cannot merge tile mutex metadata with different ID counts: {first} and {second}"
    help = "'{name}' comes from tiles with {first} and {second} mutex ids; give both groups the same number"
