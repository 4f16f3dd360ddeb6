"""Between on-chip memories: ``move`` on all its paths and ``insert`` (tile API section 3.1).

Tiles are logical rows and columns, so that most layout conversions are plain copies. Two tiles whose layouts are each other's
transpose (NZ and ZN, ND and DN, ZZ and NN) and whose shapes are reversed hold the same bytes: there a move transposes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.cores.enums import AccToVecMode, MemorySpace, PipeType, ReluPreMode, TensorLayout
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors.tiles import (
    CoreModeNeedsAcc,
    FixpipeOnly,
    LayoutRefused,
    NegativeOffset,
    OffsetExceedsSource,
    OffsetExceedsTarget,
    PathNotOnChip,
    PathUnsupported,
    TileDtypesDiffer,
    TileShapesDiffer,
    ValidExtentsUncovered,
    WindowLeavesTile,
)
from pypto.ops.tile.checks import require_core, require_offsets, require_same_dtype, require_space, require_tile
from pypto.ops.tile.fixpipe import DUAL_MODES, check_conversion, check_scale, converted, has_scale, scale_touches
from pypto.ops.tile.table import StaticCall, TileOperation, Touch, keyword, positional, register

_S, _L, _D = MemorySpace, TensorLayout, DataType
PATHS = frozenset(
    [(_S.Mat, target) for target in (_S.Left, _S.Right, _S.Scaling, _S.Bias, _S.ScaleLeft, _S.ScaleRight)]
    + [(_S.Acc, _S.Vec), (_S.Vec, _S.Vec), (_S.Vec, _S.Mat)]
)
TRANSPOSED = {_L.NZ: _L.ZN, _L.ZN: _L.NZ, _L.NN: _L.ZZ, _L.ZZ: _L.NN, _L.ND: _L.DN, _L.DN: _L.ND}
BIAS_TYPES = {_D.DT_FP16: _D.DT_FP32, _D.DT_BF16: _D.DT_FP32, _D.DT_FP32: _D.DT_FP32, _D.DT_INT32: _D.DT_INT32}
SPLIT_ROWS = 2  # dual modes round the split extent up to these (tile API section 3.1)
SPLIT_COLUMNS = 32


# -- what a move is -----------------------------------------------------------------------------------------------------------


def transposes(target: Tile, source: Tile) -> bool:
    """Whether the tiles are views of each other's transpose, so that rows become columns."""
    return TRANSPOSED[target.layout] is source.layout and target.shape == source.shape[::-1] != source.shape


def is_insert(target: Tile, source: Tile, has_offset: bool, plain: bool) -> bool:
    """Whether ``move`` means ``insert``: an offset into a larger target, or Vec → Mat between transposed views."""
    if not plain or (source.space, target.space) != (_S.Vec, _S.Mat):
        return False
    if not has_offset:
        return TRANSPOSED[target.layout] is source.layout and target.shape == source.shape[::-1]
    shape = source.shape[::-1] if TRANSPOSED[target.layout] is source.layout else source.shape
    return all(t >= s for t, s in zip(target.shape, shape, strict=True)) and tuple(target.shape) != tuple(shape)


def _has_modes(attributes: Any) -> bool:
    return any(attributes.get(name) is not None for name in ("acc_to_vec_mode", "relu_pre_mode", "scale"))


def pipe_of(spaces: Sequence[MemorySpace | None]) -> PipeType | None:
    """Queue of a move, from the memories of target and source (tile API table 3.0.1)."""
    target, source = spaces[0], spaces[1]
    if source is _S.Acc:
        return PipeType.FIX
    if source is _S.Mat:
        return PipeType.FIX if target is _S.Scaling else PipeType.MTE1
    return PipeType.MTE3 if target is _S.Mat else PipeType.V


# -- before anything runs -----------------------------------------------------------------------------------------------------


