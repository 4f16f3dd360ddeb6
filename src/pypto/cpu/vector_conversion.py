"""Element types of ``Vectors``: stored form ↔ compute form, numeric conversion, cast modes.

A *stored* vector is what lies in memory (bf16, fp16: ``<16 x i16>``; fp8, bool: ``<16 x i8>``; else the compute type). ``widen``
and ``narrow`` go between; ``rounded`` is ``widen(narrow(v))`` without leaving fp32 where that is cheaper. Narrowing rounds to
nearest even, keeps denormals and makes the NaN that ml_dtypes and numpy make, except that an fp16 NaN may lose payload bits.
"""

from __future__ import annotations

from pypto.cpu.vector_base import LANES, Vector, compute_type, vector_text
from pypto.cpu.vector_reduction import Reduction
from pypto.dtypes import DataType

_D = DataType
_FLOAT_EXPONENT_BIAS = 127
_FLOAT_MANTISSA = 23


class Conversion(Reduction):
    # -- stored form -----------------------------------------------------------------------------------------------------------

    def widen(self, stored: str, dtype: DataType, lanes: int = 16) -> Vector:
        """Compute form of a stored vector (its LLVM name)."""
        made = self._widened(stored, dtype, lanes)
        if made.dtype is _D.DT_FP32 and dtype not in (_D.DT_FP32, _D.DT_FP8E8M0):  # E8M0 is not closed under negation and floor
            return self._known(made, dtype)
        return made

    def _known(self, made: Vector, dtype: DataType) -> Vector:
        self.facts.held[made.name] = dtype
        if dtype is not _D.DT_FP16:  # an fp16 NaN's payload may reach into the bits that bf16 rounding adds to
            self.facts.clean.add(made.name)
        return made

    def _widened(self, stored: str, dtype: DataType, lanes: int) -> Vector:
        if dtype is _D.DT_BOOL:
            return self.compare("ne", Vector(stored, _D.DT_UINT8, lanes), self.constant(0, _D.DT_UINT8, lanes))
        if dtype is _D.DT_FP16:
            return self._widen_half(Vector(stored, _D.DT_UINT16, lanes))
        if dtype is _D.DT_BF16:
            return self.from_bits(self._shifted_up(Vector(stored, _D.DT_UINT16, lanes), 16))
        if dtype in _EIGHT_BITS:
            return _EIGHT_BITS[dtype][0](self, Vector(stored, _D.DT_UINT8, lanes))
        return Vector(stored, compute_type(dtype), lanes)

    def narrow(self, vector: Vector, dtype: DataType) -> str:
        """Stored form of a compute vector (its LLVM name)."""
        if dtype is _D.DT_BOOL:
            return self._cast("zext", vector, _D.DT_UINT8).name
        if dtype is _D.DT_FP16:
            return self._narrow_half(vector).name
        if dtype is _D.DT_BF16:
            bits = self.bits(self.rounded(vector, dtype))._replace(dtype=_D.DT_UINT32)
            return self._cast("trunc", self._op("lshr", bits, self.like(bits, 16)), _D.DT_UINT16).name
        if dtype in _EIGHT_BITS:
            return _EIGHT_BITS[dtype][1](self, vector).name
        return vector.name

    def rounded(self, vector: Vector, dtype: DataType) -> Vector:
        """The fp32 numbers that ``dtype`` holds after storing ``vector``; what every op that yields a narrow float ends with."""
        if compute_type(dtype) is dtype or not dtype.is_float or self.facts.holds(vector.name, dtype):
            return vector
        if dtype is _D.DT_BF16:
            watched = self.facts.watched and self.facts.is_clean(vector.name)
            return self._known(self._rounded_watched(vector) if watched else self._rounded_bf16(vector), dtype)
        return self.widen(self.narrow(vector, dtype), dtype, vector.lanes)

    # -- bf16 ------------------------------------------------------------------------------------------------------------------

    def _shifted_up(self, stored: Vector, by: int) -> Vector:
        wide = self._cast("zext", stored, _D.DT_UINT32)
        return self._op("shl", wide, self.like(wide, by))

    def spread(self, joined: str, half: int) -> Vector:
        """Sixteen of 32 bf16 numbers (``<64 x i8>``) as fp32: one permutation of bytes, with zeros where its mask says (AVX512-VBMI)."""
        f = self.function
        # Read from memory: with the mask in sight, LLVM chooses a permutation of two registers, three times as slow.
        place = f.module.require("upper_halves", lambda m: m.variable("upper_halves", "i64", str(0xCCCCCCCCCCCCCCCC - (1 << 64))))
        suffix = f", !invariant.load {f.module.metadata('!{}')}"
        mask = f.cast("bitcast", "i64", f.load("i64", place, 8, suffix), "<64 x i1>")
        order = ", ".join(f"i8 {n}" for i in range(LANES) for n in (0, 0, 32 * half + 2 * i, 32 * half + 2 * i + 1))
        kind = "<64 x i8>"
        moved = f.intrinsic(kind, "llvm.x86.avx512.permvar.qi.512", (kind, joined), (kind, f"<{order}>"))
        made = f.select(mask, kind, moved, "zeroinitializer", "<64 x i1>")
        return self._known(Vector(f.cast("bitcast", kind, made, vector_text(_D.DT_FP32)), _D.DT_FP32), _D.DT_BF16)

    def _rounded_bf16(self, vector: Vector) -> Vector:
        """Integer rounding: the machine's conversion flushes denormals."""
        bits = self.bits(vector)._replace(dtype=_D.DT_UINT32)
        sum_ = self.bit_and(self._half_even(bits), self.like(bits, 0xFFFF0000))
        if not self.facts.is_clean(vector.name):
            nan = self.bit_or(self.bit_and(bits, self.like(bits, 0x80000000)), self.like(bits, 0x7FC00000))
            sum_ = self.select(self.compare("uno", vector, vector), nan, sum_)
        return self.from_bits(sum_)

    def _rounded_watched(self, vector: Vector) -> Vector:
        """Two fused multiply-adds, right or a flag is raised: see ``emit_nest_watched.py``."""
        less = self.fma(vector, self.like(vector, -65536.0), vector)
        made = self.fma(vector, self.like(vector, 65536.0), less)
        if self.facts.signless:
            return made
        sign = self.bits(vector)
        sign = self.bit_and(sign, self.like(sign, -(2**31)))
        return self.from_bits(self.bit_or(self.bits(made), sign))

    def _half_even(self, bits: Vector) -> Vector:
        """``bits + 0x7FFF``, one more where bit 16 is set. With mask registers the conditional sum is the shorter form."""
        half = self.add(bits, self.like(bits, 0x7FFF))
        if self.target.isa == "avx512":
            odd = self.compare("ne", self.bit_and(bits, self.like(bits, 0x10000)), self.like(bits, 0))
            return self.select(odd, self.add(half, self.like(bits, 1)), half)
        return self.add(half, self.bit_and(self._op("lshr", bits, self.like(bits, 16)), self.like(bits, 1)))

    # -- fp16 ------------------------------------------------------------------------------------------------------------------

    def _half_hardware(self) -> bool:
        """Whether fpext and fptrunc of half are instructions; without them LLVM calls functions that do not exist here."""
        return self.target.isa == "neon" or self.target.has("f16c")

    def _widen_half(self, stored: Vector) -> Vector:
        if not self._half_hardware():
            return self._widen_small(stored, 5, 10)
        half = self.function.cast("bitcast", stored.type, stored.name, f"<{stored.lanes} x half>")
        return self._from_half(half, stored.lanes)

    def _from_half(self, half: str, lanes: int) -> Vector:
        made = Vector(self.function.cast("fpext", f"<{lanes} x half>", half, vector_text(_D.DT_FP32, lanes)), _D.DT_FP32, lanes)
        self.facts.half[made.name] = half
        return made

    def _narrow_half(self, vector: Vector) -> Vector:
        if not self._half_hardware():
            return self._cast("trunc", self._narrow_small(vector, 5, 10, 0x7C00, 0x7E00), _D.DT_UINT16)
        stored = self.function.cast("bitcast", f"<{vector.lanes} x half>", self._as_half(vector), f"<{vector.lanes} x i16>")
        return Vector(stored, _D.DT_UINT16, vector.lanes)

    def _as_half(self, vector: Vector) -> str:
        """Rounded to ``<n x half>``: what is known already, the native instruction, or the conversion."""
        known = self.facts.half_of(vector.name)
        if known:
            return known
        type = f"<{vector.lanes} x half>"
        code, *operands = self.facts.origin.get(vector.name, ("",))
        if code == "sqrt":
            return self.function.intrinsic(type, f"llvm.sqrt.v{vector.lanes}f16", (type, operands[0]))
        if code:
            return self.function.op(code, type, *operands)
        return self.function.cast("fptrunc", vector.type, vector.name, type)

    # -- any small float: sign, exponent bits, mantissa bits -------------------------------------------------------------------

    def _widen_small(self, stored: Vector, exponent: int, mantissa: int) -> Vector:
        """IEEE-style small float (infinity and NaN in the top exponent) → fp32, without touching fp32 denormals."""
        bits = self._cast("zext", stored, _D.DT_UINT32)
        width = exponent + mantissa
        magnitude = self.bit_and(bits, self.like(bits, (1 << width) - 1))
        sign = self._op("shl", self.bit_xor(bits, magnitude), self.like(bits, 31 - width))
        bias = (1 << (exponent - 1)) - 1
        shift = _FLOAT_MANTISSA - mantissa
        moved = self._op("shl", magnitude, self.like(bits, shift))
        normal = self.add(moved, self.like(bits, (_FLOAT_EXPONENT_BIAS - bias) << _FLOAT_MANTISSA))
        # Denormals are integers in units of the smallest one.
        counted = self._cast("uitofp", magnitude, _D.DT_FP32)
        denormal = self.bits(self.mul(counted, self.like(counted, 2.0 ** (1 - bias - mantissa))))
        special = self.bit_or(moved, self.like(bits, 0x7F800000))
        top = ((1 << exponent) - 1) << mantissa
        small = self.compare("lt", magnitude, self.like(bits, 1 << mantissa))
        quiet = self.select(
            self.compare("gt", magnitude, self.like(bits, top)), self.bit_or(special, self.like(bits, 1 << 22)), special
        )
        chosen = self.select(small, denormal._replace(dtype=_D.DT_UINT32), normal)
        chosen = self.select(self.compare("ge", magnitude, self.like(bits, top)), quiet, chosen)
        return self.from_bits(self.bit_or(chosen, sign))

    def _narrow_small(self, vector: Vector, exponent: int, mantissa: int, overflow: int, nan: int, largest: int = 0) -> Vector:
        """fp32 → bits of a small float in 32-bit lanes, nearest even. Patterns above ``largest`` become ``overflow``."""
        bits = self.bits(vector)._replace(dtype=_D.DT_UINT32)
        magnitude = self.bit_and(bits, self.like(bits, 0x7FFFFFFF))
        sign = self._op("lshr", self.bit_xor(bits, magnitude), self.like(bits, 31 - exponent - mantissa))
        bias = (1 << (exponent - 1)) - 1
        shift = _FLOAT_MANTISSA - mantissa
        odd = self.bit_and(self._op("lshr", magnitude, self.like(bits, shift)), self.like(bits, 1))
        sum_ = self.add(self.add(magnitude, self.like(bits, (1 << (shift - 1)) - 1)), odd)
        rebased = self.sub(sum_, self.like(bits, (_FLOAT_EXPONENT_BIAS - bias) << _FLOAT_MANTISSA))
        normal = self._op("lshr", rebased, self.like(bits, shift))
        # Adding a number whose last place is the smallest denormal rounds there; its own bits are then taken off again.
        magic = self.constant(2.0 ** (1 - bias - mantissa + _FLOAT_MANTISSA), _D.DT_FP32, vector.lanes)
        lifted = self.bits(self.add(self.from_bits(magnitude), magic))
        denormal = self.sub(lifted, self.bits(magic))._replace(dtype=_D.DT_UINT32)
        least_normal = (1 - bias + _FLOAT_EXPONENT_BIAS) << _FLOAT_MANTISSA
        chosen = self.select(self.compare("lt", magnitude, self.like(bits, least_normal)), denormal, normal)
        limit = ((largest or overflow - 1) + 1 - (1 << mantissa)) << shift  # first rounded sum past the largest number
        limit += least_normal
        chosen = self.select(self.compare("ge", sum_, self.like(bits, limit)), self.like(bits, overflow), chosen)
        chosen = self.select(self.compare("uno", vector, vector), self.like(bits, nan), chosen)
        return self.bit_or(chosen, sign)

    # -- fp8 -------------------------------------------------------------------------------------------------------------------

    def _widen_e4m3(self, stored: Vector) -> Vector:
        """As an fp16 pattern moved by one bit the exponent is 8 too small; 0x7F is the NaN, there is no infinity."""
        wide = self._cast("zext", stored, _D.DT_UINT16)
        magnitude = self.bit_and(wide, self.like(wide, 0x7F))
        sign = self._op("shl", self.bit_xor(wide, magnitude), self.like(wide, 8))
        half = self._widen_half(self.bit_or(self._op("shl", magnitude, self.like(wide, 7)), sign))
        scaled = self.mul(half, self.like(half, 256.0))
        nan = self.copysign(self.like(half, float("nan")), half)
        return self.select(self.compare("eq", magnitude, self.like(wide, 0x7F)), nan, scaled)

    def _narrow_e4m3(self, vector: Vector) -> Vector:
        return self._cast("trunc", self._narrow_small(vector, 4, 3, 0x7F, 0x7F), _D.DT_UINT8)

    def _widen_e5m2(self, stored: Vector) -> Vector:
        wide = self._cast("zext", stored, _D.DT_UINT16)
        half = self._widen_half(self._op("shl", wide, self.like(wide, 8)))
        nan = self.copysign(self.like(half, float("nan")), half)
        return self.select(self.compare("uno", half, half), nan, half)

    def _narrow_e5m2(self, vector: Vector) -> Vector:
        return self._cast("trunc", self._narrow_small(vector, 5, 2, 0x7C, 0x7E), _D.DT_UINT8)

    def _widen_e8m0(self, stored: Vector) -> Vector:
        """A bare exponent: 2**(n - 127), 0xFF is NaN; n = 0 is the fp32 denormal 2**-127."""
        wide = self._cast("zext", stored, _D.DT_UINT32)
        power = self._op("shl", wide, self.like(wide, _FLOAT_MANTISSA))
        power = self.select(self.compare("eq", wide, self.like(wide, 0)), self.like(wide, 0x00400000), power)
        power = self.select(self.compare("eq", wide, self.like(wide, 0xFF)), self.like(wide, 0x7FC00000), power)
        return self.from_bits(power)

    def _narrow_e8m0(self, vector: Vector) -> Vector:
        """Nearest power of two, ties to the larger; zero, negative, too large and NaN give NaN (as ml_dtypes)."""
        bits = self.bits(vector)._replace(dtype=_D.DT_UINT32)
        rounded = self._op("lshr", self.add(bits, self.like(bits, 1 << (_FLOAT_MANTISSA - 1))), self.like(bits, _FLOAT_MANTISSA))
        tiny = self.select(self.compare("ge", bits, self.like(bits, 0x00400001)), self.like(bits, 1), self.like(bits, 0))
        rounded = self.select(self.compare("lt", bits, self.like(bits, 0x00800000)), tiny, rounded)
        outside = self.compare("ge", self.sub(bits, self.like(bits, 1)), self.like(bits, 0x7F400000 - 1))
        return self._cast("trunc", self.select(outside, self.like(bits, 0xFF), rounded), _D.DT_UINT8)

    # -- numeric conversion ----------------------------------------------------------------------------------------------------

    def convert(self, a: Vector, dtype: DataType) -> Vector:
        """Numeric conversion. Float → integer truncates and saturates, NaN gives 0; integers keep low bits; bool is 0 or 1;
        anything but 0 is True. A narrow float ``dtype`` gives fp32 numbers rounded to it."""
        target = compute_type(dtype)
        if target is _D.DT_BOOL:
            return a if a.dtype is target else self.compare("ne", a, self.like(a, 0))
        if a.dtype is not target:
            a = self._converted(a, target)
        return self.rounded(a, dtype)

    def _converted(self, a: Vector, target: DataType) -> Vector:
        unsigned = a.dtype.is_unsigned or a.dtype is _D.DT_BOOL
        if a.dtype.is_float and target.is_float:
            return self._cast("fpext" if target is _D.DT_DOUBLE else "fptrunc", a, target)
        if a.dtype.is_float:
            return self._saturating(a, target)
        if target.is_float:
            made = self._cast("uitofp" if unsigned else "sitofp", a, target)
            self.facts.clean.add(made.name)
            return made
        if target.bits == a.dtype.bits and a.dtype is not _D.DT_BOOL:
            return a._replace(dtype=target)
        if target.bits < a.dtype.bits:
            return self._cast("trunc", a, target)
        return self._cast("zext" if unsigned else "sext", a, target)

    def _saturating(self, a: Vector, target: DataType) -> Vector:
        code = "fptoui" if target.is_unsigned else "fptosi"
        result = vector_text(target, a.lanes)
        float_suffix = f"v{a.lanes}f{a.dtype.bits}"
        name = f"llvm.{code}.sat.v{a.lanes}i{target.bits}.{float_suffix}"
        return Vector(self.function.intrinsic(result, name, (a.type, a.name)), target, a.lanes)


_EIGHT_BITS = {
    _D.DT_FP8E4M3: (Conversion._widen_e4m3, Conversion._narrow_e4m3),
    _D.DT_FP8E5M2: (Conversion._widen_e5m2, Conversion._narrow_e5m2),
    _D.DT_FP8E8M0: (Conversion._widen_e8m0, Conversion._narrow_e8m0),
}
