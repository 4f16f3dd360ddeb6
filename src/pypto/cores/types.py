"""Types of the tile level: what a tile, a tensor in global memory, a pointer, a struct is known to be before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from pypto.cores.enums import MemorySpace, TensorLayout, TilePad
from pypto.dtypes import DataType

INDEX = DataType.DT_INT64  # loop variables, integer constants and extents are 64-bit (tile API section 1.5)


@dataclass(frozen=True)
class Tile:
    """A two-dimensional tile: ``shape`` in elements, where it lives and how its elements are placed.

    ``valid`` is the constant valid extent, or None where the extent is a run-time fact of the tile (then it starts full).
    ``fractal`` is the size of a block in bytes (512; 1024 for a 4-byte accumulator; 32 for block scales); 0 where the layout has no blocks.
    """

    shape: tuple[int, int]
    dtype: DataType
    space: MemorySpace = MemorySpace.Vec
    layout: TensorLayout = TensorLayout.ND
    fractal: int = 0
    pad: TilePad = TilePad.null
    compact: int = 0
    valid: tuple[int, int] | None = None

    @property
    def bits(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.facts.bits

    @property
    def bytes(self) -> int:
        """Bytes that the tile occupies when nothing else is said."""
        return (self.bits + 7) // 8


@dataclass(frozen=True)
class Group:
    """A ring of tiles of one type. ``ids`` are the buffer tokens of each tile (the same count for all), () where it has none."""

    tile: Tile
    depth: int
    ids: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Tensor:
    """A tensor in global memory. An axis is a number, or the name of a run-time extent."""

    shape: tuple[int | str, ...]
    dtype: DataType
    layout: TensorLayout = TensorLayout.ND


@dataclass(frozen=True)
class Pointer:
    """An address in global memory, counted in elements of ``dtype``."""

    dtype: DataType


@dataclass(frozen=True)
class Scalar:
    """A run-time number in a register of the scalar unit."""

    dtype: DataType


@dataclass(frozen=True)
class Struct:
    """A mutable record on the scalar unit. ``fields``: name, dtype, and the length of an array field or None."""

    name: str
    fields: tuple[tuple[str, DataType, int | None], ...]
    count: int | None = None  # of a struct array


Type = Union[Tile, Group, Tensor, Pointer, Scalar, Struct]
