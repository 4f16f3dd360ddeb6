"""What the engine holds: values with their valid extent, storages with a record of what was written.

Everything undefined is poisoned: NaN for floats, a conspicuous pattern for integers, so that a result that depends on it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pypto.dtypes import BY_NUMPY
from pypto.errors.runtime import IndexOutOfBounds, ReadUnwritten, RegionOutOfBounds

PATTERN = 0xA5  # every byte of a poisoned integer


def poisoned(shape: Sequence[int], dtype: np.dtype, poison: bool = True) -> np.ndarray:
    """A new array of undefined contents (zeros when ``poison`` is off)."""
    array = np.zeros(shape, dtype)
    if poison:
        poison_array(array)
    return array


def poison_array(array: np.ndarray) -> None:
    """Overwrite a whole array with poison."""
    known = BY_NUMPY.get(array.dtype)
    if known is not None and known.is_float:
        array[...] = np.float32(np.nan).astype(array.dtype)
    elif array.dtype == np.bool_:
        array[...] = True
    else:
        array[...] = np.frombuffer(bytes([PATTERN]) * array.itemsize, array.dtype)[0]


def window(offsets: Sequence[int], extent: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(o, o + e) for o, e in zip(offsets, extent, strict=True))


@dataclass(frozen=True)
class Held:
    """A value: an array of the full shape and how much of it is valid."""

    array: np.ndarray
    valid: tuple[int, ...]

    @classmethod
    def of(cls, region: np.ndarray, shape: Sequence[int], poison: bool) -> Held:
        """``region`` placed at the origin of a poisoned array of ``shape``."""
        array = poisoned(shape, region.dtype, poison)
        array[tuple(slice(0, e) for e in region.shape)] = region
        return cls(array, tuple(region.shape))

    @property
    def region(self) -> np.ndarray:
        return self.array[tuple(slice(0, e) for e in self.valid)]

    def element(self, indices: Sequence[int]) -> np.generic:
        check_indices("read", indices, self.valid)
        return self.array[tuple(indices)]


class Memory:
    """A storage: an array, and which elements hold data (all of a parameter's do)."""

    def __init__(self, name: str, array: np.ndarray, written: np.ndarray) -> None:
        self.name = name
        self.array = array
        self.written = written

    @classmethod
    def parameter(cls, name: str, array: np.ndarray) -> Memory:
        return cls(name, array, np.broadcast_to(np.True_, array.shape))

    @classmethod
    def local(cls, name: str, shape: Sequence[int], dtype: np.dtype, poison: bool) -> Memory:
        return cls(name, poisoned(shape, dtype, poison), np.zeros(shape, np.bool_))

    def reshaped(self, name: str, shape: Sequence[int]) -> Memory:
        """The same bytes in another shape."""
        written = self.written.reshape(shape) if self.written.flags.writeable else np.broadcast_to(np.True_, tuple(shape))
        return Memory(name, self.array.reshape(shape), written)

    def load(self, offsets: Sequence[int], extent: Sequence[int]) -> np.ndarray:
        place = self._place("read", offsets, extent)
        self._check_written(place)
        return self.array[place].copy()

    def store(self, offsets: Sequence[int], region: np.ndarray) -> None:
        place = self._place("write", offsets, region.shape)
        self.array[place] = region
        self._mark(place)

    def element(self, indices: Sequence[int]) -> np.generic:
        check_indices(f"read of '{self.name}'", indices, self.array.shape)
        self._check_written(tuple(slice(i, i + 1) for i in indices))
        return self.array[tuple(indices)]

    def set_element(self, indices: Sequence[int], value: np.ndarray) -> None:
        check_indices(f"write to '{self.name}'", indices, self.array.shape)
        self.array[tuple(indices)] = value
        self._mark(tuple(indices))

    def _place(self, action: str, offsets: Sequence[int], extent: Sequence[int]) -> tuple[slice, ...]:
        """The window as slices; an empty one may lie anywhere."""
        if 0 in extent:
            return tuple(slice(0, 0 if e == 0 else min(e, size)) for e, size in zip(extent, self.array.shape, strict=True))
        for axis, (offset, length, size) in enumerate(zip(offsets, extent, self.array.shape, strict=True)):
            if offset < 0 or offset + length > size:
                facts = {"action": action, "extent": length, "offset": offset, "axis": axis, "size": size}
                raise RegionOutOfBounds(tensor=self.name, **facts)
        return window(offsets, extent)

    def _check_written(self, place: tuple[slice, ...]) -> None:
        known = self.written[place]
        if not known.all():
            first = [int(i) for i in np.argwhere(~known)[0]]
            raise ReadUnwritten(tensor=self.name, position=[f + p.start for f, p in zip(first, place, strict=True)])

    def _mark(self, place: tuple[int | slice, ...]) -> None:
        if self.written.flags.writeable:
            self.written[place] = True


def check_indices(operation: str, indices: Sequence[int], sizes: Sequence[int]) -> None:
    """Indices of one element, each inside its axis."""
    for axis, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        if not 0 <= index < size:
            raise IndexOutOfBounds(operation=operation, index=index, axis=axis, size=size)
