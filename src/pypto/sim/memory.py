"""Memories of a core as bytes, and the views that operations read and write: tiles on chip, tensors in global memory.

Tiles of different layout and type may lie over the same bytes; what one writes the other reads, as on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pypto.cores.enums import TensorLayout
from pypto.cores.layout import Placement, placement_of
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors.simulation import RectangleOutsideTile, WindowOutsideMemory
from pypto.sim.pieces import Cut, cuts


class TileMemory:
    """A tile over ``memory`` (bytes of one on-chip memory) from ``address`` on.

    ``strides`` (elements) are those of a wider tile of which this one is a window; None for a tile of its own. ``rows`` and ``columns``
    are the valid extents. ``name`` and ``ids`` (buffer tokens) are for reports and locks; ``domain`` is where hazards are watched.
    """

    __slots__ = (
        "_blocks",
        "_pieces",
        "address",
        "columns",
        "domain",
        "flat",
        "footprint",
        "ids",
        "memory",
        "name",
        "numpy_dtype",
        "placement",
        "rows",
        "type",
        "windows",
    )

    def __init__(
        self,
        memory: np.ndarray,
        type: Tile,
        address: int,
        strides: tuple[int, int] | None = None,
        *,
        name: str = "",
        ids: tuple[int, ...] = (),
        domain: Any = None,
    ) -> None:
        self.type = type
        self.memory = memory
        self.address = address
        self.name, self.ids, self.domain = name, ids, domain
        self.numpy_dtype = stored(type.dtype)
        self.placement = _placement(type, strides)
        self.rows, self.columns = type.valid or type.shape
        self._pieces: dict[tuple[int, int, int, int], list[tuple[np.ndarray, Cut, Cut]]] = {}
        self.windows: dict[tuple[int, int, int, int], TileMemory] = {}
        self.footprint: Any = None  # of the valid region; forgotten when that changes
        self._attach()

    def _attach(self) -> None:
        place, size = self.placement, self.numpy_dtype.itemsize
        end = min(self.address + _reach(place) * size, len(self.memory))
        self.flat = self.memory[self.address : end].view(self.numpy_dtype)
        shape = (place.blocks[0], place.rows, place.blocks[1], place.columns)
        words = self.flat.view(f"V{size}")  # numpy knows no strided views of some of the 8-bit floats
        self._blocks = as_strided(words, shape, tuple(stride * size for stride in place.strides)).view(self.numpy_dtype)

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.address + (_reach(self.placement) * self.type.dtype.facts.bits + 7) // 8

    def set_valid(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.footprint = None

    def twin(self, memory: np.ndarray | None = None, domain: Any = None) -> TileMemory:
        """The same tile as it is now, or in another memory: later changes of valid extents do not reach it."""
        place = self.placement
        strides = None if place == _placement(self.type, None) else (place.strides[1], place.strides[3])
        found = type(self)(self.memory if memory is None else memory, self.type, self.address, strides)
        found.name, found.ids, found.domain = self.name, self.ids, domain or self.domain
        found.set_valid(self.rows, self.columns)
        return found

    def window(self, row: int, row_end: int, column: int, column_end: int) -> TileMemory:
        """Part of the tile, over the same bytes (ND and DN). Valid there: what is valid here."""
        key = (row, row_end, column, column_end)
        found = self.windows.get(key)
        if found is None:
            found = self.windows[key] = self._part(*key)
        valid = (max(0, min(row_end, self.rows) - row), max(0, min(column_end, self.columns) - column))
        if (found.rows, found.columns) != valid:
            found.set_valid(*valid)
        return found

    def _part(self, row: int, row_end: int, column: int, column_end: int) -> TileMemory:
        self._require(row, column, row_end - row, column_end - column)
        _, down, _, across = self.placement.strides
        kind = Tile((row_end - row, column_end - column), self.type.dtype, self.type.space, self.type.layout, pad=self.type.pad)
        address = self.address + self.placement.element(row, column) * self.type.dtype.facts.bits // 8
        name = f"{self.name}[{row}:{row_end}, {column}:{column_end}]"
        return type(self)(self.memory, kind, address, (down, across), name=name, ids=self.ids, domain=self.domain)

    # -- values ---------------------------------------------------------------------------------------------------------------

    def read(self) -> np.ndarray:
        return self.read_block(0, 0, self.rows, self.columns)

    def write(self, values: Any) -> None:
        if self.placement.plain:
            self._blocks[0, : self.rows, 0, : self.columns] = values
        else:
            self.write_block(0, 0, np.broadcast_to(values, (self.rows, self.columns)))

    def target(self) -> np.ndarray | None:
        """The valid region to write into directly, or None where it is not one strided rectangle."""
        return self._blocks[0, : self.rows, 0, : self.columns] if self.placement.plain else None

    def read_block(self, row: int, column: int, rows: int, columns: int) -> np.ndarray:
        if self.placement.plain:
            found = self._blocks[0, row : row + rows, 0, column : column + columns]
            if found.shape != (rows, columns):
                self._require(row, column, rows, columns)
            return found
        pieces = self._cut(row, column, rows, columns)
        if len(pieces) == 1:
            return pieces[0][0].reshape(rows, columns)
        values = np.empty((rows, columns), self.numpy_dtype)
        for view, down, across in pieces:
            values[down.out, across.out] = view.reshape(down.count, across.count)
        return values

    def write_block(self, row: int, column: int, values: np.ndarray) -> None:
        rows, columns = values.shape
        if self.placement.plain:
            target = self._blocks[0, row : row + rows, 0, column : column + columns]
            if target.shape != (rows, columns):
                self._require(row, column, rows, columns)
            target[:] = values
            return
        for view, down, across in self._cut(row, column, rows, columns):
            view[:] = values[down.out, across.out].reshape(view.shape)

    def _cut(self, row: int, column: int, rows: int, columns: int) -> list[tuple[np.ndarray, Cut, Cut]]:
        """Views of the rectangle, one per run of whole blocks or part of a block, and where they lie in it."""
        key = (row, column, rows, columns)
        found = self._pieces.get(key)
        if found is None:
            self._require(*key)
            place = self.placement
            found = self._pieces[key] = [
                (self._blocks[down.blocks, down.inner, across.blocks, across.inner], down, across)
                for down in cuts(row, rows, place.rows)
                for across in cuts(column, columns, place.columns)
            ]
        return found

    def _require(self, row: int, column: int, rows: int, columns: int) -> None:
        place = self.placement
        height, width = place.rows * place.blocks[0], place.columns * place.blocks[1]
        if min(row, column, rows, columns) < 0 or row + rows > height or column + columns > width:
            raise RectangleOutsideTile(
                rows=rows, columns=columns, row=row, column=column, name=self.name or "the tile", shape=list(self.type.shape)
            )


def stored(dtype: DataType) -> np.dtype:
    """numpy type of the values of a tile: that of the element, or bytes of its code where numpy has none."""
    return np.dtype(np.uint8) if dtype.facts.numpy is None else np.dtype(dtype.facts.numpy)


def _placement(type: Tile, strides: tuple[int, int] | None) -> Placement:
    if strides is None:
        return placement_of(type)
    return Placement(*type.shape, (1, 1), (0, strides[0], 0, strides[1]))


def _reach(place: Placement) -> int:
    """Elements from the first to the last one."""
    steps = zip((place.blocks[0], place.rows, place.blocks[1], place.columns), place.strides, strict=True)
    return 1 + sum((count - 1) * stride for count, stride in steps)


class PackedTile(TileMemory):
    """A tile of four-bit elements, two in a byte, the first in the low half. Values are codes (int4: numbers)."""

    __slots__ = ()

    def _attach(self) -> None:
        self.flat = self.memory[self.address : self.end]

    def target(self) -> np.ndarray | None:
        return None

    def write(self, values: Any) -> None:
        self.write_block(0, 0, np.broadcast_to(values, (self.rows, self.columns)))

    def read_block(self, row: int, column: int, rows: int, columns: int) -> np.ndarray:
        self._require(row, column, rows, columns)
        codes = self._codes()[self._offsets(row, column, rows, columns)]
        if self.type.dtype is DataType.DT_INT4:
            return ((codes ^ 8).astype(np.int8) - 8).astype(self.numpy_dtype)
        return codes

    def write_block(self, row: int, column: int, values: np.ndarray) -> None:
        rows, columns = values.shape
        self._require(row, column, rows, columns)
        codes = self._codes()
        codes[self._offsets(row, column, rows, columns)] = values.astype(np.int8).view(np.uint8) & 15
        self.flat[:] = codes[0::2] | codes[1::2] << 4

    def _codes(self) -> np.ndarray:
        codes = np.empty(2 * len(self.flat), np.uint8)
        codes[0::2], codes[1::2] = self.flat & 15, self.flat >> 4
        return codes

    def _offsets(self, row: int, column: int, rows: int, columns: int) -> np.ndarray:
        return self.placement.element(np.arange(row, row + rows)[:, None], np.arange(column, column + columns)[None, :])  # type: ignore[arg-type, return-value]


def tile_over(memory: np.ndarray, type: Tile, address: int, **facts: Any) -> TileMemory:
    """The view that fits the element type."""
    kind = PackedTile if type.dtype.facts.bits == 4 else TileMemory
    return kind(memory, type, address, **facts)


class TensorMemory:
    """A tensor over flat global memory: ``flat`` is a numpy array of its elements, ``offset`` and ``strides`` count elements.

    ``domain`` and ``origin`` (bytes) say where ``flat`` begins in the memory that is watched for hazards. A pointer has no shape.
    """

    __slots__ = ("domain", "dtype", "flat", "layout", "name", "null", "numpy_dtype", "offset", "origin", "shape", "strides")

    def __init__(
        self, flat: np.ndarray, shape: Sequence[int], dtype: DataType, strides: Sequence[int] | None = None, offset: int = 0
    ) -> None:
        self.flat = flat
        self.dtype = dtype
        self.numpy_dtype = flat.dtype
        self.shape = tuple(shape)
        self.strides = tuple(strides) if strides is not None else _contiguous(self.shape)
        self.offset = offset
        self.layout = TensorLayout.ND
        self.name, self.null = "the tensor", False
        self.domain: Any = None
        self.origin = 0

    def another(self, shape: Sequence[int], strides: Sequence[int] | None, offset: int = 0) -> TensorMemory:
        """Another shape over the same elements, ``offset`` elements further on."""
        found = TensorMemory(self.flat, shape, self.dtype, strides, self.offset + offset)
        found.name, found.null, found.domain, found.origin = self.name, self.null, self.domain, self.origin
        if len(found.shape) == len(self.shape):  # another rank has axes of its own
            found.layout = self.layout
        return found

    def retyped(self, dtype: DataType) -> TensorMemory:
        """The same address, counted in elements of another type; shape and strides stay."""
        size, start = stored(dtype).itemsize, self.offset * self.numpy_dtype.itemsize
        raw = self.flat.view(np.uint8)[start:]
        found = TensorMemory(raw[: len(raw) // size * size].view(stored(dtype)), self.shape, dtype, self.strides)
        found.name, found.null, found.domain, found.origin = self.name, self.null, self.domain, self.origin + start
        found.layout = self.layout
        return found

    def span(self, offsets: Sequence[int], axes: tuple[int, int], rows: int, columns: int) -> tuple[int, int, int]:
        """First element, row stride and column stride of a window, which must lie in the memory."""
        start = self.offset
        for offset, stride in zip(offsets, self.strides, strict=False):
            start += offset * stride
        down, across = self.strides[axes[0]], self.strides[axes[1]]
        last = start + (rows - 1) * down + (columns - 1) * across
        if start < 0 or last >= len(self.flat):
            raise WindowOutsideMemory(
                name=self.name, offsets=list(offsets), extent=[rows, columns], shape=list(self.shape), elements=len(self.flat)
            )
        return start, down, across

    def window(self, offsets: Sequence[int], axes: tuple[int, int], rows: int, columns: int) -> np.ndarray:
        """The strided view. Raises ``WindowOutsideMemory``."""
        start, down, across = self.span(offsets, axes, rows, columns)
        size = self.numpy_dtype.itemsize
        return np.ndarray((rows, columns), self.numpy_dtype, self.flat, start * size, (down * size, across * size))

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
