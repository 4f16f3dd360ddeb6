"""Rounding to a narrower float format and to integers, in every mode of ``cast`` (tensor API section 9.8.1, FC-091…FC-097).

Directed modes round to the format's precision with its smallest exponent (so denormals are right); a result beyond the
largest finite number then becomes infinity (NaN where the format has none), or that number when saturating.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from pypto.dtypes import DataType
from pypto.ops.dtype_sets import B16, E4M3, E5M2, F16, F32


@dataclass(frozen=True)
class Format:
    """A binary float format: bits of fraction, least exponent of a normal number, largest finite number."""

    fraction: int
    least_exponent: int
    largest: float


# IEEE 754 binary16 and binary32; bfloat16; OCP 8-bit floating point specification 1.0 (E4M3, E5M2).
FORMATS: dict[DataType, Format] = {
    F16: Format(10, -14, 65504.0),
    B16: Format(7, -126, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
    F32: Format(23, -126, float(np.finfo(np.float32).max)),
    E4M3: Format(3, -6, 448.0),
    E5M2: Format(2, -14, 57344.0),
}
TF32_FRACTION = 10  # bits of fraction that the matrix engine keeps of FP32 inputs under trans_mode (tensor API section 9.9)


_PLAIN: dict[str, Callable[[np.ndarray], np.ndarray]] = {"rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


def integral(x: np.ndarray, mode: str) -> np.ndarray:
    """``x`` rounded to whole numbers. Modes: rint, round (half away from zero), floor, ceil, trunc, odd."""
    if mode in _PLAIN:
        return _PLAIN[mode](x)
    whole = np.trunc(x)
    away = whole + np.copysign(1.0, x)
    if mode == "round":
        return np.where(np.abs(x - whole) >= 0.5, away, whole)
    return np.where((x != whole) & (np.fmod(whole, 2) == 0), away, whole)


def at_precision(x: np.ndarray, fraction: int, least_exponent: int, mode: str) -> np.ndarray:
    """Float64 ``x`` rounded to a precision, exponents unbounded above. Infinities and NaN pass."""
    _, exponent = np.frexp(x)
    quantum = np.ldexp(1.0, np.maximum(exponent - 1, least_exponent) - fraction)
    return np.where(np.isfinite(x), np.copysign(integral(x / quantum, mode) * quantum, x), x)


def to_float(x: np.ndarray, target: DataType, mode: str, saturate: bool) -> np.ndarray:
    """Float array ``x`` as ``target``."""
    if target is DataType.DT_DOUBLE:
        return x.astype(np.float64)
    wide = x.astype(np.float32).astype(np.float64) if target is not F32 else x.astype(np.float64)
    form = FORMATS[target]
    rounded = at_precision(wide, form.fraction, form.least_exponent, mode)
    if saturate:
        rounded = np.where(np.isnan(rounded), rounded, np.clip(rounded, -form.largest, form.largest))
    return rounded.astype(np.float32).astype(target.numpy)


def to_integer(x: np.ndarray, target: DataType, mode: str, saturate: bool) -> np.ndarray:
    """Float array ``x`` as an integer type: NaN gives 0; outside the range clamped, or reduced modulo the width."""
    whole = integral(x.astype(np.float64), mode)
    low, high = np.iinfo(target.numpy).min, np.iinfo(target.numpy).max
    width = 2.0**target.bits
    finite = np.where(np.isfinite(whole), whole, 0.0)
    result = _modulo(np.fmod(finite, width), target)
    if saturate:
        result = np.where(whole >= float(high), target.numpy.type(high), result)
        result = np.where(whole <= float(low), target.numpy.type(low), result)
    return result.astype(target.numpy)


def _modulo(rest: np.ndarray, target: DataType) -> np.ndarray:
    """Whole numbers of magnitude below 2^bits as integers modulo 2^bits (uint64 holds every magnitude)."""
    magnitude = np.abs(rest).astype(np.uint64)
    unsigned = np.where(rest < 0, np.uint64(0) - magnitude, magnitude)
    return unsigned.astype(np.dtype(f"u{target.size}")).view(target.numpy)


def integer_to_integer(x: np.ndarray, target: DataType, saturate: bool) -> np.ndarray:
    """Integers modulo the width of ``target``, or clamped to its range."""
    if saturate:
        source, limits = np.iinfo(x.dtype), np.iinfo(target.numpy)
        x = np.clip(x, max(source.min, limits.min), min(source.max, limits.max))
    return x.astype(target.numpy)
