"""Functions evaluated in fp64 halves (``<16 x double>``) and rounded once to fp32: about half a unit in the last place.

The polynomials are good to 2**-37 relative or better, so the rounding is the error. Nothing needs 64-bit integer instructions
that AVX2 lacks (arithmetic shift, conversion): exponents travel through a magic addition or through 32-bit lanes.
"""

from __future__ import annotations

import math

from pypto.cpu import vectormath_tables as tables
from pypto.cpu.vector_base import Vector
from pypto.cpu.vectormath_float import clamp, horner, log_specials, split
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

_D = DataType
_MAGIC = 1.5 * 2.0**52  # adding it leaves the rounded integer in the low bits
_LN2 = math.log(2)
_DOUBLE = "<16 x double>"


def wide(b: Vectors, x: Vector) -> Vector:
    return b.convert(x, _D.DT_DOUBLE)


def single(b: Vectors, x: Vector) -> Vector:
    return b.convert(x, _D.DT_FP32)


def keep_zero(b: Vectors, x: Vector, result: Vector) -> Vector:
    """``x`` itself where it is a zero: fused chains lose the sign of -0."""
    return b.select(b.compare("eq", x, b.like(x, 0.0)), x, result)


def one_minus(b: Vectors, x: Vector, one: float = 1.0) -> Vector:
    return b.sub(b.like(x, one), x)


# -- exponentials --------------------------------------------------------------------------------------------------------------


def integer_bits(b: Vectors, n: Vector) -> Vector:
    """Low bits of an integral double, |n| < 2**51, as int64 lanes (high bits are of no use)."""
    return b.bits(b.add(n, b.like(n, _MAGIC)))


def _power_of_two(b: Vectors, n: Vector) -> Vector:
    """2**n for an integral double, |n| < 1022."""
    bits = integer_bits(b, n)
    return b.from_bits(b.add(b.shift_left(bits, b.like(bits, 52)), b.like(bits, 1023 << 52)))


def _exp_parts(b: Vectors, w: Vector) -> tuple[Vector, Vector]:
    """(2**n, p) with ``e**w = 2**n * (1 + p)``; w is clamped to where fp32 has long overflowed."""
    w = clamp(b, w, -250.0, 250.0)
    n = b.round_even(b.mul(w, b.like(w, 1 / _LN2)))
    r = b.fma(n, b.like(w, -_LN2), w)
    return _power_of_two(b, n), b.fma(b.mul(r, r), horner(b, r, tables.EXPM1), r)


def _exp(b: Vectors, w: Vector) -> Vector:
    scale, p = _exp_parts(b, w)
    return b.fma(scale, p, scale)


def _expm1(b: Vectors, w: Vector) -> Vector:
    scale, p = _exp_parts(b, w)
    return b.fma(scale, p, b.sub(scale, b.like(w, 1.0)))


def _exp2(b: Vectors, w: Vector) -> Vector:
    w = clamp(b, w, -300.0, 300.0)
    n = b.round_even(w)
    return b.mul(horner(b, b.sub(w, n), tables.EXP2), _power_of_two(b, n))


def expm1(b: Vectors, x: Vector) -> Vector:
    return keep_zero(b, x, single(b, _expm1(b, wide(b, x))))


def sinh(b: Vectors, x: Vector) -> Vector:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|): no cancellation near 0."""
    t = _expm1(b, wide(b, b.abs(x)))
    twice = b.add(t, b.div(t, b.add(t, b.like(t, 1.0))))
    return b.copysign(single(b, b.mul(twice, b.like(t, 0.5))), x)


def cosh(b: Vectors, x: Vector) -> Vector:
    e = _exp(b, wide(b, b.abs(x)))
    half = b.mul(e, b.like(e, 0.5))
    return single(b, b.add(half, b.div(b.like(e, 0.5), e)))


def erfc(b: Vectors, x: Vector) -> Vector:
    """``exp(-a²) * P((a-2)/(a+2)) / (1+2a)`` with a = |x|; fp32's square is exact in fp64."""
    a = clamp(b, b.abs(wide(b, x)), 0.0, 10.19)
    two = b.like(a, 2.0)
    t = b.div(b.sub(a, two), b.add(a, two))
    y = b.mul(horner(b, t, tables.ERFC), _exp(b, b.neg(b.mul(a, a))))
    y = b.div(y, b.fma(a, two, b.like(a, 1.0)))
    negative = b.compare("lt", x, b.like(x, 0.0))
    return single(b, b.select(negative, b.sub(two, y), y))


# -- logarithms ----------------------------------------------------------------------------------------------------------------


def _log1p_reduced(b: Vectors, t: Vector) -> Vector:
    """log(1 + t) for t in [-1/4, 1/2]."""
    return b.fma(b.mul(t, t), horner(b, t, tables.LOG1P), t)


