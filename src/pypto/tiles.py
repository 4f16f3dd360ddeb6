"""Tile shapes as users hand them over: ``CubeTile``, ``ConvTile`` two records for convolution (tensor API section 7.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from pypto.errors.options import CubeTileLength, NotATile, TileShapeInvalid, TileShapeNotInteger


def positive_sizes(function: str, values: Sequence[Any]) -> tuple[int, ...]:
    """The tile sizes as plain positive integers; a symbolic scalar counts when it is a known number."""
    return tuple(_positive(function, index, value) for index, value in enumerate(values))


def _positive(function: str, index: int, value: Any) -> int:
    if hasattr(value, "concrete"):
        value = value.concrete()
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TileShapeNotInteger(function=function, index=index, got=type(value).__name__)
    if value.__index__() <= 0:
        raise TileShapeInvalid(function=function, index=index, value=value)
    return int(value.__index__())


def _axis(name: str, values: Any, lengths: tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(values, (list, tuple)):
        raise NotATile(function="set_cube_tile_shapes", expected=f"a list for {name}", got=type(values).__name__)
    if len(values) not in lengths:
        expected = f"exactly {lengths[0]}" if len(lengths) == 1 else " or ".join(map(str, lengths))
        raise CubeTileLength(axis=name, expected=expected, got=len(values))
    return positive_sizes("set_cube_tile_shapes", values)


class CubeTile:
    """Tile shape of a matrix multiplication: ``m``, ``n`` as ``[L0, L1]``, ``k`` as ``[L0, L1 of A, L1 of B]`` in elements.

    >>> CubeTile([16, 32], [64, 128], [16, 64]).k
    [64, 128, 128]
    """

    def __init__(self, m: Sequence[int], k: Sequence[int], n: Sequence[int], enable_split_k: bool = False) -> None:
        self.m = list(_axis("m", m, (2,)))
        inner, *outer = _axis("k", k, (2, 3))
        self.k = [inner, outer[0], outer[-1]]
        self.n = list(_axis("n", n, (2,)))
        self.enableSplitK = bool(enable_split_k)

    def impl(self) -> CubeTile:
        return self

    def as_tuple(self) -> tuple[list[int], list[int], list[int], bool]:
        return list(self.m), list(self.k), list(self.n), self.enableSplitK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CubeTile) and self.as_tuple() == other.as_tuple()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"CubeTile(m={self.m}, k={self.k}, n={self.n}, enable_split_k={self.enableSplitK})"


@dataclass(frozen=True)
class TileL1Info:
    """L1 tile of a convolution, sizes in elements."""

    tileHin: int
    tileHout: int
    tileWin: int
    tileWout: int
    tileCinFmap: int
    tileCinWeight: int
    tileN: int
    tileBatch: int

    def __post_init__(self) -> None:
        positive_sizes("set_conv_tile_shapes", astuple(self))


@dataclass(frozen=True)
class TileL0Info:
    """L0 tile of a convolution, sizes in elements."""

    tileH: int
    tileW: int
    tileK: int
    tileN: int

    def __post_init__(self) -> None:
        positive_sizes("set_conv_tile_shapes", astuple(self))


class ConvTile:
    """Tile shape of a convolution; without an L0 part it is chosen automatically."""

    def __init__(self, tile_l1_info: TileL1Info, tile_l0_info: TileL0Info | None = None, set_l0_tile: bool | None = None) -> None:
        if not isinstance(tile_l1_info, TileL1Info):
            raise NotATile(function="ConvTile", expected="a pypto.pypto_impl.TileL1Info", got=type(tile_l1_info).__name__)
        if tile_l0_info is not None and not isinstance(tile_l0_info, TileL0Info):
            raise NotATile(function="ConvTile", expected="a pypto.pypto_impl.TileL0Info", got=type(tile_l0_info).__name__)
        self.tile_l1_info = tile_l1_info
        self.tile_l0_info = tile_l0_info
        self.set_l0_tile = tile_l0_info is not None if set_l0_tile is None else bool(set_l0_tile)

    @property
    def tileL1Info(self) -> TileL1Info:
        return self.tile_l1_info

    @property
    def tileL0Info(self) -> TileL0Info | None:
        return self.tile_l0_info

    @property
    def setL0Tile(self) -> bool:
        return self.set_l0_tile

    def impl(self) -> ConvTile:
        return self

    def as_tuple(self) -> tuple[TileL1Info, TileL0Info | None, bool]:
        return self.tile_l1_info, self.tile_l0_info, self.set_l0_tile

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConvTile) and self.as_tuple() == other.as_tuple()

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def __repr__(self) -> str:
        return f"ConvTile({self.tile_l1_info}, {self.tile_l0_info}, set_l0_tile={self.set_l0_tile})"
