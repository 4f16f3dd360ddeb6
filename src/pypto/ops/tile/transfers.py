"""Between global memory and a tile: which window of the tensor a tile meets, and the rules for it.

A window is a list of absolute offsets and two axes: tile rows run along the first, tile columns along the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.cores.enums import TensorLayout
from pypto.cores.layout import FRACTAL_COLUMN_BYTES
from pypto.cores.types import Tensor, Tile
from pypto.dtypes import DataType
from pypto.errors.tiles import (
    MxScaleTensor,
    NegativeOffset,
    OffsetExceedsTensor,
    OrderNotConstant,
    OrderOutOfRange,
    OrderRepeats,
    PackedWindow,
    TensorRankTooSmall,
    TiledOrderDescends,
    WindowLeavesTensor,
)
from pypto.ops.tile.checks import require_offsets
from pypto.ops.tile.table import StaticCall, TensorView, TileView, Touch

PACKED_BITS = 4
SCALE_FRACTAL = 32
SCALE_LAYOUTS = (TensorLayout.ZZ, TensorLayout.NN)


@dataclass(frozen=True)
class Place:
    """Rows ``rows`` by ``columns`` of a tensor from ``offsets`` on, and where they lie in the tile: row and column steps of it."""

    tensor: Any
    offsets: tuple[int, ...]
    axes: tuple[int, int]
    rows: int
    columns: int
    row: slice
    column: slice
    halves: str = ""  # of four-bit elements: the window counts bytes, two elements each along "rows" or "columns"

    def touch(self, role: str) -> Touch:
        return Touch(self.tensor, role, 0, 0, self.rows, self.columns, self.offsets, self.axes)


# -- before anything runs -----------------------------------------------------------------------------------------------------


def holds_block_scales(dtype: DataType, tile: Tile) -> bool:
    """Whether a tile takes block scales, whose tensors have an axis of their own for even and odd groups."""
    return dtype is DataType.DT_FP8E8M0 and tile.fractal == SCALE_FRACTAL and tile.layout in SCALE_LAYOUTS


def check_window(call: StaticCall, tile: Tile, tensor: Tensor, offsets_at: int, tiled: bool) -> None:
    """``order`` and the offsets of a load or store."""
    axes = check_order(call, tensor, tile)
    offsets = require_offsets(call, offsets_at, call.operation.endswith("_tile") * "tile_" + "offsets", len(tensor.shape))
    if tiled:
        check_tiled_order(call, axes, tile)
    steps = {axes[0]: tile.shape[0], axes[1]: tile.shape[1]} if tiled else {}
    for axis, (offset, size) in enumerate(zip(offsets, extents_of(tensor), strict=True)):
        check_offset(call, offset, steps.get(axis, 1), size, axis)


def extents_of(tensor: Any) -> tuple[Any, ...]:
    """Extents in elements: a tensor of four-bit elements is declared with half of its last axis (tile API section 3.2)."""
    if tensor.dtype.facts.bits != PACKED_BITS or not isinstance(tensor.shape[-1], int):
        return tensor.shape
    return (*tensor.shape[:-1], 2 * tensor.shape[-1])


def check_offset(call: StaticCall, offset: int | None, step: int, size: int | str, axis: int) -> None:
    if offset is None:
        return
    if offset < 0:
        raise NegativeOffset(operation=call.operation, offset=offset, axis=axis)
    if isinstance(size, int) and offset * step >= size > 0:
        raise OffsetExceedsTensor(operation=call.operation, offset=offset * step, axis=axis, size=size)


def check_order(call: StaticCall, tensor: Tensor, tile: Tile) -> tuple[int, int]:
    """The two axes that tile rows and columns run along."""
    rank, order = len(tensor.shape), call.attributes.get("order")
    if holds_block_scales(tensor.dtype, tile):
        check_block_scales(call, tensor, order)
        return axes_of(order, rank - 1)
    if order is None:
        if rank < 2 and tile.shape[0] != 1:
            raise TensorRankTooSmall(operation=call.operation, argument="the tensor", rank=rank)
        return axes_of(None, rank)
    if not isinstance(order, (list, tuple)) or len(order) != 2 or not all(type(axis) is int for axis in order):
        raise OrderNotConstant(operation=call.operation, got=order)
    if order[0] == order[1]:
        raise OrderRepeats(operation=call.operation, order=list(order))
    for axis in order:
        if not 0 <= axis < rank:
            raise OrderOutOfRange(operation=call.operation, axis=axis, rank=rank)
    return axes_of(order, rank)


def check_block_scales(call: StaticCall, tensor: Tensor, order: Any) -> None:
    rank = len(tensor.shape)
    if rank < 3 or tensor.shape[-1] != 2:
        raise MxScaleTensor(
            operation=call.operation, problem=f"need rank 3 and a last axis of 2, but the tensor is {list(tensor.shape)}"
        )
    if order is not None and rank - 1 in order:
        raise MxScaleTensor(operation=call.operation, problem=f"keep the last axis for themselves, but order is {list(order)}")


def check_tiled_order(call: StaticCall, axes: tuple[int, int], tile: Tile) -> None:
    """The machine multiplies sorted axes: right only for ascending orders and square tiles (tile API section 9.2)."""
    if axes[0] > axes[1] and tile.shape[0] != tile.shape[1]:
        raise TiledOrderDescends(operation=call.operation, order=list(axes), shape=list(tile.shape))


def axes_of(order: Sequence[int] | None, rank: int) -> tuple[int, int]:
    """The axes of a window: those of ``order``, or the last two (a tensor of one axis has one row)."""
    if order is not None:
        return int(order[0]), int(order[1])
    return (rank - 2, rank - 1) if rank > 1 else (0, 0)


# -- at run time --------------------------------------------------------------------------------------------------------------


def places(call: Any, tile: TileView, tensor: TensorView, offsets: Sequence[int], tiled: bool) -> Iterator[Place]:
    """The windows of the tensor that meet the valid region of the tile, checked against the tensor's extents."""
    rank = len(tensor.shape)
    if holds_block_scales(tensor.dtype, tile.type):
        yield from _scale_places(call, tile, tensor, tuple(offsets), axes_of(call.attributes.get("order"), rank - 1))
        return
    axes = axes_of(call.attributes.get("order"), rank)
    if tiled:
        offsets = list(offsets)
        offsets[axes[1]] *= tile.type.shape[1]
        if axes[0] != axes[1]:
            offsets[axes[0]] *= tile.type.shape[0]
    if not (tile.rows and tile.columns):
        return
    check_extents(call, tensor, offsets, axes, tile.rows, tile.columns)
    if tensor.dtype.facts.bits == PACKED_BITS:
        yield _packed_place(call, tile, tensor, offsets, axes)
    elif getattr(tensor, "layout", TensorLayout.ND) is TensorLayout.NZ:
        yield from _block_places(tile, tensor, offsets)
    else:
        yield Place(tensor, tuple(offsets), axes, tile.rows, tile.columns, slice(tile.rows), slice(tile.columns))


