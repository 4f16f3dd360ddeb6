"""The ``compare`` engine's eyes: copies of arguments, and the first element in which two engines differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.errors.engines import EnginesDiffer
from pypto.ir.program import Program, Storage


@dataclass(frozen=True)
class Copy:
    """A private copy of a host tensor: what the reference engine may write to."""

    array: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def copy_of(tensor: Any) -> Copy:
    return Copy(np.array(tensor.array, copy=True))


def _wide(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "iub":
        return array
    return array.astype(np.float64)


def differences(got: np.ndarray, expected: np.ndarray, relative: float, absolute: float) -> np.ndarray:
    """Mask of elements that differ by more than the bounds; NaN equals NaN, integers must be equal."""
    left, right = _wide(got), _wide(expected)
    if left.dtype.kind in "iub":
        return left != right
    with np.errstate(invalid="ignore"):
        near = np.abs(left - right) <= absolute + relative * np.abs(right)
    return ~(near | (left == right) | (np.isnan(left) & np.isnan(right)))


# One rounding of the type apart (2^-9, 2^-11, 2^-24 …), times eight for chains of ops and reductions of a few thousand elements.
BOUNDS = {"bfloat16": 8 * 2.0**-8, "float16": 8 * 2.0**-10, "float32": 1e-5, "float64": 1e-12}


def check(program: Program, tensors: Sequence[Any], copies: Sequence[Copy]) -> None:
    """Raise ``EnginesDiffer`` for the first tensor parameter whose contents differ."""
    names = [p.name for p in program.parameters if isinstance(p, Storage)]
    for name, tensor, copy in zip(names, tensors, copies, strict=True):
        bound = BOUNDS.get(copy.array.dtype.name, 0.125)  # fp8: three or two bits of mantissa
        wrong = differences(tensor.array, copy.array, bound, bound * 1e-2)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise EnginesDiffer(
                tensor=name,
                index=list(index),
                got=tensor.array[index],
                expected=copy.array[index],
                count=int(wrong.sum()),
                total=wrong.size,
                span=program.span,
            )
