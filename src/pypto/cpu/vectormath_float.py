"""Hot functions, evaluated in fp32: exp exp2 log tanh erf sigmoid and the trivial ones.

Every function is a straight line of fused multiply-adds and integer field work; that sequence is the definition. On AVX-512 some
steps have a single instruction with the same result for every input (measured over 2**30 inputs), used instead when present.
Coefficients: least squares at Chebyshev nodes, reweighted; see scripts/fit_vectormath.py for the tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto.cpu import vectormath_tables as tables
from pypto.cpu.text import float_bits
from pypto.cpu.vector_base import LANES, Vector
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

_D = DataType
_LOG2_E = 1.44269504088896341
_LN2 = (0.693147182, -1.90465432e-9)  # sum is ln 2; the first is the nearest fp32 number
_LN2_BELOW = (0.693147123, 5.76999905e-8)  # both positive, so that -inf times them is -inf twice
_EXP = (0.50001621, 0.16667032)
_ROOTS = tuple(2.0 ** (j / 16) for j in range(16))
_EXP2 = (1.0, 0.693147182, 0.240226477, 0.0555035956, 0.00961849932, 0.00133909716, 0.000153293324)
_LOG = (0.333334506, -0.250001013, 0.199908122, -0.166470692, 0.144785494, -0.131636024, 0.104673281, -0.0450984578)
_MAGIC = 12582912.0  # 1.5 * 2**23: adding it leaves the rounded integer in the low bits
_MAGIC_BITS = 0x4B400000
_SPREAD = 0x3F400000  # bits of 0.75: the mantissa interval of log is [0.75, 1.5)


def horner(b: Vectors, x: Vector, coefficients: Sequence[float]) -> Vector:
    """``c0 + x * (c1 + x * (…))`` by fused multiply-adds, in the type of ``x``."""
    result = b.like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = b.fma(result, x, b.like(x, c))
    return result


def clamp(b: Vectors, x: Vector, low: float, high: float) -> Vector:
    """Into [low, high]; NaN falls through (one instruction each)."""
    floor, ceiling = b.like(x, low), b.like(x, high)
    x = b.select(b.compare("gt", floor, x), floor, x)
    return b.select(b.compare("lt", ceiling, x), ceiling, x)


def _scale(b: Vectors, p: Vector, n: Vector) -> Vector:
    """``p * 2**n`` for ``p`` near 1 and an integral ``n`` in fp32, |n| < 200, rounded once."""
    if b.target.isa == "avx512":
        return _masked_512(b, "scalef.ps.512", p, n)
    number = b.sub(b.bits(b.add(n, b.like(n, _MAGIC))), b.constant(_MAGIC_BITS, _D.DT_INT32))
    return _times_power(b, p, number)


def _times_power(b: Vectors, p: Vector, number: Vector) -> Vector:
    """``p * 2**number`` for an int32 vector, in two exact steps but for the last rounding."""
    half = b.shift_right(number, b.like(number, 1))
    return b.mul(b.mul(p, _power(b, half)), _power(b, b.sub(number, half)))


def _power(b: Vectors, n: Vector) -> Vector:
    """2**n as fp32 for an int32 vector in the normal range."""
    return b.from_bits(b.shift_left(b.add(n, b.like(n, 127)), b.like(n, 23)))


def _masked_512(b: Vectors, name: str, *operands: Vector) -> Vector:
    """An AVX-512 instruction with all lanes on and the current rounding mode."""
    arguments = [(v.type, v.name) for v in operands]
    rest = [(operands[0].type, "zeroinitializer"), ("i16", "-1"), ("immarg i32", "4")]
    return operands[0]._replace(name=b.function.intrinsic(operands[0].type, f"llvm.x86.avx512.mask.{name}", *arguments, *rest))


def _immediate_512(b: Vectors, name: str, x: Vector, immediate: int) -> Vector:
    arguments = [
        (x.type, x.name),
        ("immarg i32", str(immediate)),
        (x.type, "zeroinitializer"),
        ("i16", "-1"),
        ("immarg i32", "4"),
    ]
    return x._replace(name=b.function.intrinsic(x.type, f"llvm.x86.avx512.mask.{name}", *arguments))


def exp(b: Vectors, x: Vector) -> Vector:
    """``2**floor(n) * 2**(j/16) * (1 + p)`` with n in sixteenths, j its fraction; two-part ln 2, p for |r| <= ln 2 / 32.

    Clamped first, so that infinities do not become NaN in the reduction. With AVX-512 nothing is done about small numbers: they
    become 0 before the scaling, and 0 times any power is 0. Nothing at all is done where what then goes wrong raises a flag that
    is looked at: true of all bf16 numbers, which ``tests/cpu/test_rounding.py`` tries one by one.
    """
    return _exp(b, x, b.target.isa == "avx512" and b.facts.watched and b.facts.holds(x.name, _D.DT_BF16))


def _exp(b: Vectors, x: Vector, told: bool = False) -> Vector:
    if b.target.isa != "avx512":
        x = clamp(b, x, -105.0, 89.0)
    elif not told and x.name not in b.facts.not_positive:
        high = b.like(x, 89.0)
        x = b.select(b.compare("gt", x, high), high, x)
    magic = b.like(x, _MAGIC / 16)
    sum_ = b.fma(x, b.like(x, _LOG2_E), magic)
    n = b.sub(sum_, magic)
    r = b.fma(n, b.like(x, -_LN2[0]), x)
    r = b.fma(n, b.like(x, -_LN2[1]), r)
    p = b.fma(b.mul(r, r), horner(b, r, _EXP), r)
    root = _sixteenth(b, b.bits(sum_))
    scaled = b.fma(root, p, root)
    scaled = scaled if told else _unless_zero(b, scaled, x, -103.98)
    if b.target.isa == "avx512":
        return _masked_512(b, "scalef.ps.512", scaled, n)  # rounds n down
    number = b.sub(b.bits(sum_), b.constant(_MAGIC_BITS - (4 << 23), _D.DT_INT32))
    return _times_power(b, scaled, b.shift_right(number, b.like(number, 4)))


def _sixteenth(b: Vectors, bits: Vector) -> Vector:
    """2**(j/16) for j the last four bits."""
    if b.target.isa == "avx512":
        type = f"<{LANES} x float>"
        arguments = [(type, _literal(_ROOTS)), (bits.type, bits.name)]
        return Vector(b.function.intrinsic(type, "llvm.x86.avx512.permvar.sf.512", *arguments), _D.DT_FP32)
    return _lookup(b, (*_ROOTS, *_ROOTS), b.bit_and(bits, b.like(bits, 15)))


def _unless_zero(b: Vectors, p: Vector, x: Vector, limit: float) -> Vector:
    """0 instead of ``p`` where x is so small that the result rounds to 0: scaling 0 is fast, underflowing costs 100 cycles."""
    return b.select(b.compare("lt", x, b.like(x, limit)), b.like(p, 0.0), p)


def exp2(b: Vectors, x: Vector) -> Vector:
    """x minus its nearest integer is exact; on AVX-512 one instruction gives it, and 0 for infinities."""
    if b.target.isa == "avx512":
        r = _immediate_512(b, "reduce.ps.512", x, 8)
        return _scale(b, _unless_zero(b, horner(b, r, _EXP2), x, -150.5), b.sub(x, r))
    x = clamp(b, x, -160.0, 160.0)
    n = b.round_even(x)
    return _scale(b, _unless_zero(b, horner(b, b.sub(x, n), _EXP2), x, -150.5), n)


def split(b: Vectors, x: Vector) -> tuple[Vector, Vector]:
    """(exponent as int32, mantissa in [0.75, 1.5)) of a positive finite fp32 number, denormals included."""
    small = b.compare("lt", x, b.like(x, 2.0**-126))
    scaled = b.select(small, b.mul(x, b.like(x, 2.0**23)), x)
    bits = b.bits(scaled)
    exponent = b.shift_right(b.sub(bits, b.like(bits, _SPREAD)), b.like(bits, 23))
    mantissa = b.from_bits(b.sub(bits, b.shift_left(exponent, b.like(bits, 23))))
    return b.sub(exponent, b.select(small, b.like(bits, 23), b.like(bits, 0))), mantissa


def log_specials(b: Vectors, x: Vector, result: Vector) -> Vector:
    """``result`` where 0 < x < inf; log's values elsewhere."""
    result = b.select(b.compare("eq", x, b.like(x, float("inf"))), x, result)
    result = b.select(b.compare("eq", x, b.like(x, 0.0)), b.like(x, float("-inf")), result)
    return b.select(b.compare("ge", x, b.like(x, 0.0)), result, b.like(x, float("nan")))