def _check_move(call: StaticCall) -> None:
    target, source = require_tile(call, 0, "dst"), require_tile(call, 1, "src")
    check_path(call, target, source)
    has_offset = len(call.operands) > 2 and call.operands[2] is not None
    plain = not _has_modes(call.attributes) and not has_scale(call)
    _check_keywords(call, target, source)
    if is_insert(target, source, has_offset, plain):
        _check_insert(call)
        return
    _check_dtypes(call, target, source)
    if has_offset:
        _check_extraction(call, target, source)
    elif target.space is _S.Mat and TRANSPOSED[target.layout] is source.layout:
        expected = f"{target.layout.name}, or a target of shape {list(source.shape[::-1])}: the bytes go over as they are"
        raise LayoutRefused(operation=call.operation, argument="src", got=source.layout.name, expected=expected)
    elif call.attributes.get("acc_to_vec_mode") is None and target.shape != source.shape and not transposes(target, source):
        raise TileShapesDiffer(
            operation=call.operation, first="dst", first_shape=list(target.shape), second="src", second_shape=list(source.shape)
        )


def check_path(call: StaticCall, target: Tile, source: Tile) -> None:
    path = (source.space, target.space)
    if path not in PATHS:
        raise PathUnsupported(operation=call.operation, source=path[0].name, target=path[1].name)
    if not call.chip.has_path(*path):
        raise PathNotOnChip(operation=call.operation, chip=call.chip.name, source=path[0].name, target=path[1].name)
    require_core(call, source)


def _check_keywords(call: StaticCall, target: Tile, source: Tile) -> None:
    if source.space is _S.Acc:
        check_scale(call)
        return
    if call.attributes.get("acc_to_vec_mode") is not None:
        raise CoreModeNeedsAcc(source=source.space.name, target=target.space.name)
    if has_scale(call) or call.attributes.get("relu_pre_mode") is not None:
        name = "scale" if has_scale(call) else "relu_pre_mode"
        raise FixpipeOnly(operation=call.operation, keyword=name, got=source.space.name)


def _check_dtypes(call: StaticCall, target: Tile, source: Tile) -> None:
    if source.space is _S.Acc:
        check_conversion(call, source.dtype, target.dtype)
    elif target.space is _S.Bias:
        if BIAS_TYPES.get(source.dtype) is not target.dtype:
            raise TileDtypesDiffer(
                operation=call.operation,
                first="dst",
                first_dtype=target.dtype.label,
                second="src",
                second_dtype=source.dtype.label,
            )
    else:
        require_same_dtype(call, target, source, ("dst", "src"))


def _check_extraction(call: StaticCall, target: Tile, source: Tile) -> None:
    """A smaller target takes a part of the source."""
    offsets = require_offsets(call, 2, "offset", 2)
    if any(t > s for t, s in zip(target.shape, source.shape, strict=True)):
        raise TileShapesDiffer(
            operation=call.operation, first="dst", first_shape=list(target.shape), second="src", second_shape=list(source.shape)
        )
    _check_offsets(call, offsets, source.shape, OffsetExceedsSource)


def _check_offsets(call: StaticCall, offsets: Sequence[int | None], shape: tuple[int, int], error: type) -> None:
    for axis, offset in enumerate(offsets):
        if offset is not None and offset < 0:
            raise NegativeOffset(operation=call.operation, offset=offset, axis=axis)
        if offset is not None and offset >= shape[axis]:
            raise error(operation=call.operation, offset=offset, shape=list(shape), axis=axis)


def _check_insert(call: StaticCall) -> None:
    target, source = require_tile(call, 0, "dst"), require_tile(call, 1, "src")
    require_space(call, target, "dst", _S.Mat)
    require_space(call, source, "src", _S.Vec)
    check_path(call, target, source)
    require_same_dtype(call, target, source, ("dst", "src"))
    if target.layout in (_L.NZ, _L.ZN) and source.layout is not _L.NZ:
        raise LayoutRefused(
            operation=call.operation, argument="src", got=source.layout.name, expected="NZ: pl.move it into an NZ tile first"
        )
    if call.operation == "insert" or call.operands[2:]:
        _check_offsets(call, require_offsets(call, 2, "offset", 2), target.shape, OffsetExceedsTarget)


