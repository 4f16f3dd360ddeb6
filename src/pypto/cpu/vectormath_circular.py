"""Circular functions and their inverses, evaluated in fp64 and rounded once to fp32, for every angle fp32 can hold.

Angles up to 2**48 are reduced by two fused steps with pi/2 in two parts; larger ones, lane by lane, by Payne and Hanek's method.
"""

from __future__ import annotations

import math

from pypto.cpu import vectormath_tables as tables
from pypto.cpu.text import Function, Module, double_bits
from pypto.cpu.vector_base import LANES, Vector
from pypto.cpu.vectormath_double import integer_bits, keep_zero, one_minus, single, wide
from pypto.cpu.vectormath_float import horner
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

_D = DataType
_HALF_PI = math.pi / 2
_HALF_PI_LOW = 6.123233995736766e-17  # pi/2 - fl(pi/2)
_LARGE_ANGLE = 2.0**48  # below, n * 2**-106 keeps 57 absolute bits; fp32 comes no closer to a multiple of pi/2 than 2**-31
_FLOAT, _DOUBLE = "<16 x float>", "<16 x double>"


def _reduce_angle(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(r, n) in fp64 with x = n pi/2 + r, |r| ≤ pi/4; n is only right modulo 4 for huge x. Infinity and NaN give a NaN r."""
    w = wide(b, x)
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
    return keep_zero(b, x, single(b, _quarter(b, r, integer_bits(b, n))))


def cos(b: Vectors, x: Vector) -> Vector:
    r, n = _reduce_angle(b, x)
    bits = integer_bits(b, n)
    return single(b, _quarter(b, r, b.add(bits, b.like(bits, 1))))


def tan(b: Vectors, x: Vector) -> Vector:
    r, n = _reduce_angle(b, x)
    bits = integer_bits(b, n)
    sine, cosine = _sin_cos(b, r)
    odd = b.compare("ne", b.bit_and(bits, b.like(bits, 1)), b.like(bits, 0))
    top, bottom = b.select(odd, b.neg(cosine), sine), b.select(odd, sine, cosine)
    return keep_zero(b, x, single(b, b.div(top, bottom)))


def _atan_reduced(b: Vectors, t: Vector) -> Vector:
    """atan(t) for t in [0, 1]."""
    square = b.mul(t, t)
    return b.fma(b.mul(square, t), horner(b, square, tables.ATAN), t)


def atan(b: Vectors, x: Vector) -> Vector:
    a = b.abs(wide(b, x))
    outside = b.compare("gt", a, b.like(a, 1.0))
    angle = _atan_reduced(b, b.select(outside, b.div(b.like(a, 1.0), a), a))
    angle = b.select(outside, one_minus(b, angle, _HALF_PI), angle)
    return b.copysign(single(b, angle), x)


def atan2(b: Vectors, y: Vector, x: Vector) -> Vector:
    v, w = b.abs(wide(b, y)), b.abs(wide(b, x))
    steep = b.compare("gt", v, w)
    low, high = b.select(steep, w, v), b.select(steep, v, w)
    ratio = b.div(low, high)
    ratio = b.select(b.compare("eq", high, b.like(high, 0.0)), b.like(high, 0.0), ratio)
    ratio = b.select(b.compare("eq", low, b.like(low, float("inf"))), b.like(low, 1.0), ratio)
    angle = _atan_reduced(b, ratio)
    angle = b.select(steep, one_minus(b, angle, _HALF_PI), angle)
    behind = b.compare("lt", b.bits(x), b.constant(0, _D.DT_INT32))
    angle = b.select(behind, one_minus(b, angle, math.pi), angle)
    result = b.select(b.compare("uno", x, y), b.add(x, y), single(b, angle))
    return b.copysign(result, y)


def _asin_parts(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(mask |x| > 1/2, asin(t)): t = |x|, or sqrt((1 - |x|) / 2) where the mask is set. NaN outside [-1, 1]."""
    a = b.abs(wide(b, x))
    outer = b.compare("gt", a, b.like(a, 0.5))
    square = b.select(outer, b.mul(one_minus(b, a), b.like(a, 0.5)), b.mul(a, a))
    t = b.select(outer, b.sqrt(square), a)
    return outer, b.fma(b.mul(square, t), horner(b, square, tables.ASIN), t)


def asin(b: Vectors, x: Vector) -> Vector:
    outer, angle = _asin_parts(b, x)
    angle = b.select(outer, b.fma(angle, b.like(angle, -2.0), b.like(angle, _HALF_PI)), angle)
    return b.copysign(single(b, angle), x)


def acos(b: Vectors, x: Vector) -> Vector:
    """pi/2 - asin(x) inside; 2 asin(t) or pi - 2 asin(t) near the ends."""
    outer, angle = _asin_parts(b, x)
    negative = b.compare("lt", x, b.like(x, 0.0))
    inner = b.sub(b.like(angle, _HALF_PI), b.select(negative, b.neg(angle), angle))
    twice = b.add(angle, angle)
    ends = b.select(negative, one_minus(b, twice, math.pi), twice)
    return single(b, b.select(outer, ends, inner))
