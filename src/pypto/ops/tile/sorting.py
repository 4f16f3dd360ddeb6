"""Sorting on pipe V (tile API section 3.6): groups of 32 into records of value and index, then merges of sorted runs.

A record takes 8 bytes: an fp32 value and a 32-bit index (two elements), or an fp16 value, two bytes of zero and the index (four
elements). Runs descend; equal values keep their order, that of the earlier source first; NaN stands last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pypto.cores.enums import PipeType
from pypto.cores.types import Tile
from pypto.errors.base import UserError
from pypto.errors.tile_vectors import RecordsIncomplete, RunNotSorted, VectorKeywordRange
from pypto.ops.dtype_sets import F16, F32, U32
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile.checks import attribute, operand, require_tile
from pypto.ops.tile.table import Running, StaticCall, TileOperation, TileView, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import Rule, all_of, distinct, in_ub, optional_in_ub, row_major, same_dtype, shaped, typed
from pypto.ops.tile.vector_running import expect_extent, name_of, region, scratch, spoil, touch

GROUP = 32  # elements that sort32 sorts at a time
RECORD = 8  # bytes
SORTED = (F16, F32)


def per_record(tile: TileView | Tile) -> int:
    """Stored elements of one record."""
    kind = tile if isinstance(tile, Tile) else tile.type
    return RECORD // kind.dtype.size


def order(values: np.ndarray) -> np.ndarray:
    """Positions along the last axis from the greatest value down, NaN last, ties in order."""
    return np.argsort(-values.astype(np.float32), axis=-1, kind="stable")


def records(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Rows of records as stored elements: ``[rows, n]`` values and uint32 indices to ``[rows, n * elements per record]``."""
    size = values.dtype.itemsize
    words = np.zeros((*values.shape, RECORD), np.uint8)
    words[..., :size] = np.ascontiguousarray(values)[..., None].view(np.uint8)
    words[..., 4:] = np.ascontiguousarray(indices.astype("<u4"))[..., None].view(np.uint8)
    return words.reshape(values.shape[0], -1).view(values.dtype)


# ----------------------------------------------------------------------------------------------------------------- sort32