# -- at run time --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy:
    """``rows`` by ``columns`` elements of a target from (row, column) on take those of the source from its (row, column) on."""

    target: Any
    row: int
    column: int
    rows: int
    columns: int
    source: Any
    source_row: int = 0
    source_column: int = 0
    transposed: bool = False

    @property
    def source_extent(self) -> tuple[int, int]:
        return (self.columns, self.rows) if self.transposed else (self.rows, self.columns)

    def values(self) -> np.ndarray:
        values = self.source.read_block(self.source_row, self.source_column, *self.source_extent)
        return values.T if self.transposed else values


def copies(call: Any) -> list[Copy]:
    """The rectangles that a call of ``move`` or ``insert`` copies; a dual mode has one per vector core."""
    target, source = call.operands[:2]
    offset = call.operands[2] if len(call.operands) > 2 else None
    if source.type.space is _S.Acc:
        return _to_vector_cores(call, target, source, offset)
    if call.operation == "insert" or is_insert(target.type, source.type, offset is not None, True):
        return [_insertion(target, source, offset or (0, 0))]
    if offset is None and target.type.space is _S.Mat:  # from UB, as an insertion does: what is valid in the source
        return [_insertion(target, source, (0, 0))]
    return [_extraction(call, target, source, offset)]


def _insertion(target: Any, source: Any, offset: Sequence[int]) -> Copy:
    transposed = TRANSPOSED[target.type.layout] is source.type.layout  # bytes are inserted as they are
    rows, columns = (source.columns, source.rows) if transposed else (source.rows, source.columns)
    return Copy(target, offset[0], offset[1], rows, columns, source, transposed=transposed)


def _extraction(call: Any, target: Any, source: Any, offset: Sequence[int] | None) -> Copy:
    row, column = offset or (0, 0)
    copy = Copy(
        target, 0, 0, target.rows, target.columns, source, row, column, offset is None and transposes(target.type, source.type)
    )
    rows, columns = copy.source_extent
    if row + rows > source.rows or column + columns > source.columns:
        raise ValidExtentsUncovered(
            operation=call.operation, target=[copy.rows, copy.columns], offset=[row, column], source=[source.rows, source.columns]
        )
    return copy


def _to_vector_cores(call: Any, target: Any, source: Any, offset: Sequence[int] | None) -> list[Copy]:
    mode = call.attributes.get("acc_to_vec_mode")
    if mode not in DUAL_MODES:
        core = 1 if mode is AccToVecMode.SingleModeVec1 else 0
        row, column = offset or (0, 0)
        rows, columns = (source.rows, source.columns) if offset is None else (target.rows, target.columns)
        return [Copy(call.on_vector_core(target, core), 0, 0, rows, columns, source, row, column)]
    found = []
    for core, (first, count) in enumerate(split(mode, source.rows, source.columns)):
        there = call.on_vector_core(target, core)
        if mode is AccToVecMode.DualModeSplitM:
            found.append(Copy(there, 0, 0, count, source.columns, source, first, 0))
        else:
            found.append(Copy(there, 0, 0, source.rows, count, source, 0, first))
    return found


