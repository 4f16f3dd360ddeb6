"""``cast`` on vectors: the arithmetic of ``ops/rounding.py`` spelled with the operations of ``Vectors``.

Narrow floats arrive as fp32 and the engine rounds the result once to the target (nearest even), so a directed rounding only
has to deliver an fp32 number that the target holds exactly.
"""

from __future__ import annotations

import math
from typing import Any

from pypto.dtypes import DataType
from pypto.ops.dtype_sets import BOOL, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from pypto.ops.rounding import FORMATS
from pypto.ops.table import Vectors

SIGNED_OF = {I8: I8, I16: I16, I32: I32, I64: I64, U8: I8, U16: I16, U32: I32, U64: I64}


def lower_cast(b: Vectors, x: Any, *, dtype: DataType, mode: str = "rint", saturate: bool = False, integral: bool = False) -> Any:
    if integral:
        return whole(b, x, mode)
    if dtype is BOOL:
        return b.compare("ne", x, b.constant(0))
    source = b.dtype
    if not source.is_float:
        return _from_integer(b, x, source, dtype, saturate)
    if not dtype.is_float:
        return _to_integer(b, whole(b, x, mode), dtype, saturate)
    return _to_float(b, x, dtype, mode, saturate)


def whole(b: Vectors, x: Any, mode: str) -> Any:
    """Whole numbers by mode; NaN and infinities pass."""
    plain = {"rint": b.round_even, "floor": b.floor, "ceil": b.ceil, "trunc": b.trunc}
    if mode in plain:
        return plain[mode](x)
    cut = b.trunc(x)
    away = b.add(cut, b.copysign(b.constant(1.0), x))
    rest = b.abs(b.sub(x, cut))
    if mode == "round":
        return b.select(b.compare("ge", rest, b.constant(0.5)), away, cut)
    half = b.mul(cut, b.constant(0.5))
    even = b.compare("eq", half, b.trunc(half))
    return b.select(b.mask_and(even, b.compare("gt", rest, b.constant(0.0))), away, cut)


def _to_integer(b: Vectors, x: Any, dtype: DataType, saturate: bool) -> Any:
    if saturate:
        return b.convert(x, dtype)  # saturates; NaN gives 0
    width, half = 2.0**dtype.bits, 2.0 ** (dtype.bits - 1)
    rest = b.sub(x, b.mul(b.trunc(b.mul(x, b.constant(1.0 / width))), b.constant(width)))  # exact
    rest = b.select(b.compare("ge", rest, b.constant(half)), b.sub(rest, b.constant(width)), rest)
    rest = b.select(b.compare("lt", rest, b.constant(-half)), b.add(rest, b.constant(width)), rest)
    rest = b.select(b.compare("uno", rest, rest), b.constant(0.0), rest)
    signed = SIGNED_OF[dtype]
    converted = b.convert(rest, signed)
    return converted if signed is dtype else b.convert(converted, dtype)


def _from_integer(b: Vectors, x: Any, source: DataType, dtype: DataType, saturate: bool) -> Any:
    if dtype.is_float:
        return b.convert(x, F64 if dtype is F64 else F32)  # saturating casts to narrow floats are recorded as two
    if saturate and source is not BOOL:
        low, high = _limits(source), _limits(dtype)
        if high[0] > low[0]:
            x = b.max(x, b.constant(high[0]))
        if high[1] < low[1]:
            x = b.min(x, b.constant(high[1]))
    return b.convert(x, dtype)


def _limits(dtype: DataType) -> tuple[int, int]:
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    return low, low + (1 << dtype.bits) - 1


def _clamped(b: Vectors, x: Any, dtype: DataType) -> Any:
    largest = FORMATS[dtype].largest
    return b.max(b.min(x, b.constant(largest)), b.constant(-largest))


def _to_float(b: Vectors, x: Any, dtype: DataType, mode: str, saturate: bool) -> Any:
    """Fp32 to a narrower type, or between fp32 and fp64 (fp64 to narrow types is recorded as two casts)."""
    if dtype is F64:
        return b.convert(x, F64)
    rounded = x if mode == "rint" else _directed(b, x, dtype, mode)
    if saturate:
        rounded = _clamped(b, rounded, dtype)
    return b.convert(rounded, F32) if b.dtype is F64 else rounded


def _directed(b: Vectors, x: Any, dtype: DataType, mode: str) -> Any:
    """``integral(x / quantum) * quantum`` with the quantum read off the exponent bits."""
    form = FORMATS[dtype]
    power = b.from_bits(b.bit_and(b.bits(b.abs(x)), b.bits(b.constant(math.inf))))  # 2**exponent, 0 for denormals
    power = b.max(power, b.constant(2.0**form.least_exponent))
    quantum = b.mul(power, b.constant(2.0**-form.fraction))
    rounded = b.copysign(b.mul(whole(b, b.div(x, quantum), mode), quantum), x)
    return b.select(b.compare("lt", b.abs(x), b.constant(math.inf)), rounded, x)
