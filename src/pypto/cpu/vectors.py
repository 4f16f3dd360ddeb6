"""Vectors of 16 lanes in LLVM text: the builder that op rows' ``lower`` columns and the code generator write with.

    b = Vectors(function, target, DataType.DT_FP32)       # function: text.Function, target: target.Target
    x = b.load(DataType.DT_BF16, pointer)                 # Vector(name, dtype, lanes) in compute form: bf16 arrives as fp32
    y = b.rounded(b.mul(x, b.constant(2.0)), DataType.DT_BF16)
    b.store(DataType.DT_BF16, y, other, tail=b.tail(count))

A ``Vector`` knows its compute type, so one builder may mix types; ``b.dtype`` is only the default of ``constant`` and ``splat``.
Sixteen lanes on every machine (AVX2 uses two registers, NEON four), so that reductions add in the same order everywhere.
Masks are vectors of ``DT_BOOL``. Nothing uses fast-math flags; ``fma`` is the only contraction.

values       constant(value) like(v, value) splat(scalar) iota(start) extract(v, lane)
arithmetic   add sub mul div fma neg abs min max sqrt floor ceil trunc round_even round_away copysign
masks        compare(predicate, a, b) select mask_and mask_or mask_not any(mask) → i1
bits         bit_and bit_or bit_xor bit_not shift_left shift_right bits from_bits
integers     divide_integers remainder_integers (guarded: zero divisor and overflow give 0)
types        convert(v, dtype) rounded(v, dtype) widen(stored, dtype) narrow(v, dtype) cast(v, source, target, mode, saturate)
memory       load store load_broadcast load_strided store_strided gather scatter; tail(count) for last, partial vectors
reductions   reduce(kind, v) combine(kind, a, b) reduce_argument("argmax", values, places) combine_argument shuffle lanes_of join
functions    call(name, *vectors): cpu/vectormath ("exp", "tanh" …)
"""

from __future__ import annotations

from pypto.cpu.vector_base import LANES, Vector, compute_type, element_text, vector_text
from pypto.cpu.vector_memory import Memory, Tail, stored_element
from pypto.dtypes import DataType

__all__ = ["LANES", "Tail", "Vector", "Vectors", "compute_type", "element_text", "stored_element", "vector_text"]


class Vectors(Memory):
    """See the top of the file; implements ``ops.table.Vectors``.

    >>> from pypto.cpu.target import host
    >>> from pypto.cpu.text import Module
    >>> from pypto.dtypes import DataType
    >>> f = Module().function("void", "twice", [("ptr", "x")])
    >>> b = Vectors(f, host(), DataType.DT_FP32)
    >>> x = b.load(DataType.DT_FP32, f.arguments[0])
    >>> b.add(x, x)
    Vector(name='%t2', dtype=DataType.DT_FP32, lanes=16)
    """

    def cast(self, vector: Vector, source: DataType, target: DataType, mode: str = "rint", saturate: bool = False) -> Vector:
        """The ``cast`` op on a vector of ``source`` in compute form (``ops/lower_cast.py``), rounded to ``target``.

        ``mode``: "rint round floor ceil trunc odd"; the default of float → integer is "trunc".
        """
        from pypto.ops.lower_cast import lower_cast

        inner = Vectors(self.function, self.target, source)
        return self.rounded(lower_cast(inner, vector, dtype=target, mode=mode, saturate=saturate), target)

    def call(self, name: str, *arguments: Vector) -> Vector:
        """A function of cpu/vectormath on fp32 (or fp64) vectors; its largest error is ``vectormath.ULP[name]``."""
        from pypto.cpu import vectormath

        return vectormath.call(self, name, *arguments)
