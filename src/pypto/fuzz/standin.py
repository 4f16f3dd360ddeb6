"""The names of ``pypto`` that generated kernels use, in numpy and plain Python: the outside judge of loops and branches.

Nothing is traced: a kernel executed with this module in the place of ``pypto`` simply runs, one iteration after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

DT_FP32 = np.dtype(np.float32)
DT_INT32 = np.dtype(np.int32)
DYNAMIC = -1
DYN = -1


class Tensor:
    """A tensor as the kernel holds it. ``data`` is shared with the caller only for parameters."""

    def __init__(self, shape: Any = None, dtype: Any = DT_FP32, name: str = "", data: Any = None) -> None:
        self.data = np.zeros([max(0, n) for n in shape or []], dtype) if data is None else data

    @property
    def shape(self) -> list[int]:
        return list(self.data.shape)

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if all(isinstance(k, int) for k in keys):
            return int(self.data[keys])
        return Tensor(data=self.data[keys].copy())

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        self.data[keys] = value.data if isinstance(value, Tensor) else value

    def move(self, value: Tensor) -> None:
        self.data[...] = value.data

    def assemble(self, value: Tensor, offsets: Sequence[int]) -> None:
        region = tuple(slice(o, o + n) for o, n in zip(offsets, value.data.shape, strict=True))
        self.data[region] = value.data

    def _with(self, other: Any, function: Any) -> Tensor:
        number = other.data if isinstance(other, Tensor) else self.data.dtype.type(other)
        return Tensor(data=function(self.data, number))

    def __add__(self, other: Any) -> Tensor:
        return self._with(other, np.add)

    def __sub__(self, other: Any) -> Tensor:
        return self._with(other, np.subtract)

    def __mul__(self, other: Any) -> Tensor:
        return self._with(other, np.multiply)

    def __neg__(self) -> Tensor:
        return Tensor(data=-self.data)

    __radd__ = __add__
    __rmul__ = __mul__


tensor = Tensor


class SymbolicScalar(int):
    """Annotation of run-time scalars; in plain Python an int is an int."""


class Index(int):
    """A loop index that knows whether its chunk holds the first or the last index of its loop."""

    first: bool
    last: bool


def _index(value: int, first: bool, last: bool) -> Index:
    index = Index(value)
    index.first, index.last = first, last
    return index


def _range(bounds: tuple[int, ...]) -> range:
    return range(*(int(b) for b in bounds))


def loop(*bounds: int, **keywords: Any) -> Iterator[Index]:
    """``range(start, stop, step)``, whatever the unroll list."""
    visited = _range(bounds)
    for position, value in enumerate(visited):
        yield _index(value, position == 0, position == len(visited) - 1)


def loop_unroll(*bounds: int, unroll_list: Sequence[int] = (1,), **keywords: Any) -> Iterator[tuple[Index, int]]:
    """Chunks: the given factors and 1, largest first, each covering as many whole chunks as remain."""
    visited, position = _range(bounds), 0
    for factor in sorted({*unroll_list, 1}, reverse=True):
        while len(visited) - position >= factor:
            end = position + factor
            yield _index(visited[position], position == 0, end == len(visited)), factor
            position = end


def is_loop_begin(index: Index) -> bool:
    return index.first


def is_loop_end(index: Index) -> bool:
    return index.last


def cond(condition: Any) -> Any:
    return condition


def zeros(*size: int, dtype: Any = DT_FP32) -> Tensor:
    return Tensor(size, dtype)


def full(size: Sequence[int], value: Any, dtype: Any) -> Tensor:
    return Tensor(data=np.full(size, value, dtype))


def maximum(a: Tensor, b: Any) -> Tensor:
    return a._with(b, np.maximum)


def minimum(a: Tensor, b: Any) -> Tensor:
    return a._with(b, np.minimum)


def view(x: Tensor, shape: Sequence[int], offsets: Sequence[int], *, valid_shape: Any = None) -> Tensor:
    return x[tuple(slice(o, o + n) for o, n in zip(offsets, shape, strict=True))]


def assemble(value: Tensor, offsets: Sequence[int], out: Tensor) -> None:
    out.assemble(value, offsets)


def set_vec_tile_shapes(*shape: int) -> None:
    """Tile shapes are advice; plain Python needs none."""


min = min
max = max


def _held(argument: Any) -> Any:
    return Tensor(data=argument) if isinstance(argument, np.ndarray) else argument


class _Frontend:
    @staticmethod
    def jit(function: Any = None, **options: Any) -> Any:
        """Calls ``function`` as it stands; arrays of the caller are held as tensors over the same memory."""
        if function is None:
            return _Frontend.jit
        return lambda *arguments, **keywords: function(*map(_held, arguments), **keywords)


frontend = _Frontend()
jit = frontend.jit
