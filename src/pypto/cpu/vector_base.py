"""What the parts of ``Vectors`` share: the vector value, LLVM's names of its type, constants."""

from __future__ import annotations

import re
from typing import NamedTuple

from pypto.cpu.target import Target
from pypto.cpu.text import Function, double_bits, float_bits
from pypto.cpu.vector_facts import Facts
from pypto.dtypes import DataType

LANES = 16  # on every machine, so that reductions add in the same order everywhere

_D = DataType
_ELEMENTS = {_D.DT_FP32: "float", _D.DT_DOUBLE: "double", _D.DT_BOOL: "i1"}
_WIDENED = frozenset(
    {_D.DT_BF16, _D.DT_FP16, _D.DT_FP8, _D.DT_HF8, _D.DT_FP8E4M3, _D.DT_FP8E5M2, _D.DT_FP8E8M0, _D.DT_FP4_E2M1, _D.DT_FP4_E1M2}
)
_BYTES = frozenset({_D.DT_FP4_E2M1X2, _D.DT_FP4_E1M2X2})
_HALF_EXACT = frozenset({"fadd", "fsub", "fmul", "fdiv", "sqrt"})
_RAISES = frozenset({"fadd", "fsub", "fmul", "fdiv", "fma"})
_KEEPS_TYPE = frozenset({"fneg", "fabs", "copysign", "floor", "ceil", "trunc", "roundeven"})
_SPLAT = re.compile(r"splat \(\w+ (-?\d+)\)")


def compute_type(dtype: DataType) -> DataType:
    """The type arithmetic is done in: fp32 for the narrower floats, the type itself otherwise.

    >>> compute_type(DataType.DT_BF16)
    DataType.DT_FP32
    """
    if dtype in _WIDENED:
        return _D.DT_FP32
    return _D.DT_UINT8 if dtype in _BYTES else dtype


def element_text(dtype: DataType) -> str:
    """LLVM's name of one element of a compute type; bool is a mask bit (``i1``)."""
    return _ELEMENTS.get(dtype) or f"i{dtype.bits}"


def vector_text(dtype: DataType, lanes: int = LANES) -> str:
    """LLVM's name of a vector of a compute type."""
    return f"<{lanes} x {element_text(dtype)}>"


class Vector(NamedTuple):
    """A vector value: LLVM name, compute type (``DT_BOOL``: a mask), lanes."""

    name: str
    dtype: DataType
    lanes: int = LANES

    @property
    def type(self) -> str:
        return vector_text(self.dtype, self.lanes)

    @property
    def element(self) -> str:
        return element_text(self.dtype)


def splat_number(vector: Vector) -> int | None:
    """The integer a constant vector repeats, or None when it is not such a constant."""
    found = _SPLAT.fullmatch(vector.name)
    return int(found[1]) if found else None


class Base:
    """``function`` is being written, ``target`` decides spellings, ``dtype`` is the operands' compute type."""

    def __init__(self, function: Function, target: Target, dtype: DataType) -> None:
        self.function = function
        self.target = target
        self.dtype = compute_type(dtype)
        if function.facts is None:
            function.facts = Facts()
        self.facts: Facts = function.facts
        self.native_half = target.isa == "avx512" and target.has("avx512fp16")

    def constant(self, value: float | int, dtype: DataType | None = None, lanes: int = LANES) -> Vector:
        """Every lane ``value``, in the operands' type unless ``dtype`` says otherwise. Integers wrap, floats round."""
        kind = self.dtype if dtype is None else compute_type(dtype)
        if kind is _D.DT_FP32:
            text = float_bits(value)
        elif kind is _D.DT_DOUBLE:
            text = double_bits(value)
        elif kind is _D.DT_BOOL:
            text = "true" if value else "false"
        else:
            text = str(_wrapped(int(value), kind))
        return Vector(f"splat ({element_text(kind)} {text})", kind, lanes)

    def like(self, vector: Vector, value: float | int) -> Vector:
        """A constant of ``vector``'s type."""
        return self.constant(value, vector.dtype, vector.lanes)

    def splat(self, name: str, dtype: DataType | None = None, lanes: int = LANES) -> Vector:
        """A run-time scalar (already of the compute type's element) in every lane."""
        kind = self.dtype if dtype is None else compute_type(dtype)
        return Vector(self.function.splat(element_text(kind), name, lanes), kind, lanes)

    def extract(self, vector: Vector, lane: int = 0) -> str:
        """One lane as a scalar of ``vector.element``."""
        return self.function.define(f"extractelement {vector.type} {vector.name}, i64 {lane}")

    def iota(self, start: str | int = 0, dtype: DataType = _D.DT_INT64) -> Vector:
        """``start``, ``start + 1`` …; ``start`` is a scalar of ``dtype`` (an integer type)."""
        numbers = ", ".join(f"{element_text(dtype)} {lane}" for lane in range(LANES))
        steps = Vector(f"<{numbers}>", dtype)
        if start in (0, "0"):
            return steps
        first = self.splat(str(start), dtype)
        return self._op("add", first, steps)

    # -- one-liners the parts are written with ---------------------------------------------------------------------------------

    def _op(self, code: str, *operands: Vector) -> Vector:
        first = operands[0]
        made = first._replace(name=self.function.op(code, first.type, *(v.name for v in operands)))
        if first.dtype.is_float:
            self._learn(code, made, operands)
        return made

    def _intrinsic(self, name: str, *operands: Vector, extra: tuple[tuple[str, str], ...] = ()) -> Vector:
        """``llvm.<name>.v16f32`` of operands of one type."""
        first = operands[0]
        suffix = f"v{first.lanes}{'f' if first.dtype.is_float else 'i'}{1 if first.dtype is _D.DT_BOOL else first.dtype.bits}"
        arguments = (*((v.type, v.name) for v in operands), *extra)
        made = first._replace(name=self.function.intrinsic(first.type, f"llvm.{name}.{suffix}", *arguments))
        if first.dtype.is_float:
            self._learn(name, made, operands)
        return made

    def _cast(self, code: str, vector: Vector, dtype: DataType) -> Vector:
        target = vector_text(dtype, vector.lanes)
        return Vector(self.function.cast(code, vector.type, vector.name, target), dtype, vector.lanes)

    def _learn(self, code: str, made: Vector, operands: tuple[Vector, ...]) -> None:
        """Facts about the result of float arithmetic."""
        facts = self.facts
        if all(facts.is_clean(v.name) for v in operands):
            facts.clean.add(made.name)
        if code in _RAISES:
            facts.raised.add(made.name)
        if code in _KEEPS_TYPE and (kind := facts.held.get(operands[0].name)):
            facts.held[made.name] = kind
        if self.native_half and code in _HALF_EXACT:
            halves = [facts.half_of(v.name) for v in operands]
            if all(halves):
                facts.origin[made.name] = (code, *(h for h in halves if h))

    def _mask(self, text: str, lanes: int) -> Vector:
        return Vector(self.function.define(text), _D.DT_BOOL, lanes)


def _wrapped(value: int, dtype: DataType) -> int:
    """Two's complement number of the type's width; LLVM takes the signed spelling for either signedness."""
    bits = dtype.bits
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low