def log(b: Vectors, x: Vector) -> Vector:
    if b.target.isa != "avx512":
        exponent, mantissa = split(b, x)
        return log_specials(b, x, _log(b, b.convert(exponent, _D.DT_FP32), mantissa))
    mantissa = _immediate_512(b, "getmant.ps.512", x, 0b1011)  # interval [3/4, 3/2), NaN for negative x
    # Exponents of x and of its mantissa: -inf and inf at 0 and inf, which then flow through to the result.
    return _log(b, b.sub(_exponent_512(b, x), _exponent_512(b, mantissa)), mantissa)


def _exponent_512(b: Vectors, x: Vector) -> Vector:
    arguments = [(x.type, x.name), (x.type, "zeroinitializer"), ("i16", "-1"), ("immarg i32", "4")]
    return x._replace(name=b.function.intrinsic(x.type, "llvm.x86.avx512.mask.getexp.ps.512", *arguments))


def _log(b: Vectors, exponent: Vector, mantissa: Vector) -> Vector:
    t = b.sub(mantissa, b.like(mantissa, 1.0))
    square = b.mul(t, t)
    tail = b.mul(b.mul(square, t), horner(b, t, _LOG))
    tail = b.fma(exponent, b.like(t, _LN2_BELOW[1]), tail)
    tail = b.fma(square, b.like(t, -0.5), tail)
    return b.fma(exponent, b.like(t, _LN2_BELOW[0]), b.add(t, tail))


