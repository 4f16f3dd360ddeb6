"""``assert_close``: comparison with bounds that follow from the element type, and messages that help to find the cause.

Accepts numpy arrays (``ml_dtypes`` included), torch tensors, lists and numbers. NaN equals only NaN, infinity only itself.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from pypto.diagnostics import warn
from pypto.dtypes import BY_NUMPY, DataType
from pypto.tolerance import FRACTION, Bounds, mismatches, rounding_unit, typical_size

ROUNDINGS = 4  # how many roundings of the result's type a chain of operations may be apart


def bounds(dtype: DataType | None, expected: np.ndarray, length: int = 1) -> Bounds:
    """Bounds for the result of a chain of operations; ``length`` is the number of terms of the longest sum behind an element.

    A sum of n random terms is off by about sqrt(n) roundings of its typical size, so that part is absolute and grows with
    the root mean square of ``expected``. For one operation, ``tolerance.bound`` is stricter.
    """
    if dtype not in FRACTION:
        return Bounds(0.0, 0.0)
    size = typical_size(expected)
    own = ROUNDINGS * 2.0 ** -(FRACTION[dtype][0] + 1)
    summed = ROUNDINGS * rounding_unit(dtype) * math.sqrt(length) if length > 1 else 0.0
    return Bounds(own, own * min(size, 1.0) + summed * size)


def assert_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, length: int = 1, name: str = "result"
) -> None:
    """Raise ``AssertionError`` unless ``actual`` agrees with ``expected`` within bounds for ``actual``'s element type.

    Integers and booleans must be equal. ``length``: terms of the longest sum behind an element (K of a matmul).
    ``rtol`` and ``atol`` replace the relative and absolute bound. Warns when the comparison proves nothing: both arrays
    constant, or the same memory.

    >>> import numpy as np
    >>> assert_close(np.float32([1.0, 2.0]), [1.0, 2.0000001])
    """
    left, right = _array(actual), _array(expected)
    if left.shape != right.shape:
        raise AssertionError(f"{name}: shape {left.shape}, expected {right.shape}")
    _warn_if_worthless(name, left, right)
    dtype = BY_NUMPY.get(left.dtype)
    exact = dtype not in FRACTION and rtol is None and atol is None
    wide_left, wide_right = _wide(left, exact), _wide(right, exact)
    chosen = Bounds(0.0, 0.0) if exact else bounds(dtype, wide_right, length)
    chosen = Bounds(chosen.relative if rtol is None else rtol, chosen.absolute if atol is None else atol)
    wrong = mismatches(wide_left, wide_right, chosen)
    if wrong.any():
        raise AssertionError(_message(name, left.dtype.name, wide_left, wide_right, wrong, chosen))


# -- arrays ----------------------------------------------------------------------------------------------------------------------

_TORCH_VIEWS = {
    "torch.bfloat16": ("int16", ml_dtypes.bfloat16),
    "torch.float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "torch.float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
}


def _array(thing: Any) -> np.ndarray:
    """A numpy array of the same element type, sharing memory where it can."""
    if not hasattr(thing, "untyped_storage"):
        return np.asarray(thing)
    host = thing.detach().cpu().contiguous()
    if str(host.dtype) in _TORCH_VIEWS:
        import torch

        stored, dtype = _TORCH_VIEWS[str(host.dtype)]
        return host.view(getattr(torch, stored)).numpy().view(dtype)
    return host.numpy()


def _wide(array: np.ndarray, exact: bool) -> np.ndarray:
    return array if exact and array.dtype.kind in "iub" else array.astype(np.float64)


def _warn_if_worthless(name: str, left: np.ndarray, right: np.ndarray) -> None:
    if left.size and np.may_share_memory(left, right):
        warn(
            f"assert_close: {name} and what it is compared with share memory", help="clone the golden data before the kernel runs"
        )
    elif left.size > 1 and _constant(left) and _constant(right):
        warn(f"assert_close: all elements of {name} and of what it is compared with are equal", help="use random input")


def _constant(array: np.ndarray) -> bool:
    flat = array.reshape(-1)
    return bool(np.all(flat == flat[0]))


# -- the message -----------------------------------------------------------------------------------------------------------------


def _message(name: str, dtype: str, actual: np.ndarray, expected: np.ndarray, wrong: np.ndarray, bounds: Bounds) -> str:
    places = np.argwhere(wrong)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.where(wrong, np.abs(actual.astype(np.float64) - expected.astype(np.float64)), -1.0)
    distance = np.where(np.isnan(distance), np.inf, distance)
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape) if distance.ndim else ()
    lines = [
        f"{name} ({dtype}): {len(places)} of {wrong.size} elements differ; bounds: {bounds}",
        f"  first {_where(places[0], actual, expected)}",
        f"  worst {_where(worst, actual, expected)}",
    ]
    return "\n".join(lines + [f"  hint: {hint}" for hint in hints(wrong, actual, expected)])


def _where(index: Any, actual: np.ndarray, expected: np.ndarray) -> str:
    place = tuple(int(i) for i in index)
    return f"at {list(place)}: got {actual[place]!s}, expected {expected[place]!s}"


def hints(wrong: np.ndarray, actual: np.ndarray, expected: np.ndarray) -> list[str]:
    """What the pattern of wrong elements suggests."""
    found = []
    if np.issubdtype(actual.dtype, np.floating):
        only_actual = int(np.sum(np.isnan(actual) & ~np.isnan(expected)))
        only_expected = int(np.sum(~np.isnan(actual) & np.isnan(expected)))
        if only_actual:
            found.append(f"{only_actual} NaN only in the result: padding that was read, or an input out of range")
        if only_expected:
            found.append(f"{only_expected} NaN only in what is expected: the golden data itself may be wrong")
    found += [hint for axis in range(wrong.ndim) if (hint := _pattern(wrong, axis))]
    if wrong.all():
        found.append("every element is wrong: was the output written at all?")
    return found


def _pattern(wrong: np.ndarray, axis: int) -> str:
    """A hint when the wrong elements fill only the end of an axis, or stand at a regular distance on it."""
    size = wrong.shape[axis]
    hit = np.flatnonzero(wrong.any(axis=tuple(i for i in range(wrong.ndim) if i != axis)))
    if not 0 < len(hit) < size or size < 4:
        return ""
    if hit[0] > 0 and hit[-1] == size - 1 and len(hit) == size - hit[0]:
        return f"only from {hit[0]} on along axis {axis} (size {size}): a tail, look at valid_shape"
    steps = np.diff(hit)
    if len(hit) > 2 and steps[0] > 1 and np.all(steps == steps[0]):
        return f"every {steps[0]}th along axis {axis}, beginning at {hit[0]}: look at loop steps and tile sizes"
    return ""
