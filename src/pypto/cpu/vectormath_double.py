"""Functions evaluated in fp64 halves (``<16 x double>``) and rounded once to fp32: about half a unit in the last place.

The polynomials are good to 2**-37 relative or better, so the rounding is the error. Nothing needs 64-bit integer instructions
that AVX2 lacks (arithmetic shift, conversion): exponents travel through a magic addition or through 32-bit lanes.
"""

from __future__ import annotations

import math

from pypto.cpu import vectormath_tables as tables
from pypto.cpu.text import Function, Module, double_bits
from pypto.cpu.vector_base import LANES, Vector
from pypto.cpu.vectormath_float import clamp, horner, log_specials, split
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

_D = DataType
_MAGIC = 1.5 * 2.0**52  # adding it leaves the rounded integer in the low bits
_LN2 = math.log(2)
_HALF_PI = math.pi / 2
_HALF_PI_LOW = 6.123233995736766e-17  # pi/2 - fl(pi/2)
_LARGE_ANGLE = 2.0**48  # below, n * 2**-106 keeps 57 absolute bits; fp32 comes no closer to a multiple of pi/2 than 2**-31
_FLOAT, _DOUBLE = "<16 x float>", "<16 x double>"


def _wide(b: Vectors, x: Vector) -> Vector:
    return b.convert(x, _D.DT_DOUBLE)


def _single(b: Vectors, x: Vector) -> Vector:
    return b.convert(x, _D.DT_FP32)


def _keep_zero(b: Vectors, x: Vector, result: Vector) -> Vector:
    """``x`` itself where it is a zero: fused chains lose the sign of -0."""
    return b.select(b.compare("eq", x, b.like(x, 0.0)), x, result)


def _one_minus(b: Vectors, x: Vector, one: float = 1.0) -> Vector:
    return b.sub(b.like(x, one), x)


# -- exponentials --------------------------------------------------------------------------------------------------------------


def _integer_bits(b: Vectors, n: Vector) -> Vector:
    """Low bits of an integral double, |n| < 2**51, as int64 lanes (high bits are of no use)."""
    return b.bits(b.add(n, b.like(n, _MAGIC)))


def _power_of_two(b: Vectors, n: Vector) -> Vector:
    """2**n for an integral double, |n| < 1022."""
    bits = _integer_bits(b, n)
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
    return _keep_zero(b, x, _single(b, _expm1(b, _wide(b, x))))


def sinh(b: Vectors, x: Vector) -> Vector:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|): no cancellation near 0."""
    t = _expm1(b, _wide(b, b.abs(x)))
    twice = b.add(t, b.div(t, b.add(t, b.like(t, 1.0))))
    return b.copysign(_single(b, b.mul(twice, b.like(t, 0.5))), x)


def cosh(b: Vectors, x: Vector) -> Vector:
    e = _exp(b, _wide(b, b.abs(x)))
    half = b.mul(e, b.like(e, 0.5))
    return _single(b, b.add(half, b.div(b.like(e, 0.5), e)))


def erfc(b: Vectors, x: Vector) -> Vector:
    """``exp(-a²) * P((a-2)/(a+2)) / (1+2a)`` with a = |x|; fp32's square is exact in fp64."""
    a = clamp(b, b.abs(_wide(b, x)), 0.0, 10.19)
    two = b.like(a, 2.0)
    t = b.div(b.sub(a, two), b.add(a, two))
    y = b.mul(horner(b, t, tables.ERFC), _exp(b, b.neg(b.mul(a, a))))
    y = b.div(y, b.fma(a, two, b.like(a, 1.0)))
    negative = b.compare("lt", x, b.like(x, 0.0))
    return _single(b, b.select(negative, b.sub(two, y), y))


# -- logarithms ----------------------------------------------------------------------------------------------------------------


def _log1p_reduced(b: Vectors, t: Vector) -> Vector:
    """log(1 + t) for t in [-1/4, 1/2]."""
    return b.fma(b.mul(t, t), horner(b, t, tables.LOG1P), t)


