"""Where a tensor's elements lie: a buffer, an offset, one stride per axis. Movement ops are arithmetic on views, not copies.

    buffer [4, 8] ──slice [1:3, 2:6]──► View(offset 10, strides (8, 1)) ──transpose──► View(offset 10, strides (1, 8))

Offsets and strides count elements of the view's type and may be symbolic; they are evaluated where a nest is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pypto.dtypes import DataType
from pypto.ir.program import TensorType
from pypto.ir.symbols import Expression, Scalar, add, floordiv, mul


@dataclass(eq=False)
class Buffer:
    """Memory of one tensor, row-major over ``shape``. ``role``: ``parameter`` (slot of the argument block) or ``local``."""

    dtype: DataType
    shape: tuple[Scalar, ...]
    name: str
    role: str = "local"
    slot: int = -1
    facts: dict[str, Any] = field(default_factory=dict)  # placement, filled in by plan.py

    @property
    def elements(self) -> Scalar:
        return product(self.shape)

    def __repr__(self) -> str:
        return self.name


def product(numbers: Sequence[Scalar]) -> Scalar:
    total: Scalar = 1
    for number in numbers:
        total = mul(total, number)
    return total


def same(a: Scalar, b: Scalar) -> bool:
    """Whether two scalars are known to be equal."""
    if isinstance(a, Expression) or isinstance(b, Expression):
        return a is b
    return a == b


def row_major(shape: Sequence[Scalar]) -> tuple[Scalar, ...]:
    strides: list[Scalar] = []
    step: Scalar = 1
    for size in reversed(shape):
        strides.append(step)
        step = mul(step, size)
    return tuple(reversed(strides))


@dataclass(frozen=True)
class View:
    """Elements of ``buffer`` in the order of a tensor of ``shape``; ``valid`` of them hold data."""

    buffer: Buffer
    dtype: DataType
    offset: Scalar
    strides: tuple[Scalar, ...]
    shape: tuple[Scalar, ...]
    valid: tuple[Scalar, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def with_valid(self, valid: Sequence[Scalar]) -> View:
        return replace(self, valid=tuple(valid))

    def slice(self, offsets: Sequence[Scalar], shape: Sequence[Scalar], valid: Sequence[Scalar]) -> View:
        """The region of extent ``shape`` that starts at ``offsets``."""
        start = self.offset
        for offset, stride in zip(offsets, self.strides, strict=True):
            start = add(start, mul(offset, stride))
        return replace(self, offset=start, shape=tuple(shape), valid=tuple(valid))

    def permute(self, axes: Sequence[int]) -> View:
        pick = lambda items: tuple(items[a] for a in axes)  # noqa: E731
        return replace(self, strides=pick(self.strides), shape=pick(self.shape), valid=pick(self.valid))

    def expand(self, type: TensorType) -> View:
        """Axes of size 1 repeated up to ``type.shape`` (aligned from the right)."""
        missing = type.rank - self.rank
        strides: list[Scalar] = [0] * missing
        for size, wanted, stride in zip(self.shape, type.shape[missing:], self.strides, strict=True):
            strides.append(0 if same(size, 1) and not same(wanted, 1) else stride)
        return replace(self, strides=tuple(strides), shape=type.shape, valid=type.valid)

    def reshape(self, type: TensorType) -> View | None:
        """The same elements under another shape, or None when no strides describe that."""
        strides = _reshaped_strides(self.shape, self.strides, type.shape)
        return None if strides is None else replace(self, strides=strides, shape=type.shape, valid=type.valid)

    def reinterpret(self, type: TensorType) -> View | None:
        """The same bytes under another element type; the last axis must be contiguous."""
        old, new = self.dtype.size, type.dtype.size
        if not self.strides or not same(self.strides[-1], 1):
            return None
        rescale = lambda x: mul(x, old // new) if old >= new else floordiv(x, new // old)  # noqa: E731
        strides = (*(rescale(s) for s in self.strides[:-1]), 1)
        return replace(self, dtype=type.dtype, offset=rescale(self.offset), strides=strides, shape=type.shape, valid=type.valid)


def whole(buffer: Buffer, type: TensorType) -> View:
    """All of a buffer, row-major over the type's shape."""
    return View(buffer, type.dtype, 0, row_major(type.shape), type.shape, type.valid)


def _reshaped_strides(shape: Sequence[Scalar], strides: Sequence[Scalar], target: Sequence[Scalar]) -> tuple[Scalar, ...] | None:
    """Match runs of source axes with runs of target axes of the same size; inside a run the source must be contiguous."""
    if any(same(n, 0) for n in target):
        return row_major(target)  # of no element
    source = [(n, s) for n, s in zip(shape, strides, strict=True) if not same(n, 1)]
    wanted = [n for n in target if not same(n, 1)]
    found: list[Scalar] = []
    i = j = 0
    while i < len(source) or j < len(wanted):
        first, start = i, j
        left: Scalar = source[i][0] if i < len(source) else 1
        right: Scalar = wanted[j] if j < len(wanted) else 1
        i, j = i + 1, j + 1
        while not same(left, right):
            if i < len(source) and (isinstance(right, Expression) or _smaller(left, right) or j >= len(wanted)):
                left, i = mul(left, source[i][0]), i + 1
            elif j < len(wanted):
                right, j = mul(right, wanted[j]), j + 1
            else:
                return None
        run = source[first:i]
        if any(not same(a[1], mul(b[0], b[1])) for a, b in zip(run, run[1:], strict=False)):
            return None
        step: Scalar = run[-1][1] if run else 0
        inner: list[Scalar] = []
        for size in reversed(wanted[start:j]):
            inner.append(step)
            step = mul(step, size)
        found += reversed(inner)
    remaining = iter(found)
    return tuple(0 if same(n, 1) else next(remaining) for n in target)


def _smaller(a: Scalar, b: Scalar) -> bool:
    return not isinstance(a, Expression) and not isinstance(b, Expression) and a < b