def check_extents(call: Any, tensor: TensorView, offsets: Sequence[int], axes: tuple[int, int], rows: int, columns: int) -> None:
    """Nothing may lie outside the tensor."""
    for axis, (offset, size) in enumerate(zip(offsets, extents_of(tensor), strict=True)):
        extent = columns if axis == axes[1] else rows if axis == axes[0] else 1
        if offset < 0 or offset + extent > size:
            raise WindowLeavesTensor(operation=call.operation, extent=extent, offset=offset, axis=axis, size=size)


def _scale_places(
    call: Any, tile: TileView, tensor: TensorView, offsets: tuple[int, ...], axes: tuple[int, int]
) -> Iterator[Place]:
    """Group k of a block scale lies in pair k // 2, phase k % 2: two windows, of even and of odd groups."""
    along_rows = tile.type.layout is TensorLayout.NN
    for phase in (0, 1):
        rows, columns = (
            (len(range(phase, tile.rows, 2)), tile.columns) if along_rows else (tile.rows, len(range(phase, tile.columns, 2)))
        )
        if not (rows and columns):
            continue
        start = (*offsets[:-1], offsets[-1] + phase)
        check_extents(call, tensor, start, axes, rows, columns)
        row = slice(phase, tile.rows, 2) if along_rows else slice(tile.rows)
        column = slice(tile.columns) if along_rows else slice(phase, tile.columns, 2)
        yield Place(tensor, start, axes, rows, columns, row, column)


