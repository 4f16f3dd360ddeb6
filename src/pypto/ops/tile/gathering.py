"""Gather, scatter and histogram on pipe V (tile API section 3.6).

A flat index counts elements of the physical shape. One outside what is valid, or outside the tile, is an error at the instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import PipeType, TensorLayout
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors.tile_vectors import BlockOffset, GatherKeyword, GatherOverflow, IndexLeavesTile, VectorShapeRefused
from pypto.ops.dtype_sets import B16, F16, F32, I16, I32, U8, U16, U32
from pypto.ops.numerics import widened
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile.checks import argument_name, operand, require_dtype, require_tile
from pypto.ops.tile.table import Running, StaticCall, TileOperation, TileView, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import (
    all_of,
    distinct,
    in_ub,
    keyword_in,
    row_major,
    same_dtype,
    shaped,
    tile_or_scalar,
    typed,
)
from pypto.ops.tile.vector_dtypes import EVERY
from pypto.ops.tile.vector_running import (
    expect_apart,
    expect_extent,
    is_tile,
    name_of,
    number_as,
    region,
    scratch,
    spoil,
    touch,
)

INDICES = {1: (I16, U16, I32, U32), 2: (I16, U16, I32, U32), 4: (I16, U16, I32, U32), 8: (I32, U32)}  # by bytes of an element
SCATTER_INDICES = {1: (I16, U16), 2: (I16, U16), 4: (I32, U32), 8: (I32, U32)}
COMPARED = (I16, U16, I32, U32, F16, B16, F32)
BLOCK = 32  # bytes that gatherb copies at a time
GREATER = 4  # cmp_mode of the compare form; every other number is equality
BINS = 256


def check_indices(call: StaticCall, data: int, index: int, allowed: Mapping[int, Sequence[DataType]]) -> None:
    """The width of indices follows that of the data."""
    size = require_tile(call, data).dtype.size
    require_dtype(call, require_tile(call, index).dtype, argument_name(call, index), allowed[size])


def flat_elements(tile: TileView) -> np.ndarray:
    """All elements of the physical shape, row by row."""
    return tile.read_block(0, 0, *tile.type.shape).reshape(-1)


def checked_indices(call: Running, position: int, indices: np.ndarray, tile: TileView, rows: int, columns: int) -> np.ndarray:
    """Flat indices as int64, all of them inside the upper left ``rows x columns`` of ``tile``."""
    flat = indices.astype(np.int64)
    width = tile.type.shape[1]
    wrong = (flat < 0) | (flat >= rows * width) | (flat % width >= columns)
    if wrong.any():
        row, column = (int(axis[0]) for axis in np.nonzero(wrong))
        raise IndexLeavesTile(
            operation=call.operation,
            index=int(flat[row, column]),
            row=row,
            column=column,
            width=width,
            argument=name_of(call, 2),
            data=name_of(call, position),
            expected=f"which has {rows} x {columns} elements in rows of {width}",
        )
    return flat


# ----------------------------------------------------------------------------------------------------------------- gather


def compares(call: Any) -> bool:
    """Whether the fifth operand is there: the compare form."""
    return len(call.operands) > 4 and call.operands[4] is not None


def check_gather(call: StaticCall) -> None:
    if compares(call):
        _check_compare_form(call)
        return
    if call.attributes.get("cmp_mode") is not None:
        raise GatherKeyword(operation=call.operation, keyword="cmp_mode")
    _check_index_form(call)
    check_indices(call, 1, 2, INDICES)


_check_index_form = all_of(
    in_ub(0, 1, 2, 3),
    typed(0, EVERY),
    same_dtype(0, 1),
    same_dtype(2, 3),
    row_major(0, 1, 2),
    distinct(3, 0),
    distinct(3, 1),
    distinct(3, 2),
)
_check_compare_form = all_of(
    in_ub(0, 1, 3, 4),
    tile_or_scalar(2),
    typed(0, (U32,)),
    typed(1, COMPARED),
    same_dtype(1, 2),
    typed(3, (U32, I32)),
    row_major(0, 1, 4),
    *(distinct(4, other) for other in range(4)),
)


def gather(call: Running) -> None:
    if compares(call):
        gather_matching(call)
        return
    out, src = call.operands[0], call.operands[1]
    for other in range(3):
        expect_apart(call, 3, other)
    indices = region(call, 2, out.rows, out.columns)
    out.write(flat_elements(src)[checked_indices(call, 1, indices, src, src.rows, src.columns)])
    spoil(call.operands[3], out.rows, out.columns)


def gather_matching(call: Running) -> None:
    """Row by row: columns of the matching elements, one behind the other, and how many they are."""
    out, src, _, counts = call.operands[:4]
    offset = int(call.attributes.get("offset") or 0)
    matching = _matching(call, src)
    found = matching.sum(axis=1)
    expect_extent(call, 3, counts.rows >= src.rows or counts.columns >= src.rows, f"{src.rows} counts")
    for row in range(src.rows):
        if found[row] > out.columns or (found[row] and row >= out.rows):
            room = out.columns if row < out.rows else 0
            raise GatherOverflow(operation=call.operation, argument="out", found=int(found[row]), row=row, room=room)
        columns = np.flatnonzero(matching[row]) + offset
        out.write_block(row, 0, columns.astype(out.numpy_dtype)[None, :])
    spoil(call.operands[4], src.rows, src.columns)
    counted = found.astype(counts.numpy_dtype)
    counts.write_block(0, 0, counted[:, None] if counts.rows >= src.rows else counted[None, :])


def _matching(call: Running, src: TileView) -> np.ndarray:
    bound = call.operands[2]
    if not is_tile(bound):
        limit = number_as(bound, src.type.dtype)
    else:
        limit = bound.read() if bound.rows == bound.columns == 1 else region(call, 2, src.rows, min(1, src.columns))
    function = np.greater if call.attributes.get("cmp_mode") == GREATER else np.equal
    return np.asarray(function(widened(src.read()), widened(limit)), bool)


def touched_by_gather(call: Running) -> Iterable[Touch]:
    """Sources as far as they are valid; results as far as the target is."""
    out, src = call.operands[:2]
    if not compares(call):
        index = touch(call.operands[2], "R", out.rows, out.columns)
        used = scratch(call.operands[3], out.rows, out.columns)
        return [touch(out, "W", out.rows, out.columns), touch(src, "R", src.rows, src.columns), index, used]
    matching = _matching(call, src).sum(axis=1)
    results = [Touch(out, "W", row, 0, 1, int(count)) for row, count in enumerate(matching) if count]
    counts, bound = call.operands[3], call.operands[2]
    rows, columns = (src.rows, 1) if counts.rows >= src.rows else (1, src.rows)
    read = [touch(tile, "R", tile.rows, tile.columns) for tile in (src, bound) if is_tile(tile)]
    return [*results, touch(counts, "W", rows, columns), *read, scratch(call.operands[4], src.rows, src.columns)]


register(
    TileOperation(
        name="gather",
        summary="Four tiles (out, src, idx, tmp): out[i, j] = src at flat index idx[i, j] (offset has no effect). Five operands (out,"
        " src, kval, cdst, tmp): per row, the columns of elements > kval (cmp_mode=4) or == kval, plus offset, one behind the"
        " other, and their number in cdst; kval is a number, one element or one per row.",
        parameters=(
            positional("out", "tile"),
            positional("src", "tile"),
            positional("idx", "tile scalar"),
            positional("tmp", "tile"),
            positional("scratch", "tile", optional=True),
            keyword("cmp_mode", "scalar"),
            keyword("offset", "scalar", default=0, constant=False),
        ),
        roles=("W", "R", "R", "W", "T"),
        pipe=PipeType.V,
        run=gather,
        check=check_gather,
        touches=touched_by_gather,
        dependent=True,
        cost=costs.GATHER,
        example="pl.gather(out, src, idx, tmp)",
    )
)

# ---------------------------------------------------------------------------------------------------------------- gatherb


def blocks_of(tile: TileView) -> int:
    """Blocks of 32 bytes in the valid part of a row."""
    return -(-tile.columns * tile.numpy_dtype.itemsize // BLOCK)


def gather_blocks(call: Running) -> None:
    out, src, offsets = call.operands
    blocks, size = blocks_of(out), out.numpy_dtype.itemsize
    count = out.rows * blocks
    expect_extent(call, 2, offsets.rows * offsets.columns >= count, f"{count} offsets, one per block of {BLOCK} bytes")
    starts = offsets.read().reshape(-1)[:count].astype(np.int64)
    wrong = np.flatnonzero(starts % BLOCK != 0)
    if wrong.size:
        row, column = divmod(at := int(wrong[0]), offsets.columns)
        raise BlockOffset(operation=call.operation, argument="offsets", offset=int(starts[at]), row=row, column=column)
    elements = starts[:, None] // size + np.arange(BLOCK // size)
    indices = elements.reshape(out.rows, blocks * BLOCK // size)[:, : out.columns]
    out.write(flat_elements(src)[checked_indices(call, 1, indices, src, src.rows, src.columns)])


register(
    TileOperation(
        name="gatherb",
        summary="Copies blocks of 32 bytes: block k of out (row by row) comes from byte offsets[k] of src, a multiple of 32.",
        parameters=(positional("out", "tile"), positional("src", "tile"), positional("offsets", "tile")),
        roles=("W", "R", "R"),
        pipe=PipeType.V,
        run=gather_blocks,
        check=all_of(in_ub(0, 1, 2), typed(0, EVERY), same_dtype(0, 1), typed(2, (U32,)), row_major(0, 1, 2)),
        cost=costs.GATHER,
        example="pl.gatherb(out, src, offsets)",
    )
)

# ------------------------------------------------------------------------------------------------------------- gathermask

PATTERNS = {1: slice(0, None, 2), 2: slice(1, None, 2), 7: slice(None)} | {3 + k: slice(k, None, 4) for k in range(4)}


def gather_pattern(call: Running) -> None:
    out, src = call.operands
    chosen = region(call, 1, out.rows, src.columns)[:, PATTERNS[call.attributes["pattern_mode"]]]
    expect_extent(call, 0, out.columns <= chosen.shape[1] or not out.rows, f"at most {chosen.shape[1]} columns")
    out.write(chosen[:, : out.columns])


register(
    TileOperation(
        name="gathermask",
        summary="Columns of src by pattern: 1 and 2 every second from 0 or 1 on; 3 to 6 every fourth from 0 to 3 on; 7 all.",
        parameters=(positional("out", "tile"), positional("src", "tile"), keyword("pattern_mode", "scalar", required=True)),
        roles=("W", "R"),
        pipe=PipeType.V,
        run=gather_pattern,
        check=all_of(
            in_ub(0, 1), typed(0, EVERY), same_dtype(0, 1), row_major(0, 1), keyword_in("pattern_mode", range(1, 8), "1 to 7")
        ),
        cost=costs.GATHER,
        example="pl.gathermask(out, src, pattern_mode=1)",
    )
)

# ---------------------------------------------------------------------------------------------------------------- scatter


def scatter(call: Running) -> None:
    out, src = call.operands[:2]
    out.write_block(0, 0, _scattered(call, out, src))


def _scattered(call: Running, out: TileView, src: TileView) -> np.ndarray:
    result = np.array(out.read_block(0, 0, *out.type.shape))
    indices = region(call, 2, src.rows, src.columns)
    targets = checked_indices(call, 0, indices, out, *out.type.shape)
    result.reshape(-1)[targets.reshape(-1)] = src.read().reshape(-1)
    return result


def touched_by_scatter(call: Running) -> Iterable[Touch]:
    """Exactly the elements written, as runs within rows (indices that leave the tile are the concern of ``run``)."""
    out, src = call.operands[:2]
    read = [touch(tile, "R", src.rows, src.columns) for tile in call.operands[1:3]]
    rows, width = out.type.shape
    flat = np.unique(region(call, 2, src.rows, src.columns).astype(np.int64))
    flat = flat[(flat >= 0) & (flat < rows * width)]
    breaks = np.flatnonzero((np.diff(flat) != 1) | (flat[1:] % width == 0)) + 1
    runs = [run for run in np.split(flat, breaks) if run.size]
    return [*(Touch(out, "W", int(run[0] // width), int(run[0] % width), 1, run.size) for run in runs), *read]


def check_scatter(call: StaticCall) -> None:
    _check_scatter(call)
    check_indices(call, 1, 2, SCATTER_INDICES)


_check_scatter = all_of(in_ub(0, 1, 2), typed(0, EVERY), same_dtype(0, 1), row_major(0, 1, 2), distinct(0, 1), distinct(0, 2))

register(
    TileOperation(
        name="scatter",
        summary="out at flat index idx[i, j] = src[i, j]; other elements stay. Where an index repeats, the last one stands"
        " (undefined on hardware).",
        parameters=(positional("out", "tile"), positional("src", "tile"), positional("idx", "tile")),
        roles=("W", "R", "R"),
        pipe=PipeType.V,
        run=scatter,
        check=check_scatter,
        touches=touched_by_scatter,
        dependent=True,
        cost=costs.SCATTER,
        example="pl.scatter(out, src, idx)",
    )
)

# -------------------------------------------------------------------------------------------------------------- histogram


def histogram(call: Running) -> None:
    dst, src = call.operands[:2]
    expect_extent(call, 0, dst.columns >= BINS or not dst.rows, f"at least {BINS} columns")
    values = region(call, 1, dst.rows, src.columns)
    top = 8 * (src.numpy_dtype.itemsize - 1)
    counted = np.ones(values.shape, bool) if call.attributes["is_msb"] else _same_high_bytes(call, values)
    bins = values >> top if call.attributes["is_msb"] else values & 0xFF
    for row in range(dst.rows):
        counts = np.bincount(bins[row][counted[row]].astype(np.int64), minlength=BINS)
        dst.write_block(row, 0, counts.astype(dst.numpy_dtype)[None, :])


def _same_high_bytes(call: Running, values: np.ndarray) -> np.ndarray:
    """Elements whose bytes above the lowest equal the row's prefix in ``idx``."""
    rows, size = len(values), values.dtype.itemsize
    if size == 2:
        prefix = region(call, 2, rows, 1).astype(values.dtype)
    else:  # row 0 holds the highest byte of every row's prefix
        high, middle, low = region(call, 2, 3, rows).astype(values.dtype)
        prefix = (high << 16 | middle << 8 | low)[:, None]
    return values >> 8 == prefix