def _split_single(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(exponent, mantissa - 1) in fp64 of positive fp32 numbers."""
    exponent, mantissa = split(b, x)
    t = _wide(b, mantissa)
    return _wide(b, exponent), b.sub(t, b.like(t, 1.0))


def _split_double(b: Vectors, w: Vector) -> tuple[Vector, Vector]:
    """The same of positive normal fp64 numbers; the exponent is cut out of the upper 32 bits."""
    bits = b.bits(w)
    offset = b.sub(bits, b.like(bits, 0x3FE8 << 48))  # bits of 0.75
    upper = b.convert(b._op("lshr", offset, b.like(bits, 32)), _D.DT_INT32)
    exponent = b.shift_right(upper, b.like(upper, 20))
    power = b.shift_left(b.convert(exponent, _D.DT_INT64), b.like(bits, 52))
    mantissa = b.from_bits(b.sub(bits, power))
    return _wide(b, exponent), b.sub(mantissa, b.like(mantissa, 1.0))


def _log(b: Vectors, exponent: Vector, t: Vector) -> Vector:
    return b.fma(exponent, b.like(t, _LN2), _log1p_reduced(b, t))


def _log2(b: Vectors, exponent: Vector, t: Vector) -> Vector:
    return b.fma(_log1p_reduced(b, t), b.like(t, 1 / _LN2), exponent)


def log2(b: Vectors, x: Vector) -> Vector:
    return log_specials(b, x, _single(b, _log2(b, *_split_single(b, x))))


def log10(b: Vectors, x: Vector) -> Vector:
    natural = _log(b, *_split_single(b, x))
    return log_specials(b, x, _single(b, b.mul(natural, b.like(natural, 1 / math.log(10)))))


def _log1p(b: Vectors, w: Vector) -> Vector:
    """log(1 + w), w > -1 and below 2**200: 1 + w loses the digits of a small w, there the series' three terms are enough."""
    sum_ = b.add(w, b.like(w, 1.0))
    large = _log(b, *_split_double(b, sum_))
    small = b.mul(w, horner(b, w, (1.0, -0.5, 1 / 3)))
    return b.select(b.compare("lt", b.abs(w), b.like(w, 2.0**-16)), small, large)


def log1p(b: Vectors, x: Vector) -> Vector:
    one_plus = b.add(x, b.like(x, 1.0))  # only looked at for its sign, zero, infinity and NaN
    result = log_specials(b, one_plus, _single(b, _log1p(b, _wide(b, x))))
    # Tiny negative x: the rounded sum says 1, and -0 must stay.
    return _keep_zero(b, x, result)


def asinh(b: Vectors, x: Vector) -> Vector:
    """log1p(a + a² / (1 + sqrt(a² + 1)))."""
    a = clamp(b, b.abs(_wide(b, x)), 0.0, 2.0**129)
    one = b.like(a, 1.0)
    square = b.mul(a, a)
    inner = b.add(a, b.div(square, b.add(one, b.sqrt(b.add(square, one)))))
    result = _single(b, _log1p(b, inner))
    result = b.select(b.compare("lt", b.abs(x), b.like(x, float("inf"))), result, b.abs(x))
    return b.copysign(result, x)


def acosh(b: Vectors, x: Vector) -> Vector:
    """log1p(t + sqrt(t (t + 2))) with t = x - 1."""
    t = clamp(b, b.sub(_wide(b, x), b.like(_wide(b, x), 1.0)), -1.0, 2.0**129)
    result = _single(b, _log1p(b, b.add(t, b.sqrt(b.mul(t, b.add(t, b.like(t, 2.0)))))))
    result = b.select(b.compare("lt", x, b.like(x, float("inf"))), result, x)
    return b.select(b.compare("lt", x, b.like(x, 1.0)), b.like(x, float("nan")), result)


def atanh(b: Vectors, x: Vector) -> Vector:
    """log1p(2a / (1 - a)) / 2."""
    a = b.abs(_wide(b, x))
    # At 1 the quotient is infinite; a stand-in keeps the logarithm finite there and the value is chosen below.
    ratio = clamp(b, b.div(b.add(a, a), _one_minus(b, a)), -0.5, 2.0**60)
    result = _single(b, b.mul(_log1p(b, ratio), b.like(a, 0.5)))
    one = b.like(x, 1.0)
    result = b.select(b.compare("eq", b.abs(x), one), b.like(x, float("inf")), result)
    result = b.select(b.compare("le", b.abs(x), one), result, b.like(x, float("nan")))
    return b.copysign(result, x)


def cbrt(b: Vectors, x: Vector) -> Vector:
    exponent, t = _split_single(b, b.abs(x))
    third = b.mul(_log2(b, exponent, t), b.like(t, 1 / 3))
    result = _single(b, _exp2(b, third))
    plain = b.compare("lt", b.abs(x), b.like(x, float("inf")))
    return _keep_zero(b, x, b.copysign(b.select(plain, result, b.abs(x)), x))


# -- powers --------------------------------------------------------------------------------------------------------------------


def power(b: Vectors, x: Vector, y: Vector) -> Vector:
    """C99 ``pow``: 2**(y log2 |x|), then sign and the cases that ignore a NaN."""
    size, one, zero = b.abs(x), b.like(x, 1.0), b.like(x, 0.0)
    logarithm = _log2(b, *_split_single(b, size))
    infinite = b.like(logarithm, float("inf"))
    logarithm = b.select(b.compare("eq", size, zero), b.neg(infinite), logarithm)
    logarithm = b.select(b.compare("eq", size, b.like(x, float("inf"))), infinite, logarithm)
    result = _single(b, _exp2(b, b.mul(_wide(b, y), logarithm)))
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
    v, w = _wide(b, x), _wide(b, y)
    result = _single(b, b.sqrt(b.fma(v, v, b.mul(w, w))))
    infinite = b.like(x, float("inf"))
    either = b.mask_or(b.compare("eq", b.abs(x), infinite), b.compare("eq", b.abs(y), infinite))
    return b.select(either, infinite, result)


# -- circular functions --------------------------------------------------------------------------------------------------------


def _reduce_angle(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(r, n) in fp64 with x = n pi/2 + r, |r| ≤ pi/4; n is only right modulo 4 for huge x. Infinity and NaN give a NaN r."""
    w = _wide(b, x)
    n = b.round_even(b.mul(w, b.like(w, 2 / math.pi)))
    r = b.fma(n, b.like(w, -_HALF_PI), w)
    r = b.fma(n, b.like(w, -_HALF_PI_LOW), r)
    size = b.abs(x)
    huge = b.mask_and(b.compare("ge", size, b.like(x, _LARGE_ANGLE)), b.compare("lt", size, b.like(x, float("inf"))))
    joined = b.function.either(
        b.any(huge), lambda: _reduce_huge_lanes(b, x, huge, r, n), lambda: (r.name, n.name), (_DOUBLE, _DOUBLE)
    )
    return r._replace(name=joined[0]), n._replace(name=joined[1])


def _reduce_huge_lanes(b: Vectors, x: Vector, huge: Vector, r: Vector, n: Vector) -> tuple[str, str]:
    f = b.function
    source, angles, turns = f.scratch(_FLOAT), f.scratch(_DOUBLE), f.scratch(_DOUBLE)
    f.store(_FLOAT, x.name, source, 64)
    callee = f.module.require("reduce_huge_angle", _make_reduce_huge)
    with f.loop(0, LANES) as loop:
        bits = f.load("i32", f.gep("i32", source, loop.index))
        places = [("ptr", f.gep("double", buffer, loop.index)) for buffer in (angles, turns)]
        f.call("void", callee, ("i32", bits), *places)
    found = [Vector(f.load(_DOUBLE, buffer, 64), _D.DT_DOUBLE) for buffer in (angles, turns)]
    return b.select(huge, found[0], r).name, b.select(huge, found[1], n).name


def _make_reduce_huge(module: Module) -> None:
    """Payne and Hanek's reduction in 128-bit integers: only the bits of 2/pi that matter modulo 4 are multiplied."""
    f = module.function(
        "void", "reduce_huge_angle", [("i32", "x"), ("ptr", "angle"), ("ptr", "turns")], linkage="internal", attributes="noinline"
    )
    bits, angle, turns = f.arguments
    mantissa = f.op("or", "i32", f.op("and", "i32", bits, 0x7FFFFF), 0x800000)
    exponent = f.op("sub", "i32", f.op("and", "i32", f.op("lshr", "i32", bits, 23), 255), 150)
    window = _window(f, exponent)
    product = f.op("mul", "i128", f.cast("zext", "i32", mantissa, "i128"), window)  # x * 2/pi modulo 4, in units of 2**-126
    quarter = f.op("lshr", "i128", f.op("add", "i128", product, 1 << 125), 126)
    rest = f.op("sub", "i128", product, f.op("shl", "i128", quarter, 126))
    fraction = f.cast("trunc", "i128", f.op("ashr", "i128", rest, 62), "i64")
    scaled = f.op("fmul", "double", f.cast("sitofp", "i64", fraction, "double"), double_bits(math.pi / 2 * 2.0**-64))
    count = f.cast("sitofp", "i64", f.cast("trunc", "i128", quarter, "i64"), "double")
    negative = f.icmp("slt", "i32", bits, 0)
    for value, place in ((scaled, angle), (count, turns)):
        f.store("double", f.select(negative, "double", f.op("fneg", "double", value), value), place)
    f.ret()


def _window(f: Function, exponent: str) -> str:
    """128 bits of 2/pi whose last has the weight 2**-(exponent + 126); exponents reach from 25 to 104."""
    exponent = f.select(f.icmp("slt", "i32", exponent, 0), "i32", 0, exponent)
    exponent = f.select(f.icmp("sgt", "i32", exponent, 104), "i32", 104, exponent)
    shift = f.op("sub", "i32", 384 - 126, exponent)
    # Whole 64-bit words first, the rest from a 192-bit piece.
    words = ", ".join(f"i64 {(tables.TWO_OVER_PI >> (64 * word)) & (2**64 - 1)}" for word in range(6))
    table = f.module.constant("[6 x i64]", f"[{words}]")
    word = f.cast("zext", "i32", f.op("lshr", "i32", shift, 6), "i64")
    parts = [f.load("i64", f.gep("i64", table, f.op("add", "i64", word, k))) for k in range(3)]
    wide = [f.cast("zext", "i64", part, "i192") for part in parts]
    joined = f.op("or", "i192", f.op("shl", "i192", wide[2], 128), f.op("or", "i192", f.op("shl", "i192", wide[1], 64), wide[0]))
    return f.cast(
        "trunc", "i192", f.op("lshr", "i192", joined, f.cast("zext", "i32", f.op("and", "i32", shift, 63), "i192")), "i128"
    )


def _sin_cos(b: Vectors, r: Vector) -> tuple[Vector, Vector]:
    square = b.mul(r, r)
    sine = b.fma(b.mul(square, r), horner(b, square, tables.SIN), r)
    return sine, b.fma(square, horner(b, square, tables.COS), b.like(r, 1.0))


def _quarter(b: Vectors, r: Vector, bits: Vector) -> Vector:
    """sin(r + bits pi/2) from the two low bits."""
    sine, cosine = _sin_cos(b, r)
    odd = b.compare("ne", b.bit_and(bits, b.like(bits, 1)), b.like(bits, 0))
    sign = b.shift_left(b.bit_and(bits, b.like(bits, 2)), b.like(bits, 62))
    return b.from_bits(b.bit_xor(b.bits(b.select(odd, cosine, sine)), sign))


def sin(b: Vectors, x: Vector) -> Vector:
    r, n = _reduce_angle(b, x)
    return _keep_zero(b, x, _single(b, _quarter(b, r, _integer_bits(b, n))))


def cos(b: Vectors, x: Vector) -> Vector:
    r, n = _reduce_angle(b, x)
    bits = _integer_bits(b, n)
    return _single(b, _quarter(b, r, b.add(bits, b.like(bits, 1))))


def tan(b: Vectors, x: Vector) -> Vector:
    r, n = _reduce_angle(b, x)
    bits = _integer_bits(b, n)
    sine, cosine = _sin_cos(b, r)
    odd = b.compare("ne", b.bit_and(bits, b.like(bits, 1)), b.like(bits, 0))
    top, bottom = b.select(odd, b.neg(cosine), sine), b.select(odd, sine, cosine)
    return _keep_zero(b, x, _single(b, b.div(top, bottom)))


def _atan_reduced(b: Vectors, t: Vector) -> Vector:
    """atan(t) for t in [0, 1]."""
    square = b.mul(t, t)
    return b.fma(b.mul(square, t), horner(b, square, tables.ATAN), t)


def atan(b: Vectors, x: Vector) -> Vector:
    a = b.abs(_wide(b, x))
    outside = b.compare("gt", a, b.like(a, 1.0))
    angle = _atan_reduced(b, b.select(outside, b.div(b.like(a, 1.0), a), a))
    angle = b.select(outside, _one_minus(b, angle, _HALF_PI), angle)
    return b.copysign(_single(b, angle), x)


def atan2(b: Vectors, y: Vector, x: Vector) -> Vector:
    v, w = b.abs(_wide(b, y)), b.abs(_wide(b, x))
    steep = b.compare("gt", v, w)
    low, high = b.select(steep, w, v), b.select(steep, v, w)
    ratio = b.div(low, high)
    ratio = b.select(b.compare("eq", high, b.like(high, 0.0)), b.like(high, 0.0), ratio)
    ratio = b.select(b.compare("eq", low, b.like(low, float("inf"))), b.like(low, 1.0), ratio)
    angle = _atan_reduced(b, ratio)
    angle = b.select(steep, _one_minus(b, angle, _HALF_PI), angle)
    behind = b.compare("lt", b.bits(x), b.constant(0, _D.DT_INT32))
    angle = b.select(behind, _one_minus(b, angle, math.pi), angle)
    result = b.select(b.compare("uno", x, y), b.add(x, y), _single(b, angle))
    return b.copysign(result, y)


def _asin_parts(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(mask |x| > 1/2, asin(t)): t = |x|, or sqrt((1 - |x|) / 2) where the mask is set. NaN outside [-1, 1]."""
    a = b.abs(_wide(b, x))
    outer = b.compare("gt", a, b.like(a, 0.5))
    square = b.select(outer, b.mul(_one_minus(b, a), b.like(a, 0.5)), b.mul(a, a))
    t = b.select(outer, b.sqrt(square), a)
    return outer, b.fma(b.mul(square, t), horner(b, square, tables.ASIN), t)


def asin(b: Vectors, x: Vector) -> Vector:
    outer, angle = _asin_parts(b, x)
    angle = b.select(outer, b.fma(angle, b.like(angle, -2.0), b.like(angle, _HALF_PI)), angle)
    return b.copysign(_single(b, angle), x)


def acos(b: Vectors, x: Vector) -> Vector:
    """pi/2 - asin(x) inside; 2 asin(t) or pi - 2 asin(t) near the ends."""
    outer, angle = _asin_parts(b, x)
    negative = b.compare("lt", x, b.like(x, 0.0))
    inner = b.sub(b.like(angle, _HALF_PI), b.select(negative, b.neg(angle), angle))
    twice = b.add(angle, angle)
    ends = b.select(negative, _one_minus(b, twice, math.pi), twice)
    return _single(b, b.select(outer, ends, inner))


# -- remainder -----------------------------------------------------------------------------------------------------------------


def fmod(b: Vectors, x: Vector, y: Vector) -> Vector:
    """C ``fmod``, exact: subtract multiples of y scaled by powers of two until the rest is smaller than y."""
    f = b.function
    rest, divisor = b.abs(_wide(b, x)), b.abs(_wide(b, y))
    regular = b.mask_and(b.compare("lt", rest, b.like(rest, float("inf"))), b.compare("gt", divisor, b.like(rest, 0.0)))
    divisor = clamp(b, b.select(regular, divisor, b.like(rest, 1.0)), 0.0, 2.0**200)  # an infinite one leaves x as it is
    rest = b.select(regular, rest, b.like(rest, 0.0))
    head, done = f.new_label("fmod"), f.new_label("done")
    before = f.label
    f.jump(head)
    f.block(head)
    place = f._open_phis(1)[0]
    current = rest._replace(name=place[1])
    following = _fmod_step(b, current, divisor)
    again = b.any(b.compare("ge", following, divisor))
    f._lines[place[0]] = f"{place[1]} = phi {_DOUBLE} [{rest.name}, %{before}], [{following.name}, %{f.label}]"
    f.branch(again, head, done)
    f.block(done)
    result = b.copysign(_single(b, following), x)
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