def _block_places(tile: TileView, tensor: Any, offsets: Sequence[int]) -> Iterator[Place]:
    """An NZ tensor as [column blocks, rows, columns of a block]: one window per column block."""
    rows, columns = tensor.shape
    width = FRACTAL_COLUMN_BYTES // tensor.numpy_dtype.itemsize
    blocks = tensor.another((columns // width, rows, width), (rows * width, width, 1))
    first, last = offsets[1], offsets[1] + tile.columns
    for block in range(first // width, (last - 1) // width + 1):
        start, stop = max(first, block * width), min(last, (block + 1) * width)
        where = (block, offsets[0], start - block * width)
        yield Place(blocks, where, (1, 2), tile.rows, stop - start, slice(tile.rows), slice(start - first, stop - first))


def _packed_place(call: Any, tile: TileView, tensor: Any, offsets: Sequence[int], axes: tuple[int, int]) -> Place:
    """A window of four-bit elements in bytes. Strides count elements; one axis runs along neighbours, two in a byte."""
    rows, columns = tile.rows, tile.columns
    down, across = tensor.strides[axes[0]], tensor.strides[axes[1]]
    start = sum(offset * stride for offset, stride in zip(offsets, tensor.strides, strict=True))
    if across == 1:
        shape, strides, halves, steps = (rows, -(-columns // 2)), (down // 2, 1), "columns", (start, down, columns)
    else:
        shape, strides, halves, steps = (-(-rows // 2), columns), (1, across // 2), "rows", (start, across, rows)
    if 1 not in (down, across) or any(step % 2 for step in steps):
        raise PackedWindow(operation=call.operation, offset=list(offsets), extent=[rows, columns], strides=[down, across])
    place = tensor.another(shape, strides, start // 2)
    return Place(place, (0, 0), (0, 1), *shape, slice(rows), slice(columns), halves)


def bytes_of(tile: TileView, dtype: DataType) -> float:
    """Bytes that the valid extent of a tile has as elements of ``dtype``."""
    return tile.rows * tile.columns * dtype.facts.bits / 8


def gather(parts: Sequence[Place], rows: int, columns: int, dtype: np.dtype) -> np.ndarray:
    """The values ``[rows, columns]`` that the windows hold."""
    if len(parts) == 1:
        return _read(parts[0])
    values = np.empty((rows, columns), dtype)
    for part in parts:
        values[part.row, part.column] = _read(part)
    return values


def _read(part: Place) -> np.ndarray:
    values = part.tensor.read_window(part.offsets, part.axes, part.rows, part.columns)
    if not part.halves:
        return values
    codes = np.stack((values & 15, values >> 4), axis=1 if part.halves == "rows" else 2)
    return codes.reshape(part.row.stop, part.column.stop)


def scatter(part: Place, values: np.ndarray) -> None:
    """Writes the part of the values ``[rows, columns]`` that lies in a window."""
    piece = values[part.row, part.column]
    if part.halves == "rows":
        piece = piece[0::2] | piece[1::2] << 4
    elif part.halves:
        piece = piece[:, 0::2] | piece[:, 1::2] << 4
    part.tensor.write_window(part.offsets, part.axes, piece)
