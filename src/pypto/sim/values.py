"""What the scalar unit holds and computes at run time: rings of tiles, records, integers of the machine's widths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.errors.simulation import ElementIndex, GroupIndex, LoopStep, ScalarDivision
from pypto.sim.memory import TensorMemory, TileMemory


class Ring:
    """A group of tiles with a cursor, which stands on the last one at first."""

    __slots__ = ("cursor", "name", "tiles")

    def __init__(self, name: str, tiles: Sequence[TileMemory]) -> None:
        self.name, self.tiles = name, tuple(tiles)
        self.cursor = len(tiles) - 1

    def next(self) -> TileMemory:
        self.cursor = cursor = (self.cursor + 1) % len(self.tiles)
        return self.tiles[cursor]

    def current(self) -> TileMemory:
        return self.tiles[self.cursor]

    def previous(self) -> TileMemory:
        return self.tiles[self.cursor - 1]

    def at(self, index: int) -> TileMemory:
        if not 0 <= index < len(self.tiles):
            raise GroupIndex(index=index, count=len(self.tiles), name=self.name)
        return self.tiles[index]

    def set_valid(self, rows: int, columns: int) -> None:
        for tile in self.tiles:
            tile.set_valid(rows, columns)


class Record:
    """A struct of the scalar unit; array fields are lists."""

    def __init__(self, kind: str, values: dict[str, Any]) -> None:
        self._kind = kind
        for name, value in values.items():
            setattr(self, name, list(value) if isinstance(value, (tuple, list, np.ndarray)) else value)


def element(array: Sequence[Any], index: int, name: str) -> Any:
    """``array[index]`` with the bounds of the machine: no negative indices."""
    if not 0 <= index < len(array):
        raise ElementIndex(index=index, name=name, count=len(array))
    return array[index]


def set_element(array: list[Any], index: int, value: Any, name: str) -> None:
    element(array, index, name)
    array[index] = value


def quotient(left: Any, right: Any) -> Any:
    """Integer division toward zero, as C does; of floats the floor.

    >>> quotient(-7, 2)
    -3
    """
    if right == 0:
        raise ScalarDivision()
    if isinstance(left, float) or isinstance(right, float):
        return single(math.floor(left / right))
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def remainder(left: Any, right: Any) -> Any:
    """What is left after ``quotient``: has the sign of ``left``."""
    if right == 0:
        raise ScalarDivision()
    if isinstance(left, float) or isinstance(right, float):
        return single(math.fmod(left, right))
    return left - quotient(left, right) * right


def ratio(left: Any, right: Any) -> float:
    """``/``: fp32, with the infinities of the machine."""
    with np.errstate(all="ignore"):
        return float(np.float32(left) / np.float32(right))


def single(value: Any) -> float:
    """Rounded to fp32."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def wrapped(value: int, bits: int, signed: bool) -> int:
    """An integer as a register of ``bits`` holds it.

    >>> wrapped(2**31, 32, True)
    -2147483648
    """
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def converted(value: Any, dtype: DataType) -> Any:
    """A scalar as a number of another type; floats lose their fraction on the way to integers."""
    if dtype is DataType.DT_BOOL:
        return bool(value)
    if dtype.is_float:
        return float(np.dtype(dtype.facts.numpy or np.float32).type(np.float32(value)))
    number = 0 if value != value else int(max(-(2.0**63), min(value, 2.0**63)) if isinstance(value, float) else value)
    return wrapped(number, dtype.facts.bits, not dtype.is_unsigned)


def is_null(value: Any) -> bool:
    return value is None or (isinstance(value, TensorMemory) and value.null)


def steps(start: int, stop: int, step: int) -> range:
    """The values of a loop variable."""
    if step == 0:
        raise LoopStep()
    return range(int(start), int(stop), int(step))
