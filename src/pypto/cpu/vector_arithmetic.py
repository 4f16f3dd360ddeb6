"""Straight-line arithmetic of ``Vectors``: floats without fast-math flags, integers that wrap and never trap, masks, bits."""

from __future__ import annotations

from pypto.cpu.vector_base import Base, Vector, splat_number
from pypto.dtypes import DataType

_D = DataType
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "uno": "uno"}
# Operands up to these widths divide exactly through the float type: the quotient's distance to the next integer, 2**-bits
# relative, is larger than the rounding error of one division.
_DIVIDES_IN_FLOAT, _DIVIDES_IN_DOUBLE = 16, 32


class Arithmetic(Base):
    def add(self, a: Vector, b: Vector) -> Vector:
        return self._op("fadd" if a.dtype.is_float else "add", a, b)

    def sub(self, a: Vector, b: Vector) -> Vector:
        return self._op("fsub" if a.dtype.is_float else "sub", a, b)

    def mul(self, a: Vector, b: Vector) -> Vector:
        return self._op("fmul" if a.dtype.is_float else "mul", a, b)

    def div(self, a: Vector, b: Vector) -> Vector:
        """Floats: IEEE division. Integers: ``divide_integers``."""
        return self._op("fdiv", a, b) if a.dtype.is_float else self.divide_integers(a, b)

    def fma(self, a: Vector, b: Vector, c: Vector) -> Vector:
        """``a * b + c`` with one rounding (integers: wrapping)."""
        return self._intrinsic("fma", a, b, c) if a.dtype.is_float else self.add(self.mul(a, b), c)

    def neg(self, a: Vector) -> Vector:
        return self._op("fneg", a) if a.dtype.is_float else self._op("sub", self.like(a, 0), a)

    def abs(self, a: Vector) -> Vector:
        """The most negative integer stays itself, as in numpy."""
        if a.dtype.is_float:
            return self._intrinsic("fabs", a)
        return a if a.dtype.is_unsigned else self._intrinsic("abs", a, extra=(("immarg i1", "false"),))

    def min(self, a: Vector, b: Vector) -> Vector:
        """NaN propagates; of two zeros the second, whatever their signs (as numpy's vector loops)."""
        return self._extreme("lt", "umin" if a.dtype.is_unsigned else "smin", a, b)

    def max(self, a: Vector, b: Vector) -> Vector:
        return self._extreme("gt", "umax" if a.dtype.is_unsigned else "smax", a, b)

    def _extreme(self, predicate: str, integer: str, a: Vector, b: Vector) -> Vector:
        if a.dtype is _D.DT_BOOL:
            return self.mask_or(a, b) if predicate == "gt" else self.mask_and(a, b)
        if not a.dtype.is_float:
            return self._intrinsic(integer, a, b)
        # select(a > b, a, b) is one instruction and yields b when either is NaN; a NaN a is patched in.
        ordered = self.select(self.compare(predicate, a, b), a, b)
        return self.select(self.compare("uno", a, a), a, ordered)

    def sqrt(self, a: Vector) -> Vector:
        return self._intrinsic("sqrt", a)

    def floor(self, a: Vector) -> Vector:
        return self._intrinsic("floor", a) if a.dtype.is_float else a

    def ceil(self, a: Vector) -> Vector:
        return self._intrinsic("ceil", a) if a.dtype.is_float else a

    def trunc(self, a: Vector) -> Vector:
        return self._intrinsic("trunc", a) if a.dtype.is_float else a

    def round_even(self, a: Vector) -> Vector:
        return self._intrinsic("roundeven", a) if a.dtype.is_float else a

    def round_away(self, a: Vector) -> Vector:
        """Halves away from zero. ``trunc(a + copysign(0.49…, a))``: the largest number below one half, so 0.49999997 stays 0."""
        if not a.dtype.is_float:
            return a
        below_half = 0.49999997 if a.dtype is _D.DT_FP32 else 0.49999999999999994
        return self.trunc(self.add(a, self.copysign(self.like(a, below_half), a)))

    def copysign(self, a: Vector, b: Vector) -> Vector:
        return self._intrinsic("copysign", a, b)

    # -- masks -----------------------------------------------------------------------------------------------------------------

    def compare(self, predicate: str, a: Vector, b: Vector) -> Vector:
        """``eq ne lt le gt ge``: with NaN only ``ne`` holds; ``uno``: either is NaN."""
        if a.dtype.is_float:
            return self._compare_floats(_FLOAT_PREDICATES[predicate], a, b)
        if predicate == "uno":
            return self.constant(0, _D.DT_BOOL, a.lanes)
        elif predicate in ("eq", "ne"):
            text = f"icmp {predicate}"
        else:
            unsigned = a.dtype.is_unsigned or a.dtype is _D.DT_BOOL
            text = f"icmp {'u' if unsigned else 's'}{predicate}"
        return self._mask(f"{text} {a.type} {a.name}, {b.name}", a.lanes)

    def _compare_floats(self, predicate: str, a: Vector, b: Vector) -> Vector:
        half, other = (self.facts.half_of(v.name) if self.native_half else None for v in (a, b))
        if half and other:
            return self._mask(f"fcmp {predicate} <{a.lanes} x half> {half}, {other}", a.lanes)
        return self._mask(f"fcmp {predicate} {a.type} {a.name}, {b.name}", a.lanes)

    def select(self, mask: Vector, a: Vector, b: Vector) -> Vector:
        made = a._replace(name=self.function.select(mask.name, a.type, a.name, b.name, mask.type))
        if a.dtype is _D.DT_FP32:
            self._learn_choice(made, mask, a, b)
        return made

    def _learn_choice(self, made: Vector, mask: Vector, a: Vector, b: Vector) -> None:
        facts = self.facts
        if facts.is_clean(a.name) and facts.is_clean(b.name):
            facts.clean.add(made.name)
        kind = facts.held.get(a.name) or facts.held.get(b.name)
        if kind and facts.holds(a.name, kind) and facts.holds(b.name, kind):
            facts.held[made.name] = kind
            half, other = facts.half_of(a.name), facts.half_of(b.name)
            if self.native_half and half and other:
                facts.half[made.name] = self.function.select(mask.name, f"<{a.lanes} x half>", half, other, mask.type)

    def mask_and(self, a: Vector, b: Vector) -> Vector:
        return self._op("and", a, b)

    def mask_or(self, a: Vector, b: Vector) -> Vector:
        return self._op("or", a, b)

    def mask_not(self, a: Vector) -> Vector:
        return self._op("xor", a, self.like(a, 1))

    def any(self, mask: Vector) -> str:
        """An i1 for ``Function.when``: whether some lane is set."""
        return self.function.intrinsic("i1", f"llvm.vector.reduce.or.v{mask.lanes}i1", (mask.type, mask.name))

    # -- bits ------------------------------------------------------------------------------------------------------------------

    def bit_and(self, a: Vector, b: Vector) -> Vector:
        return self._op("and", a, b)

    def bit_or(self, a: Vector, b: Vector) -> Vector:
        return self._op("or", a, b)

    def bit_xor(self, a: Vector, b: Vector) -> Vector:
        return self._op("xor", a, b)

    def bit_not(self, a: Vector) -> Vector:
        return self._op("xor", a, self.like(a, -1))

    def shift_left(self, a: Vector, b: Vector) -> Vector:
        """Amounts outside [0, bits) give 0, as in numpy."""
        if _within(b, a.dtype.bits):
            return self._op("shl", a, b)
        return self._guarded_shift("shl", a, b, self.like(a, 0))

    def shift_right(self, a: Vector, b: Vector) -> Vector:
        """Arithmetic for signed types; amounts outside [0, bits) fill with the sign (unsigned: 0)."""
        code = "lshr" if a.dtype.is_unsigned else "ashr"
        if _within(b, a.dtype.bits):
            return self._op(code, a, b)
        filled = self.like(a, 0) if a.dtype.is_unsigned else self._op("ashr", a, self.like(a, a.dtype.bits - 1))
        return self._guarded_shift(code, a, b, filled)

    def _guarded_shift(self, code: str, a: Vector, b: Vector, outside: Vector) -> Vector:
        bits = a.dtype.bits
        inside = self._mask(f"icmp ult {b.type} {b.name}, {self.like(b, bits).name}", b.lanes)
        # The unselected result of an out-of-range shift would be poison, hence the masked amount.
        amount = self.bit_and(b, self.like(b, bits - 1))
        return self.select(inside, self._op(code, a, amount), outside)

    def bits(self, a: Vector) -> Vector:
        """The integer vector with the same bits (fp32 → int32, fp64 → int64); integers as they are."""
        if not a.dtype.is_float:
            return a
        return self._cast("bitcast", a, _D.DT_INT64 if a.dtype is _D.DT_DOUBLE else _D.DT_INT32)

    def from_bits(self, a: Vector) -> Vector:
        """The float vector with the same bits (32-bit integers → fp32, 64-bit → fp64)."""
        return self._cast("bitcast", a, _D.DT_DOUBLE if a.dtype.bits == 64 else _D.DT_FP32)

    # -- integer division ------------------------------------------------------------------------------------------------------

    def divide_integers(self, a: Vector, b: Vector) -> Vector:
        """Truncating quotient; a zero divisor and the overflow ``min / -1`` give 0."""
        valid = self._divisible(a, b)
        return self.select(valid, self._quotient(a, self.select(valid, b, self.like(b, 1))), self.like(a, 0))

    def remainder_integers(self, a: Vector, b: Vector) -> Vector:
        """``a - b * trunc(a / b)``, sign of the dividend; a zero divisor and ``min / -1`` give 0."""
        valid = self._divisible(a, b)
        divisor = self.select(valid, b, self.like(b, 1))
        return self.sub(a, self.mul(self._quotient(a, divisor), divisor))

    def _divisible(self, a: Vector, b: Vector) -> Vector:
        nonzero = self.compare("ne", b, self.like(b, 0))
        if a.dtype.is_unsigned:
            return nonzero
        small = self.compare("eq", a, self.like(a, -(1 << (a.dtype.bits - 1))))
        overflows = self.mask_and(small, self.compare("eq", b, self.like(b, -1)))
        return self.mask_and(nonzero, self.mask_not(overflows))

    def _quotient(self, a: Vector, b: Vector) -> Vector:
        """Through floats where that is exact (vectorises), else the integer instruction lane by lane."""
        unsigned = a.dtype.is_unsigned
        if a.dtype.bits > _DIVIDES_IN_DOUBLE:
            return self._op("udiv" if unsigned else "sdiv", a, b)
        wide = _D.DT_FP32 if a.dtype.bits <= _DIVIDES_IN_FLOAT else _D.DT_DOUBLE
        widen, narrow = ("uitofp", "fptoui") if unsigned else ("sitofp", "fptosi")
        quotient = self._op("fdiv", self._cast(widen, a, wide), self._cast(widen, b, wide))
        return self._cast(narrow, quotient, a.dtype)


def _within(amount: Vector, bits: int) -> bool:
    number = splat_number(amount)
    return number is not None and 0 <= number < bits
