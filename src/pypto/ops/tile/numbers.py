"""Numbers of the cube core: element types as fp32, and products with the sums of the machine."""

from __future__ import annotations

from functools import cache

import numpy as np

from pypto.dtypes import DataType

_D = DataType
EDGE = 64  # of a block: OpenBLAS stays on one thread up to 2^18 multiplications


def as_floats(values: np.ndarray, dtype: DataType) -> np.ndarray:
    """Operand values in the type they are multiplied in: fp32, or int8 as it is."""
    if dtype is _D.DT_INT8:
        return values
    if dtype is _D.DT_HF8:
        return hifloat8()[values]
    if dtype in FP4_VALUES:  # a view gives their codes
        return FP4_VALUES[dtype][values]
    return values.astype(np.float32, copy=False)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` summed in fp32, or in int32 that wraps around for int8 operands."""
    with np.errstate(all="ignore"):
        if a.dtype == np.int8:
            return _integers(a, b)
        return _blocked(a, b)


def _blocked(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` block by block: libraries spread larger products over threads, which on a busy machine costs a hundred times the work."""
    (rows, inner), columns = a.shape, b.shape[1]
    if rows * inner * columns <= EDGE**3:
        return np.matmul(a, b)
    out = np.zeros((rows, columns), a.dtype)
    for k in range(0, inner, EDGE):
        for i in range(0, rows, EDGE):
            left = a[i : i + EDGE, k : k + EDGE]
            for j in range(0, columns, EDGE):
                out[i : i + EDGE, j : j + EDGE] += np.matmul(left, b[k : k + EDGE, j : j + EDGE])
    return out


def _integers(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Exact in float64 (K of 4095 products of 2^14 stay below 2^53), which is much faster than numpy's integer product."""
    exact = _blocked(a.astype(np.float64), b.astype(np.float64))
    return exact.astype(np.int64).astype(np.int32)


@cache
def hifloat8() -> np.ndarray:
    """Value of every hif8 byte: sign, a prefix code of 2 to 4 bits that tells the exponent's width, exponent, mantissa.

    Dot codes: 11 → 4 exponent bits, 1 mantissa bit; 10 → 3, 2; 01 → 2, 3; 001 → 1, 3; 0001 → 0, 3; 0000 → denormal, 3 bits.
    """
    return np.array([_hifloat8(byte) for byte in range(256)], np.float32)


_DOT_CODES = ((0b11, 2, 4), (0b10, 2, 3), (0b01, 2, 2), (0b001, 3, 1), (0b0001, 4, 0))


def _hifloat8(byte: int) -> float:
    if byte in _HIFLOAT8_SPECIAL:
        return _HIFLOAT8_SPECIAL[byte]
    sign, body = (-1.0 if byte & 0x80 else 1.0), byte & 0x7F
    for code, length, width in _DOT_CODES:
        if body >> (7 - length) == code:
            rest = 7 - length - width
            exponent = _hifloat8_exponent((body >> rest) & ((1 << width) - 1), width)
            return sign * 2.0**exponent * (1.0 + (body & ((1 << rest) - 1)) / (1 << rest))
    return sign * 2.0 ** ((body & 7) - 23)


def _hifloat8_exponent(bits: int, width: int) -> int:
    """Sign bit, then the magnitude whose leading one is not stored."""
    if width == 0:
        return 0
    magnitude = (1 << (width - 1)) | (bits & ((1 << (width - 1)) - 1))
    return -magnitude if bits >> (width - 1) else magnitude


_HIFLOAT8_SPECIAL = {0x00: 0.0, 0x80: float("nan"), 0x6F: float("inf"), 0xEF: float("-inf")}


def _fp4(magnitudes: list[float]) -> np.ndarray:
    """Values of the sixteen codes: sign bit, then the magnitude."""
    return np.array([*magnitudes, *(-float(one) for one in magnitudes)], np.float32)


FP4_VALUES = {
    _D.DT_FP4_E2M1: _fp4([0, 0.5, 1, 1.5, 2, 3, 4, 6]),
    _D.DT_FP4_E1M2: _fp4([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]),
}