def sort_groups(call: Running) -> None:
    dst, src, idx = call.operands[:3]
    count, padded = src.columns, -(-src.columns // GROUP) * GROUP
    expect_extent(call, 0, not dst.rows or dst.columns >= count * per_record(src), f"{count * per_record(src)} columns or more")
    if not dst.rows or not count:
        return
    values = np.full((dst.rows, padded), -np.inf, src.numpy_dtype)
    values[:, :count] = region(call, 1, dst.rows, count)
    indices = np.zeros((dst.rows, padded), np.uint32)
    indices[:, :count] = region(call, 2, min(idx.rows, dst.rows), count)
    position = order(values.reshape(dst.rows, -1, GROUP))
    position = (position + np.arange(0, padded, GROUP)[:, None]).reshape(dst.rows, padded)
    stored = records(np.take_along_axis(values, position, 1), np.take_along_axis(indices, position, 1))
    for tmp in padding_tile(call):
        spoil(tmp, dst.rows, padded)
    dst.write_block(0, 0, stored[:, : sorted_width(dst, src)])


def sorted_width(dst: TileView, src: TileView) -> int:
    """Stored elements of a row of results: whole groups, as far as the target's valid columns reach."""
    return min(dst.columns, -(-src.columns // GROUP) * GROUP * per_record(src))


def padding_tile(call: Running) -> Sequence[TileView]:
    """``tmp``, where it is needed."""
    tmp = call.operands[3] if len(call.operands) > 3 else None
    return [] if tmp is None or call.operands[1].columns % GROUP == 0 else [tmp]


def touched_by_sort(call: Running) -> Iterable[Touch]:
    dst, src, idx = call.operands[:3]
    read = [touch(src, "R", dst.rows, src.columns), touch(idx, "R", min(idx.rows, dst.rows), src.columns)]
    used = [scratch(tmp, dst.rows, -(-src.columns // GROUP) * GROUP) for tmp in padding_tile(call)]
    return [touch(dst, "W", dst.rows, sorted_width(dst, src)), *read, *used]


def check_sort(call: StaticCall) -> None:
    """``tmp`` holds the padded last group where the valid columns are no multiple of 32."""
    src = require_tile(call, 1)
    columns = (src.valid or src.shape)[1]
    if columns % GROUP and operand(call, 3) is None:
        in_ub(3)(call)


register(
    TileOperation(
        name="sort32",
        summary="Sorts every group of 32 elements of a row, greatest first, into records of value and index. idx: UINT32, one row"
        " for all or one per row. A last group that is not full is filled with -inf (index 0), for which tmp is needed.",
        parameters=(
            positional("dst", "tile"),
            positional("src", "tile"),
            positional("idx", "tile"),
            positional("tmp", "tile", optional=True),
        ),
        roles=("W", "R", "R", "T"),
        pipe=PipeType.V,
        run=sort_groups,
        check=all_of(
            in_ub(0, 1, 2),
            optional_in_ub(3),
            typed(1, SORTED),
            same_dtype(1, 0, 3),
            typed(2, (U32,)),
            row_major(0, 1, 2),
            distinct(0, 1),
            distinct(0, 2),
            check_sort,
        ),
        touches=touched_by_sort,
        cost=costs.SORT,
        example="pl.sort32(dst, src, idx)",
    )
)

# ---------------------------------------------------------------------------------------------------------------- mergers


def run_records(call: Running, position: int, stored: np.ndarray, start: int = 0) -> np.ndarray:
    """Stored elements as records ``[n, elements per record]``, which must descend."""
    width = RECORD // stored.dtype.itemsize
    if stored.size % width:
        raise RecordsIncomplete(operation=call.operation, argument=name_of(call, position), got=stored.size, record=width)
    found = stored.reshape(-1, width)
    values = found[:, 0].astype(np.float32)
    wrong = np.flatnonzero(values[1:] > values[:-1])
    if wrong.size:
        at = int(wrong[0]) + 1 + start // width
        raise RunNotSorted(operation=call.operation, argument=name_of(call, position), position=at)
    return found


def merged(runs: Sequence[np.ndarray]) -> np.ndarray:
    """One run of all records; the earlier run first among equals."""
    together = np.concatenate(runs)
    return together[order(together[:, 0])]


def merge_blocks(call: Running) -> None:
    dst, src = call.operands
    length = call.attributes["block_len"]
    expect_extent(call, 1, src.rows <= 1, "one row")
    expect_extent(call, 0, dst.rows <= 1 and dst.columns <= src.columns, f"one row of at most {src.columns} columns")
    if not dst.rows or not dst.columns:
        return
    stored = np.array(src.read()[0])
    runs = [run_records(call, 1, stored[start : start + length], start) for start in range(0, stored.size, length)]
    result = np.concatenate([merged(runs[first : first + 4]) for first in range(0, len(runs), 4)])
    dst.write(result.reshape(1, -1)[:, : dst.columns])


def check_block_length(call: StaticCall) -> None:
    length, width = attribute(call, "block_len"), per_record(require_tile(call, 1))
    if isinstance(length, bool) or not isinstance(length, int) or length <= 0 or length % width:
        expected = f"a positive multiple of {width}, the stored elements of one record"
        example = f"block_len={GROUP * width}, the groups that pl.sort32 leaves"
        raise VectorKeywordRange(operation=call.operation, keyword="block_len", expected=expected, got=length, example=example)


def one_row(*positions: int) -> Rule:
    return all_of(*(shaped(position, "one row", lambda shape: shape[0] == 1) for position in positions))


register(
    TileOperation(
        name="mrgsort",
        summary="Merges every four sorted runs of block_len stored elements (value and index counted) in one row into one run; the"
        " last runs may be fewer or shorter.",
        parameters=(positional("dst", "tile"), positional("src", "tile"), keyword("block_len", "scalar", required=True)),
        roles=("W", "R"),
        pipe=PipeType.V,
        run=merge_blocks,
        check=all_of(in_ub(0, 1), typed(0, SORTED), same_dtype(0, 1), one_row(0, 1), distinct(0, 1), check_block_length),
        cost=costs.MERGE,
        example="pl.mrgsort(dst, src, block_len=64)",
    )
)


def sources(call: Running | StaticCall) -> list[int]:
    """Positions of the sorted runs: the first two operands, and those after ``tmp``."""
    return [position for position in (0, 1, *range(4, len(call.operands))) if call.operands[position] is not None]


def merge_tiles(call: Running) -> None:
    dst, result = call.operands[2], merged_sources(call)
    enough = call.attributes.get("exhausted") or not dst.rows or dst.columns <= result.size
    expect_extent(call, 2, dst.rows <= 1 and bool(enough), f"one row of at most {result.size} columns")
    spoil(call.operands[3], dst.rows, dst.columns)
    dst.write_block(0, 0, result.reshape(1, -1)[: dst.rows, : dst.columns])


def merged_sources(call: Running) -> np.ndarray:
    """The records of all sources in order; cut where the first source ends if ``exhausted``."""
    runs = []
    for position in sources(call):
        expect_extent(call, position, call.operands[position].rows <= 1, "one row")
        runs.append(run_records(call, position, np.array(call.operands[position].read()).reshape(-1)))
    result = merged(runs)
    return result[: _until_exhausted(runs)] if call.attributes.get("exhausted") else result


def _until_exhausted(runs: Sequence[np.ndarray]) -> int:
    """Records merged when the first list has given its last one."""
    which = np.concatenate([np.full(len(run), number) for number, run in enumerate(runs)])
    which = which[order(np.concatenate([run[:, 0] for run in runs]))]
    return min(int(np.flatnonzero(which == number)[-1]) + 1 if len(run) else 0 for number, run in enumerate(runs))


def _exhausted_width(call: Running) -> int:
    """Stored elements that are written when the shortest list ends the merge (none where a list is no run: ``run`` refuses it)."""
    try:
        return merged_sources(call).size
    except UserError:
        return 0


def touched_by_merge(call: Running) -> Iterable[Touch]:
    dst = call.operands[2]
    tiles = [call.operands[position] for position in sources(call)]
    columns = min(dst.columns, _exhausted_width(call)) if call.attributes.get("exhausted") else dst.columns
    read = [touch(tile, "R", tile.rows, tile.columns) for tile in tiles]
    return [touch(dst, "W", dst.rows, columns), *read, scratch(call.operands[3], dst.rows, dst.columns)]


def check_merge(call: StaticCall) -> None:
    positions = sources(call)
    all_of(in_ub(*positions, 2, 3), typed(2, SORTED), same_dtype(2, 3, *positions), one_row(2, *positions))(call)
    for position in positions:
        distinct(2, position)(call)
    if len(positions) > 4:
        raise VectorKeywordRange(
            operation=call.operation,
            keyword="the number of sources",
            expected="2 to 4",
            got=len(positions),
            example="four into one tile, then that one and the rest",
        )


register(
    TileOperation(
        name="mrgsort2",
        summary="Merges two to four sorted runs into dst, as many elements as dst has valid columns. The sources come first: (src0,"
        " src1, dst, tmp, src2, src3). exhausted=True stops when one of them has given its last record.",
        parameters=(
            positional("src0", "tile"),
            positional("src1", "tile"),
            positional("dst", "tile"),
            positional("tmp", "tile"),
            positional("extra", "tile", variadic=True),
            keyword("exhausted", "flag", default=False),
        ),
        roles=("R", "R", "W", "T", "R*"),
        pipe=PipeType.V,
        run=merge_tiles,
        check=check_merge,
        touches=touched_by_merge,
        dependent=True,
        cost=costs.MERGE,
        example="pl.mrgsort2(src0, src1, dst, tmp)",
    )
)