# -- tables: 32 segments, four an octave --------------------------------------------------------------------------------------


def tanh(b: Vectors, x: Vector) -> Vector:
    return _by_table(b, x, tables.TANH, tables.TANH_BASE)


def erf(b: Vectors, x: Vector) -> Vector:
    return _by_table(b, x, tables.ERF, tables.ERF_BASE)


def _by_table(b: Vectors, x: Vector, columns: Sequence[Sequence[float]], base: int) -> Vector:
    """Odd, saturating function: ``c0 + d * (c1 + d * …)`` with ``d = |x| - x0`` of the segment; in segment 0 c0 is |x| itself."""
    size = b.abs(x)
    limit = b.like(x, 16.0)
    size = b.select(b.compare("lt", limit, size), limit, size)
    segment = b.sub(b.shift_right(b.bits(size), b.constant(21, _D.DT_INT32)), b.constant(base, _D.DT_INT32))
    segment = b.min(b.max(segment, b.like(segment, 0)), b.like(segment, 31))
    start, first, *rest = (_lookup(b, column, segment) for column in columns)
    d = b.sub(size, start)
    p = rest[-1]
    for c in reversed(rest[:-1]):
        p = b.fma(p, d, c)
    first = b.select(b.compare("eq", segment, b.like(segment, 0)), size, first)
    result = b.copysign(b.fma(p, d, first), x)
    return result


def _lookup(b: Vectors, column: Sequence[float], segment: Vector) -> Vector:
    """``column[segment]`` from 32 numbers."""
    if b.target.isa == "avx512":
        low, high = _literal(column[:16]), _literal(column[16:])
        type = f"<{LANES} x float>"
        arguments = [(type, low), (segment.type, segment.name), (type, high)]
        return Vector(b.function.intrinsic(type, "llvm.x86.avx512.vpermi2var.ps.512", *arguments), _D.DT_FP32)
    if b.target.isa == "avx2":
        return b.join(_lookup_8(b, column, b.lanes_of(segment, 0, 8)), _lookup_8(b, column, b.lanes_of(segment, 8, 8)))
    numbers = ", ".join(f"float {float_bits(c)}" for c in column)
    return b.gather(_D.DT_FP32, b.function.module.constant("[32 x float]", f"[{numbers}]"), segment)


def _lookup_8(b: Vectors, column: Sequence[float], segment: Vector) -> Vector:
    """Four permutations of eight numbers, chosen by bits 3 and 4 of the segment."""
    parts = []
    for start in range(0, 32, 8):
        arguments = [("<8 x float>", _literal(column[start : start + 8])), (segment.type, segment.name)]
        parts.append(Vector(b.function.intrinsic("<8 x float>", "llvm.x86.avx2.permps", *arguments), _D.DT_FP32, 8))
    odd = b.compare("ne", b.bit_and(segment, b.like(segment, 8)), b.like(segment, 0))
    upper = b.compare("gt", segment, b.like(segment, 15))
    return b.select(upper, b.select(odd, parts[3], parts[2]), b.select(odd, parts[1], parts[0]))


def _literal(numbers: Sequence[float]) -> str:
    return f"<{', '.join(f'float {float_bits(n)}' for n in numbers)}>"


# -- compositions --------------------------------------------------------------------------------------------------------------


def sigmoid(b: Vectors, x: Vector) -> Vector:
    """1 / (1 + exp(-x)), as e / (1 + e) with e = exp(-|x|) for negative x: no overflow, small results keep their digits.

    One correction step takes back what the sum and the division lost, so that the error of exp is most of what remains.
    """
    one = b.like(x, 1.0)
    e = _exp(b, b.neg(b.abs(x)))
    top = b.select(b.compare("lt", x, b.like(x, 0.0)), e, one)
    sum_ = b.add(one, e)
    lost = b.sub(e, b.sub(sum_, one))
    inverse = b.div(one, sum_)
    quotient = b.mul(top, inverse)
    rest = b.fma(b.neg(quotient), lost, b.fma(b.neg(quotient), sum_, top))
    return b.fma(rest, inverse, quotient)


def sqrt(b: Vectors, x: Vector) -> Vector:
    return b.sqrt(x)


def rsqrt(b: Vectors, x: Vector) -> Vector:
    """By division: the machine's estimates differ between vendors."""
    return b.div(b.like(x, 1.0), b.sqrt(x))


def reciprocal(b: Vectors, x: Vector) -> Vector:
    return b.div(b.like(x, 1.0), x)
