"""How the reference computes: wide enough to be right, rounded once.

``exact`` is for operations that fp32 arithmetic defines (add, division, comparison …): narrow floats are computed in fp32
and rounded, everything else in its own type; integers wrap. ``precise`` is for functions: evaluated in float64, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.dtypes import BY_NUMPY, DataType
from pypto.ops.dtype_sets import SMALL_FLOATS

Compute = Callable[..., Any]
SMALL = frozenset(d.numpy for d in SMALL_FLOATS)


def is_float(array: np.ndarray) -> bool:
    return BY_NUMPY[array.dtype].is_float


def widened(array: np.ndarray) -> np.ndarray:
    """Narrow floats as fp32, everything else as it is."""
    return array.astype(np.float32) if array.dtype in SMALL else array


def narrowed(array: Any, dtype: np.dtype) -> np.ndarray:
    """Round to a storage type; narrow floats always through fp32."""
    array = np.asarray(array)
    if dtype in SMALL and array.dtype != np.float32 and array.dtype != dtype:
        array = array.astype(np.float32)
    return array.astype(dtype)


def negated(array: np.ndarray, out: Any = None) -> np.ndarray:
    """``-array``. Not ``np.negative``: NumPy 2.4's reads a strided array as a contiguous one where the strides of both sides agree.

    >>> negated(np.array([0.0, 2.0], np.float32)).tolist()
    [-0.0, -2.0]
    """
    return np.subtract(array.dtype.type(-0.0), array, out=out)


def exact(function: Compute) -> Compute:
    """Compute narrow floats in fp32; round the result to the type of the first array (masks stay masks)."""

    def compute(*arrays: np.ndarray, **attributes: Any) -> np.ndarray:
        result = np.asarray(function(*map(widened, arrays), **attributes))
        return result if result.dtype == np.bool_ else narrowed(result, arrays[0].dtype)

    return compute


def precise(function: Compute) -> Compute:
    """Compute in float64; round once to the float type of the first array (integers: to fp32)."""

    def compute(*arrays: np.ndarray, **attributes: Any) -> np.ndarray:
        target = arrays[0].dtype if is_float(arrays[0]) else np.dtype(np.float32)
        wide = [widened(a).astype(np.float64) for a in arrays]
        return narrowed(function(*wide, **attributes), target)

    return compute


def by_element(function: Callable[..., float]) -> Compute:
    """A Python float function over arrays of float64."""
    return lambda *arrays: np.vectorize(function, otypes=[np.float64])(*arrays)


erf = by_element(math.erf)
erfc = by_element(math.erfc)


def numpy_type(dtype: DataType) -> np.dtype:
    return dtype.numpy
