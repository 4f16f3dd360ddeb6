"""Arithmetic of the vector unit on numpy arrays: functions that take ``out=`` as ufuncs do.

Floats arrive as fp32 (narrow ones widened by the caller), integers in their own type. Functions such as the exponential are
evaluated in float64 and rounded once to fp32: the nearest number, the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.ops import arithmetic, reduction  # noqa: F401  (they fill the table)
from pypto.ops.table import OPERATIONS

Array = np.ndarray


def into(function: Callable[..., Array]) -> Callable[..., Array]:
    """Gives a function of arrays the parameter ``out``."""

    def compute(*arrays: Any, out: Array | None = None) -> Array:
        result = function(*arrays)
        if out is None:
            return result
        out[...] = result
        return out

    return compute


def precise(function: Callable[..., Array]) -> Callable[..., Array]:
    """Evaluates in float64, rounds once to fp32."""
    return into(lambda *arrays: np.asarray(function(*(np.asarray(array, np.float64) for array in arrays))).astype(np.float32))


def meaning(name: str) -> Callable[..., Array]:
    """What the tensor level's operation of that name computes."""
    compute = OPERATIONS[name].compute
    assert compute is not None
    return compute


def divide(a: Array, b: Array, out: Array | None = None) -> Array:
    """Floats: IEEE division. Integers: toward zero; a zero divisor gives 0 (undefined on hardware)."""
    if np.asarray(a).dtype.kind == "f":
        return np.true_divide(a, b, out=out)
    return _integer_divide(a, b, out=out)


@into
def _integer_divide(a: Array, b: Array) -> Array:
    zero = b == 0
    divisor = np.where(zero, np.ones((), np.asarray(b).dtype), b)
    quotient = np.floor_divide(a, divisor)
    rest = a - quotient * divisor
    if np.asarray(a).dtype.kind == "i":
        quotient += (rest != 0) & ((a < 0) != (divisor < 0))
    return np.where(zero, np.zeros((), quotient.dtype), quotient)


@into
def remainder(a: Array, b: Array) -> Array:
    """``a - b * floor(a / b)``: the sign of the divisor; integers by zero give 0."""
    return meaning("remainder")(np.asarray(a), np.asarray(b))


def relu(x: Array, out: Array | None = None) -> Array:
    """The greater of x and 0; NaN stays."""
    return np.maximum(x, np.zeros((), x.dtype), out=out)


reciprocal_root = precise(lambda x: 1.0 / np.sqrt(x))
exponential = precise(np.exp)
logarithm = precise(np.log)
exponential_of_difference = precise(lambda x, y: np.exp((x - y).astype(np.float32).astype(np.float64)))


def reciprocal(x: Array, out: Array | None = None) -> Array:
    return np.true_divide(np.ones((), x.dtype), x, out=out)


@into
def add_three(a: Array, b: Array, c: Array) -> Array:
    return a + b + c


@into
def subtract_two(a: Array, b: Array, c: Array) -> Array:
    return a - b - c
