"""Memories of a core as bytes, and the views that operations read and write: tiles on chip, tensors in global memory.

Tiles of different layout and type may lie over the same bytes; what one writes the other reads, as on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pypto.cores.layout import Placement, placement
from pypto.cores.types import Tile
from pypto.dtypes import DataType


class TileMemory:
    """A tile over ``memory`` (bytes of one on-chip memory) from ``address`` on.

    ``row_stride`` (elements) is that of a wider tile of which this one is a window; None for a tile of its own.
    """

    __slots__ = ("_blocks", "_offsets", "address", "columns", "flat", "memory", "numpy_dtype", "placement", "rows", "type")

    def __init__(self, memory: np.ndarray, type: Tile, address: int, row_stride: int | None = None) -> None:
        self.type = type
        self.memory = memory
        self.address = address
        self.numpy_dtype = np.dtype(type.dtype.facts.numpy)
        self.placement = _placement(type, self.numpy_dtype.itemsize, row_stride)
        self.rows, self.columns = type.valid or type.shape
        count = self.placement.elements if row_stride is None else (type.shape[0] - 1) * row_stride + type.shape[1]
        self.flat = memory[address : address + count * self.numpy_dtype.itemsize].view(self.numpy_dtype)
        place, size = self.placement, self.numpy_dtype.itemsize
        shape = (place.blocks[0], place.rows, place.blocks[1], place.columns)
        self._blocks = as_strided(self.flat, shape, tuple(stride * size for stride in place.strides))
        self._offsets: np.ndarray | None = None

    def set_valid(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns

    def read(self) -> np.ndarray:
        return self.read_block(0, 0, self.rows, self.columns)

    def write(self, values: Any) -> None:
        if self.placement.plain:
            self._blocks[0, : self.rows, 0, : self.columns] = values
        else:
            self.write_block(0, 0, np.broadcast_to(values, (self.rows, self.columns)))

    def read_block(self, row: int, column: int, rows: int, columns: int) -> np.ndarray:
        place = self.placement
        if place.plain:
            return self._blocks[0, row : row + rows, 0, column : column + columns]
        whole = self._blocks.reshape(place.blocks[0] * place.rows, place.blocks[1] * place.columns)
        return whole[row : row + rows, column : column + columns]

    def write_block(self, row: int, column: int, values: np.ndarray) -> None:
        place = self.placement
        rows, columns = values.shape
        if place.plain:
            self._blocks[0, row : row + rows, 0, column : column + columns] = values
        elif row == column == 0 and rows == place.blocks[0] * place.rows and columns == place.blocks[1] * place.columns:
            self._blocks[:] = values.reshape(self._blocks.shape)
        else:
            self.flat[self.offsets()[row : row + rows, column : column + columns]] = values

    def offsets(self) -> np.ndarray:
        """Element offsets of the physical tile, computed when first asked."""
        if self._offsets is None:
            self._offsets = self.placement.offsets()
        return self._offsets


def _placement(type: Tile, size: int, row_stride: int | None) -> Placement:
    if row_stride is None:
        return placement(type.shape, size, type.layout, type.fractal)
    return Placement(*type.shape, (1, 1), (0, row_stride, 0, 1))


class TensorMemory:
    """A tensor over flat global memory: ``flat`` is a numpy array of its elements, ``offset`` and ``strides`` count elements."""

    __slots__ = ("dtype", "flat", "numpy_dtype", "offset", "shape", "strides")

    def __init__(
        self, flat: np.ndarray, shape: Sequence[int], dtype: DataType, strides: Sequence[int] | None = None, offset: int = 0
    ) -> None:
        self.flat = flat
        self.dtype = dtype
        self.numpy_dtype = flat.dtype
        self.shape = tuple(shape)
        self.strides = tuple(strides) if strides is not None else _contiguous(self.shape)
        self.offset = offset

    def window(self, offsets: Sequence[int], axes: tuple[int, int], rows: int, columns: int) -> np.ndarray:
        """The strided view; its bounds are the caller's to check."""
        start = self.offset + sum(offset * stride for offset, stride in zip(offsets, self.strides, strict=False))
        size = self.numpy_dtype.itemsize
        return as_strided(self.flat[start:], (rows, columns), (self.strides[axes[0]] * size, self.strides[axes[1]] * size))

    def read_window(self, offsets: Sequence[int], axes: tuple[int, int], rows: int, columns: int) -> np.ndarray:
        return self.window(offsets, axes, rows, columns)

    def write_window(self, offsets: Sequence[int], axes: tuple[int, int], values: np.ndarray) -> None:
        self.window(offsets, axes, *values.shape)[:] = values


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