def touched_by_histogram(call: Running) -> Iterable[Touch]:
    dst, src, idx = call.operands
    found = [touch(dst, "W", dst.rows, BINS), touch(src, "R", dst.rows, src.columns)]
    if not call.attributes["is_msb"]:
        found.append(touch(idx, "R", dst.rows, 1) if src.numpy_dtype.itemsize == 2 else touch(idx, "R", 3, dst.rows))
    return found


def check_prefix(call: StaticCall) -> None:
    """The prefixes: DN [rows, 1] for 16-bit sources, ND [3, columns] for 32-bit ones."""
    src, idx = require_tile(call, 1), require_tile(call, 2)
    if call.attributes.get("is_msb") or operand(call, 2) is None:
        return
    fits = idx.shape[1] == 1 if src.dtype.size == 2 else idx.shape[0] == 3 and idx.shape[1] >= _rows(src)
    if not fits or (src.dtype.size == 4 and idx.layout is not TensorLayout.ND):
        expected = "a DN column [rows, 1]" if src.dtype.size == 2 else f"[3, at least {_rows(src)}], ND"
        raise VectorShapeRefused(operation=call.operation, argument="idx", got=list(idx.shape), expected=expected)


def _rows(tile: Tile) -> int:
    return (tile.valid or tile.shape)[0]


register(
    TileOperation(
        name="histogram",
        summary="Counts per row into 256 bins: the top byte of every element (is_msb=True), or the lowest byte of those whose higher"
        " bytes equal the row's prefix in idx: UINT8, [rows, 1] for 16-bit elements; [3, rows] for 32-bit ones, highest byte"
        " first.",
        parameters=(
            positional("dst", "tile"),
            positional("src", "tile"),
            positional("idx", "tile"),
            keyword("is_msb", "flag", required=True),
        ),
        roles=("W", "R", "R"),
        pipe=PipeType.V,
        run=histogram,
        check=all_of(
            in_ub(0, 1, 2),
            typed(0, (U32,)),
            typed(1, (U16, U32)),
            typed(2, (U8,)),
            shaped(0, f"at least {BINS} columns", lambda shape: shape[1] >= BINS),
            row_major(0, 1),
            check_prefix,
        ),
        touches=touched_by_histogram,
        cost=costs.GATHER,
        example="pl.histogram(dst, src, idx, is_msb=True)",
    )
)
