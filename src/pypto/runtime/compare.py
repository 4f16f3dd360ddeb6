"""The ``compare`` engine's eyes: copies of arguments, and the first element in which two engines differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.dtypes import BY_NUMPY
from pypto.errors.engines import EnginesDiffer
from pypto.ir.program import Program, Storage
from pypto.tolerance import kernel_bounds, mismatches


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
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def check(program: Program, tensors: Sequence[Any], copies: Sequence[Copy]) -> None:
    """Raise ``EnginesDiffer`` for the first tensor parameter whose contents differ."""
    names = [p.name for p in program.parameters if isinstance(p, Storage)]
    for name, tensor, copy in zip(names, tensors, copies, strict=True):
        expected = _wide(copy.array)
        wrong = mismatches(_wide(tensor.array), expected, kernel_bounds(BY_NUMPY.get(copy.array.dtype), expected))
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