def _split_single(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(exponent, mantissa - 1) in fp64 of positive fp32 numbers."""
    exponent, mantissa = split(b, x)
    t = wide(b, mantissa)
    return wide(b, exponent), b.sub(t, b.like(t, 1.0))


def _split_double(b: Vectors, w: Vector) -> tuple[Vector, Vector]:
    """The same of positive normal fp64 numbers; the exponent is cut out of the upper 32 bits."""
    bits = b.bits(w)
    offset = b.sub(bits, b.like(bits, 0x3FE8 << 48))  # bits of 0.75
    upper = b.convert(b._op("lshr", offset, b.like(bits, 32)), _D.DT_INT32)
    exponent = b.shift_right(upper, b.like(upper, 20))
    power = b.shift_left(b.convert(exponent, _D.DT_INT64), b.like(bits, 52))
    mantissa = b.from_bits(b.sub(bits, power))
    return wide(b, exponent), b.sub(mantissa, b.like(mantissa, 1.0))


def _log(b: Vectors, exponent: Vector, t: Vector) -> Vector:
    return b.fma(exponent, b.like(t, _LN2), _log1p_reduced(b, t))


def _log2(b: Vectors, exponent: Vector, t: Vector) -> Vector:
    return b.fma(_log1p_reduced(b, t), b.like(t, 1 / _LN2), exponent)


def log2(b: Vectors, x: Vector) -> Vector:
    return log_specials(b, x, single(b, _log2(b, *_split_single(b, x))))


def log10(b: Vectors, x: Vector) -> Vector:
    natural = _log(b, *_split_single(b, x))
    return log_specials(b, x, single(b, b.mul(natural, b.like(natural, 1 / math.log(10)))))


def _log1p(b: Vectors, w: Vector) -> Vector:
    """log(1 + w), w > -1 and below 2**200: 1 + w loses the digits of a small w, there the series' three terms are enough."""
    sum_ = b.add(w, b.like(w, 1.0))
    large = _log(b, *_split_double(b, sum_))
    small = b.mul(w, horner(b, w, (1.0, -0.5, 1 / 3)))
    return b.select(b.compare("lt", b.abs(w), b.like(w, 2.0**-16)), small, large)


def log1p(b: Vectors, x: Vector) -> Vector:
    one_plus = b.add(x, b.like(x, 1.0))  # only looked at for its sign, zero, infinity and NaN
    result = log_specials(b, one_plus, single(b, _log1p(b, wide(b, x))))
    # Tiny negative x: the rounded sum says 1, and -0 must stay.
    return keep_zero(b, x, result)


def asinh(b: Vectors, x: Vector) -> Vector:
    """log1p(a + a² / (1 + sqrt(a² + 1)))."""
    a = clamp(b, b.abs(wide(b, x)), 0.0, 2.0**129)
    one = b.like(a, 1.0)
    square = b.mul(a, a)
    inner = b.add(a, b.div(square, b.add(one, b.sqrt(b.add(square, one)))))
    result = single(b, _log1p(b, inner))
    result = b.select(b.compare("lt", b.abs(x), b.like(x, float("inf"))), result, b.abs(x))
    return b.copysign(result, x)


def acosh(b: Vectors, x: Vector) -> Vector:
    """log1p(t + sqrt(t (t + 2))) with t = x - 1."""
    t = clamp(b, b.sub(wide(b, x), b.like(wide(b, x), 1.0)), -1.0, 2.0**129)
    result = single(b, _log1p(b, b.add(t, b.sqrt(b.mul(t, b.add(t, b.like(t, 2.0)))))))
    result = b.select(b.compare("lt", x, b.like(x, float("inf"))), result, x)
    return b.select(b.compare("lt", x, b.like(x, 1.0)), b.like(x, float("nan")), result)


def atanh(b: Vectors, x: Vector) -> Vector:
    """log1p(2a / (1 - a)) / 2."""
    a = b.abs(wide(b, x))
    # At 1 the quotient is infinite; a stand-in keeps the logarithm finite there and the value is chosen below.
    ratio = clamp(b, b.div(b.add(a, a), one_minus(b, a)), -0.5, 2.0**60)
    result = single(b, b.mul(_log1p(b, ratio), b.like(a, 0.5)))
    one = b.like(x, 1.0)
    result = b.select(b.compare("eq", b.abs(x), one), b.like(x, float("inf")), result)
    result = b.select(b.compare("le", b.abs(x), one), result, b.like(x, float("nan")))
    return b.copysign(result, x)


def cbrt(b: Vectors, x: Vector) -> Vector:
    exponent, t = _split_single(b, b.abs(x))
    third = b.mul(_log2(b, exponent, t), b.like(t, 1 / 3))
    result = single(b, _exp2(b, third))
    plain = b.compare("lt", b.abs(x), b.like(x, float("inf")))
    return keep_zero(b, x, b.copysign(b.select(plain, result, b.abs(x)), x))


# -- powers --------------------------------------------------------------------------------------------------------------------


def power(b: Vectors, x: Vector, y: Vector) -> Vector:
    """C99 ``pow``: 2**(y log2 |x|), then sign and the cases that ignore a NaN."""
    size, one, zero = b.abs(x), b.like(x, 1.0), b.like(x, 0.0)
    logarithm = _log2(b, *_split_single(b, size))
    infinite = b.like(logarithm, float("inf"))
    logarithm = b.select(b.compare("eq", size, zero), b.neg(infinite), logarithm)
    logarithm = b.select(b.compare("eq", size, b.like(x, float("inf"))), infinite, logarithm)
    result = single(b, _exp2(b, b.mul(wide(b, y), logarithm)))
    result = b.select(b.compare("eq", size, one), one, result)  # also with an infinite y
    result = b.select(b.mask_or(b.compare("uno", x, y), b.compare("uno", y, y)), b.add(x, y), result)
    result = _signed_power(b, x, y, result)
    always_one = b.mask_or(b.compare("eq", y, zero), b.compare("eq", x, one))
    return b.select(always_one, one, result)


def _signed_power(b: Vectors, x: Vector, y: Vector, result: Vector) -> Vector:
    """Negative x: NaN unless y is integral (numbers from 2**24 up are even integers, so is infinity), minus for odd y."""
    integral = b.compare("eq", b.trunc(y), y)
    half = b.mul(y, b.like(y, 0.5))
    even = b.compare("eq", b.trunc(half), half)
    odd = b.mask_and(integral, b.mask_not(even))
    # The sign of x as a mask, -0 included.
    negative = b.compare("lt", b.bits(x), b.constant(0, _D.DT_INT32))
    result = b.select(b.mask_and(negative, odd), b.neg(result), result)
    refused = b.mask_and(b.compare("lt", x, b.like(x, 0.0)), b.mask_not(integral))
    finite = b.compare("lt", b.abs(x), b.like(x, float("inf")))
    return b.select(b.mask_and(refused, finite), b.like(x, float("nan")), result)


def hypot(b: Vectors, x: Vector, y: Vector) -> Vector:
    """Squares and their sum cannot overflow in fp64; infinite if either side is, even beside a NaN."""
    v, w = wide(b, x), wide(b, y)
    result = single(b, b.sqrt(b.fma(v, v, b.mul(w, w))))
    infinite = b.like(x, float("inf"))
    either = b.mask_or(b.compare("eq", b.abs(x), infinite), b.compare("eq", b.abs(y), infinite))
    return b.select(either, infinite, result)


# -- remainder -----------------------------------------------------------------------------------------------------------------


def fmod(b: Vectors, x: Vector, y: Vector) -> Vector:
    """C ``fmod``, exact: subtract multiples of y scaled by powers of two until the rest is smaller than y."""
    f = b.function
    rest, divisor = b.abs(wide(b, x)), b.abs(wide(b, y))
    regular = b.mask_and(b.compare("lt", rest, b.like(rest, float("inf"))), b.compare("gt", divisor, b.like(rest, 0.0)))
    divisor = clamp(b, b.select(regular, divisor, b.like(rest, 1.0)), 0.0, 2.0**200)  # an infinite one leaves x as it is
    rest = b.select(regular, rest, b.like(rest, 0.0))
    with f.repeat([(_DOUBLE, rest.name)], "fmod") as loop:
        left = _fmod_step(b, rest._replace(name=loop.carried[0]), divisor)
        loop.next, loop.again = [left.name], b.any(b.compare("ge", left, divisor))
    result = b.copysign(single(b, left), x)
    return b.select(regular, result, b.like(x, float("nan")))


def _fmod_step(b: Vectors, rest: Vector, divisor: Vector) -> Vector:
    """``rest`` modulo ``divisor * 2**k``, the k that leaves a quotient below 2**27 or so; every operation is exact."""
    exponents = [b._op("lshr", b.bits(v), b.constant(52, _D.DT_INT64)) for v in (rest, divisor)]
    excess = b.sub(b.sub(*exponents), b.constant(26, _D.DT_INT64))
    narrow = b.convert(excess, _D.DT_INT32)
    lifted = b.convert(b.max(narrow, b.like(narrow, 0)), _D.DT_INT64)
    scaled = b.from_bits(b.add(b.bits(divisor), b.shift_left(lifted, b.constant(52, _D.DT_INT64))))
    quotient = b.trunc(b.div(rest, scaled))
    left = b.fma(quotient, b.neg(scaled), rest)
    # The rounded quotient may be one too large.
    return b.select(b.compare("lt", left, b.like(left, 0.0)), b.add(left, scaled), left)
