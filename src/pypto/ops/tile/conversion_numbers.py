"""Conversions between element types, every rounding mode exact (tile API sections 1.4 and 3.8).

Float to integer saturates and NaN gives 0; integer to integer keeps the low bits; float to a narrower float rounds by mode and
becomes infinite past the largest number (NaN in FP8E4M3, which has no infinity).

>>> convert(np.array([2.5, -2.5], np.float32), DataType.DT_INT8, RoundMode.CAST_ROUND).tolist()
[3, -3]
"""

from __future__ import annotations

import numpy as np

from pypto.cores.enums import RoundMode
from pypto.dtypes import BY_NUMPY, DataType
from pypto.ops import rounding
from pypto.ops.dtype_sets import B16, E4M3, E5M2, F16, F32, FLOATS, INTEGERS

CASTABLE = (*FLOATS, *INTEGERS, E4M3, E5M2)
MODES = {
    RoundMode.CAST_NONE: "rint",
    RoundMode.CAST_RINT: "rint",
    RoundMode.CAST_ROUND: "round",
    RoundMode.CAST_FLOOR: "floor",
    RoundMode.CAST_CEIL: "ceil",
    RoundMode.CAST_TRUNC: "trunc",
    RoundMode.CAST_ODD: "odd",
}
WIDER = {F16: (F32,), B16: (F32,), E4M3: (F32, F16, B16), E5M2: (F32, F16, B16)}  # conversions that lose nothing


def convert(x: np.ndarray, target: DataType, mode: RoundMode) -> np.ndarray:
    """``x`` as ``target``."""
    source = BY_NUMPY[x.dtype]
    if source is target:
        return x
    if not target.is_float:
        return _to_integer(x, target, MODES[mode]) if source.is_float else x.astype(target.numpy)
    if not source.is_float and _fits_single(x):
        x, source = x.astype(np.float32), F32
    if target is source:
        return x
    if target in WIDER.get(source, ()) or (source.is_float and MODES[mode] == "rint"):
        return x.astype(np.float32).astype(target.numpy)
    return _to_float(x, source, target, MODES[mode])


def _fits_single(x: np.ndarray) -> bool:
    """Whether integers are exact in fp32."""
    return x.dtype.itemsize <= 2 or not x.size or (x.min() >= -(2**24) if x.dtype.kind == "i" else True) and x.max() <= 2**24


def _to_integer(x: np.ndarray, target: DataType, mode: str) -> np.ndarray:
    if target.size > 4:
        return rounding.to_integer(x.astype(np.float32), target, mode, saturate=True)
    limits = np.iinfo(target.numpy)
    whole = rounding.integral(x.astype(np.float64), mode)
    return np.clip(np.where(np.isnan(whole), 0.0, whole), limits.min, limits.max).astype(target.numpy)


def _to_float(x: np.ndarray, source: DataType, target: DataType, mode: str) -> np.ndarray:
    if mode == "round" and source is F32 and target in (F16, B16):
        return _half_away(x, target)
    wide = _as_double(x, source)
    form = rounding.FORMATS[target]
    return rounding.at_precision(wide, form.fraction, form.least_exponent, mode).astype(np.float32).astype(target.numpy)


def _as_double(x: np.ndarray, source: DataType) -> np.ndarray:
    """float64 that rounds to a narrower format as ``x`` does: bits that do not fit are kept as one sticky bit."""
    if source.is_float or source.size < 8:
        return x.astype(np.float32).astype(np.float64) if source.is_float else x.astype(np.float64)
    magnitude = np.where(x < 0, np.uint64(0) - x.astype(np.uint64), x.astype(np.uint64))
    low = magnitude & np.uint64(0x7FF)
    sticky = np.where(low != 0, np.uint64(0x800), np.uint64(0))
    kept = np.where(magnitude >> np.uint64(53), (magnitude - low) | sticky, magnitude)
    return np.where(x < 0, -1.0, 1.0) * kept.astype(np.float64)


def _half_away(x: np.ndarray, target: DataType) -> np.ndarray:
    """fp32 to fp16 or bf16, ties away from zero: half a unit is added to the bits of the magnitude, the rest cut off."""
    drop = 13 if target is F16 else 16
    bits = np.ascontiguousarray(x).view(np.uint32)
    rounded = ((bits + np.uint32(1 << (drop - 1))) & np.uint32(-(1 << drop) & 0xFFFFFFFF)).view(np.float32)
    finite = np.abs(x) < np.inf
    small = (np.abs(x) < np.float32(2.0**-14)) & (target is F16)  # denormals of fp16 have fewer bits
    result = np.where(finite, rounded, x).astype(target.numpy)
    if small.any():
        form = rounding.FORMATS[target]
        exact = rounding.at_precision(x[small].astype(np.float64), form.fraction, form.least_exponent, "round")
        result[small] = exact.astype(np.float32).astype(target.numpy)
    return result