def split(mode: AccToVecMode, rows: int, columns: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """First index and count for vector core 0 and 1.

    >>> split(AccToVecMode.DualModeSplitM, 33, 64), split(AccToVecMode.DualModeSplitN, 16, 65)
    (((0, 17), (17, 16)), ((0, 48), (48, 17)))
    """
    extent, multiple = (rows, SPLIT_ROWS) if mode is AccToVecMode.DualModeSplitM else (columns, SPLIT_COLUMNS)
    first = min(extent, rounded(extent, multiple) // 2)
    return (0, first), (first, extent - first)


def rounded(extent: int, multiple: int) -> int:
    return -(-extent // multiple) * multiple


def _move(call: Any) -> None:
    for copy in copies(call):
        if not (copy.rows and copy.columns):
            continue
        _check_inside(call, copy.target, copy.row, copy.column, (copy.rows, copy.columns))
        _check_inside(call, copy.source, copy.source_row, copy.source_column, copy.source_extent)
        values, kind = copy.values(), copy.target.type.dtype
        if copy.source.type.space is _S.Acc:
            values = converted(call, values, kind)
        elif kind is not copy.source.type.dtype:
            values = values.astype(copy.target.numpy_dtype)
        copy.target.write_block(copy.row, copy.column, values)
    _round_valid(call)


def _check_inside(call: Any, tile: Any, row: int, column: int, extent: tuple[int, int]) -> None:
    rows, columns = tile.type.shape
    if row < 0 or column < 0 or row + extent[0] > rows or column + extent[1] > columns:
        raise WindowLeavesTile(
            operation=call.operation,
            row=row,
            row_end=row + extent[0],
            column=column,
            column_end=column + extent[1],
            shape=[rows, columns],
        )


def _round_valid(call: Any) -> None:
    """A dual mode leaves the accumulator's valid extent rounded up, unless that is a constant of its type."""
    source, mode = call.operands[1], call.attributes.get("acc_to_vec_mode")
    if mode not in DUAL_MODES or source.type.valid is not None:
        return
    rows, columns = source.type.shape
    if mode is AccToVecMode.DualModeSplitM:
        source.set_valid(min(rounded(source.rows, SPLIT_ROWS), rows), source.columns)
    else:
        source.set_valid(source.rows, min(rounded(source.columns, SPLIT_COLUMNS), columns))


def _touches(call: Any) -> Iterable[Touch]:
    for copy in copies(call):
        yield Touch(copy.source, "R", copy.source_row, copy.source_column, *copy.source_extent)
        yield Touch(copy.target, "W", copy.row, copy.column, copy.rows, copy.columns)
        yield from scale_touches(call, copy.source_column + copy.columns)


RATES = {  # rates of the chip file
    (_S.Mat, _S.Left): "L1_TO_L0A",
    (_S.Mat, _S.Right): "L1_TO_L0B",
    (_S.Mat, _S.Bias): "L1_TO_BT",
    (_S.Mat, _S.Scaling): "L1_TO_FB",
    (_S.Mat, _S.ScaleLeft): "L1_TO_SCALE",
    (_S.Mat, _S.ScaleRight): "L1_TO_SCALE",
    (_S.Acc, _S.Vec): "FIX_TO_UB",
    (_S.Vec, _S.Mat): "UB_TO_L1",
    (_S.Vec, _S.Vec): "UB_TO_UB",
}


def _work(call: Any) -> Iterable[tuple[str, float]]:
    target, source = call.operands[:2]
    rate = RATES[source.type.space, target.type.space]
    if rate == "L1_TO_L0B" and source.type.layout is _L.ZN:
        rate = "L1_TO_L0B_TRANSPOSED"
    yield rate, float(sum(copy.rows * copy.columns for copy in copies(call)) * source.type.dtype.facts.bits / 8)


MOVE = register(
    TileOperation(
        "move",
        "Between on-chip memories: Mat → Left/Right/Bias/Scaling/ScaleLeft/ScaleRight, Acc → Vec, Vec → Vec, Vec → Mat.",
        (
            positional("dst_tile", "tile"),
            positional("src_tile", "tile"),
            positional("offset", "offsets", optional=True),
            keyword("acc_to_vec_mode", enum=AccToVecMode),
            keyword("relu_pre_mode", enum=ReluPreMode),
            keyword("scale", "real scalar tile", constant=False),
        ),
        ("W", "R", "-"),
        pipe_of,
        _move,
        check=_check_move,
        touches=_touches,
        work=_work,
        example="pl.move(left, a_l1)",
    )
)
register(
    TileOperation(
        "insert",
        "Vec → part of a Mat tile: ``dst[row + i, column + j] = src[i, j]``.",
        (positional("dst_tile", "tile"), positional("src_tile", "tile"), positional("offset", "offsets")),
        ("W", "R", "-"),
        PipeType.MTE3,
        _move,
        check=_check_insert,
        touches=_touches,
        work=_work,
        example="pl.insert(p_mat, p_nz, [sub_id * 32, 0])",
    )
)
