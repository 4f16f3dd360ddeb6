"""Where the elements of a tile lie: every layout as one strided view of four axes (block row, row, block column, column).

NZ: fractals of 16 rows by 32 bytes, row-major inside, one column of blocks after the other; ZN of a shape are the bytes of NZ of the
transposed shape; ZZ and NN the same with the other block order (tile API section 1.7).

>>> from pypto.cores.enums import TensorLayout
>>> placement((32, 16), 2, TensorLayout.NZ).element(17, 3)
275
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pypto.cores.enums import TensorLayout
from pypto.cores.types import Tile

FRACTAL_ROWS = 16  # tile API section 1.7
FRACTAL_COLUMN_BYTES = 32
SCALE_FRACTAL_COLUMNS = 2  # block scales: 16 x 2 bytes (fractal 32)


@dataclass(frozen=True)
class Placement:
    """Element strides of a tile. ``rows`` and ``columns`` are those of a block; ``blocks`` how many of them lie down and across."""

    rows: int
    columns: int
    blocks: tuple[int, int]
    strides: tuple[int, int, int, int]  # block row, row, block column, column

    @property
    def plain(self) -> bool:
        return self.blocks == (1, 1)

    @property
    def elements(self) -> int:
        """Elements from the first to the last, blocks padded."""
        return self.blocks[0] * self.blocks[1] * self.rows * self.columns

    def element(self, row: int, column: int) -> int:
        """Distance of an element from the first one, in elements."""
        block_row, down, block_column, across = self.strides
        return (
            (row // self.rows) * block_row
            + (row % self.rows) * down
            + (column // self.columns) * block_column
            + (column % self.columns) * across
        )

    def offsets(self) -> np.ndarray:
        """``element(row, column)`` for all of them, blocks padded: [rows, columns]."""
        row = np.arange(self.blocks[0] * self.rows)[:, None]
        column = np.arange(self.blocks[1] * self.columns)[None, :]
        return self.element(row, column)  # type: ignore[arg-type, return-value]


@cache
def placement(shape: tuple[int, int], size: float, layout: TensorLayout, fractal: int = 0) -> Placement:
    """How a tile of ``shape`` with elements of ``size`` bytes (0.5 for four bits) is placed."""
    rows, columns = shape
    if layout is TensorLayout.ND:
        return Placement(rows, columns, (1, 1), (0, columns, 0, 1))
    if layout is TensorLayout.DN:
        return Placement(rows, columns, (1, 1), (0, 1, 0, rows))
    if layout in (TensorLayout.ZN, TensorLayout.NN):  # the transposed shape in NZ or ZZ
        twin = TensorLayout.NZ if layout is TensorLayout.ZN else TensorLayout.ZZ
        other = placement((columns, rows), size, twin, fractal)
        block_row, down, block_column, across = other.strides
        return Placement(other.columns, other.rows, other.blocks[::-1], (block_column, across, block_row, down))
    return _fractals(shape, _block_columns(size, fractal), layout)


def placement_of(tile: Tile) -> Placement:
    """How a tile of a type is placed when it is not part of a wider one."""
    bits = tile.dtype.facts.bits
    return placement(tile.shape, bits // 8 or bits / 8, tile.layout, tile.fractal)


def bytes_of(tile: Tile) -> int:
    """Bytes that a tile occupies, blocks padded."""
    return (placement_of(tile).elements * tile.dtype.facts.bits + 7) // 8


def _block_columns(size: float, fractal: int) -> int:
    if fractal == FRACTAL_ROWS * SCALE_FRACTAL_COLUMNS:
        return SCALE_FRACTAL_COLUMNS
    if fractal == 1024 and size == 4:  # an accumulator: 16 x 16 elements of four bytes
        return 16
    return int(FRACTAL_COLUMN_BYTES // size)


def _fractals(shape: tuple[int, int], width: int, layout: TensorLayout) -> Placement:
    down, across = -(-shape[0] // FRACTAL_ROWS), -(-shape[1] // width)
    block = FRACTAL_ROWS * width
    if layout is TensorLayout.NZ:  # blocks of one column lie behind one another: all rows are one block
        return Placement(down * FRACTAL_ROWS, width, (1, across), (0, width, down * block, 1))
    return Placement(FRACTAL_ROWS, width, (down, across), (across * block, width, block, 1))
