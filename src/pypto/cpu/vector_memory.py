"""Loads and stores of ``Vectors``: whole vectors, tails, strides, single elements spread out, gathers.

``tail(count)`` describes a last vector of which only the first ``count`` lanes exist (1 ≤ count ≤ 16); nothing outside them is
read or written, dead lanes read as 0. Spelling: masked instructions where the machine has them for the element size, else a small
loop through the stack in an ``internal`` function. User data is aligned to its element only.
"""

from __future__ import annotations

from typing import NamedTuple

from pypto.cpu.text import Module
from pypto.cpu.vector_base import LANES, Vector, compute_type, element_text
from pypto.cpu.vector_conversion import Conversion
from pypto.dtypes import DataType

_D = DataType
_STORED = {_D.DT_BF16: "i16", _D.DT_FP16: "i16", _D.DT_BOOL: "i8"}


def stored_element(dtype: DataType) -> str:
    """LLVM's name of one stored element."""
    if dtype in _STORED:
        return _STORED[dtype]
    return "i8" if dtype.size == 1 else element_text(compute_type(dtype))


class Tail(NamedTuple):
    """A last, partial vector: how many lanes exist (i64), and which (a mask)."""

    length: str
    mask: Vector


class Memory(Conversion):
    def tail(self, count: str | int) -> Tail:
        """The first ``count`` lanes (i64 value, 1 … 16)."""
        if isinstance(count, int):
            lanes = ", ".join(f"i1 {'true' if lane < count else 'false'}" for lane in range(LANES))
            return Tail(str(count), Vector(f"<{lanes}>", _D.DT_BOOL))
        narrow = self.function.cast("trunc", "i64", count, "i32")
        lanes_32 = self.iota(dtype=_D.DT_UINT32)
        return Tail(count, self.compare("lt", lanes_32, self.splat(narrow, _D.DT_UINT32)))

    # -- contiguous ------------------------------------------------------------------------------------------------------------

    def load(self, dtype: DataType, pointer: str, tail: Tail | None = None, align: int = 0) -> Vector:
        """Sixteen neighbouring elements at ``pointer``, in compute form."""
        element = stored_element(dtype)
        type = f"<{LANES} x {element}>"
        align = align or dtype.size
        if tail is None:
            return self.widen(self.function.load(type, pointer, align), dtype)
        if not self._masks(dtype.size):
            return self.widen(self._tail_load(dtype, pointer, tail), dtype)
        stored = self.function.intrinsic(
            type,
            f"llvm.masked.load.{_suffix(element)}.p0",
            (f"ptr align {align}", pointer),
            (tail.mask.type, tail.mask.name),
            (type, "zeroinitializer"),
        )
        return self.widen(stored, dtype)

    def store(
        self, dtype: DataType, vector: Vector, pointer: str, tail: Tail | None = None, align: int = 0, streaming: bool = False
    ) -> None:
        """Write sixteen neighbouring elements, rounded to ``dtype``. ``streaming`` bypasses the caches and needs ``align=64``."""
        element = stored_element(dtype)
        type = f"<{LANES} x {element}>"
        align = align or dtype.size
        stored = self.narrow(vector, dtype)
        if tail is None:
            self.function.store(type, stored, pointer, align, self.bypassing() if streaming else "")
        elif tail.length == "1":
            # LLVM 22 writes 4 bytes for a masked store of one narrow element with a constant mask.
            self.function.store(element, self.function.define(f"extractelement {type} {stored}, i64 0"), pointer, align)
        elif self._masks(dtype.size):
            arguments = ((type, stored), (f"ptr align {align}", pointer), (tail.mask.type, tail.mask.name))
            self.function.intrinsic("void", f"llvm.masked.store.{_suffix(element)}.p0", *arguments)
        else:
            self._tail_store(dtype, stored, pointer, dtype.size, tail.length)

    def bypassing(self) -> str:
        """What a store that bypasses the caches ends with."""
        return f", !nontemporal {self.function.module.metadata('!{i32 1}')}"

    def _masks(self, size: int) -> bool:
        isa = self.target.isa
        return isa == "avx512" or (isa == "avx2" and size >= 4)

    # -- strided and scattered -------------------------------------------------------------------------------------------------

    def load_broadcast(self, dtype: DataType, pointer: str) -> Vector:
        """One element in every lane."""
        element = stored_element(dtype)
        scalar = self.function.load(element, pointer, dtype.size)
        return self.widen(self.function.splat(element, scalar, LANES), dtype)

    def load_strided(self, dtype: DataType, pointer: str, stride: str | int, tail: Tail | None = None) -> Vector:
        """Elements ``pointer[lane * stride]``; ``stride`` in elements, any sign; 0 and 1 as numbers take the short ways."""
        if stride in (0, "0"):
            return self.load_broadcast(dtype, pointer)
        if stride in (1, "1"):
            return self.load(dtype, pointer, tail)
        if isinstance(stride, int):
            steps = ", ".join(f"i64 {stride * lane}" for lane in range(LANES))
            return self.gather(dtype, pointer, Vector(f"<{steps}>", _D.DT_INT64), tail)
        return self.gather(dtype, pointer, self.mul(self.iota(), self.splat(stride, _D.DT_INT64)), tail)

    def store_strided(self, dtype: DataType, vector: Vector, pointer: str, stride: str | int, tail: Tail | None = None) -> None:
        """Write ``pointer[lane * stride]``; ``stride`` in elements."""
        if stride in (1, "1"):
            self.store(dtype, vector, pointer, tail)
            return
        by = stride * dtype.size if isinstance(stride, int) else self.function.op("mul", "i64", stride, dtype.size)
        self._tail_store(dtype, self.narrow(vector, dtype), pointer, by, tail.length if tail else LANES)

    def gather(self, dtype: DataType, pointer: str, places: Vector, tail: Tail | None = None) -> Vector:
        """Elements ``pointer[places[lane]]``; ``places`` are int64 or int32 element numbers, in dead lanes anything."""
        element = stored_element(dtype)
        if tail is not None:
            # Dead lanes read what lane 0 reads: no branches, nothing foreign touched.
            first = self.splat(self.extract(places), places.dtype)
            places = self.select(tail.mask, places, first)
        addresses = self._addresses(element, pointer, places)
        type = f"<{LANES} x {element}>"
        stored = self.function.intrinsic(
            type,
            f"llvm.masked.gather.{_suffix(element)}.v{LANES}p0",
            (f"<{LANES} x ptr> align {dtype.size}", addresses),
            (f"<{LANES} x i1>", "splat (i1 true)"),
            (type, "poison"),
        )
        return self.widen(stored, dtype)

    def scatter(self, dtype: DataType, vector: Vector, pointer: str, places: Vector, tail: Tail | None = None) -> None:
        """Write ``pointer[places[lane]]``, lane 0 first, so that the last of equal places wins."""
        element = stored_element(dtype)
        mask = tail.mask.name if tail else "splat (i1 true)"
        self.function.intrinsic(
            "void",
            f"llvm.masked.scatter.{_suffix(element)}.v{LANES}p0",
            (f"<{LANES} x {element}>", self.narrow(vector, dtype)),
            (f"<{LANES} x ptr> align {dtype.size}", self._addresses(element, pointer, places)),
            (f"<{LANES} x i1>", mask),
        )

    def _addresses(self, element: str, pointer: str, places: Vector) -> str:
        return self.function.define(f"getelementptr {element}, ptr {pointer}, {places.type} {places.name}")

    # -- tails through the stack -----------------------------------------------------------------------------------------------

    def _tail_load(self, dtype: DataType, pointer: str, tail: Tail) -> str:
        element = f"i{8 * dtype.size}"
        name = f"tail_load_{element}"
        callee = self.function.module.require(name, lambda module: _make_tail_load(module, name, element, dtype.size))
        loaded = self.function.call(f"<{LANES} x {element}>", callee, ("ptr", pointer), ("i64", tail.length))
        return self._recast(loaded, element, stored_element(dtype))

    def _tail_store(self, dtype: DataType, stored: str, pointer: str, stride: str | int, count: str | int) -> None:
        """``stride`` in bytes."""
        element = f"i{8 * dtype.size}"
        name = f"strided_store_{element}"
        callee = self.function.module.require(name, lambda module: _make_strided_store(module, name, element, dtype.size))
        value = (f"<{LANES} x {element}>", self._recast(stored, stored_element(dtype), element))
        self.function.call("void", callee, value, ("ptr", pointer), ("i64", stride), ("i64", count))

    def _recast(self, name: str, source: str, target: str) -> str:
        if source == target:
            return name
        return self.function.cast("bitcast", f"<{LANES} x {source}>", name, f"<{LANES} x {target}>")


def _suffix(element: str) -> str:
    return f"v{LANES}" + {"float": "f32", "double": "f64"}.get(element, element)


def _make_tail_load(module: Module, name: str, element: str, size: int) -> None:
    type = f"<{LANES} x {element}>"
    f = module.function(type, name, [("ptr", "source"), ("i64", "count")], linkage="internal", attributes="noinline")
    source, count = f.arguments
    buffer = f.scratch(type, align=64)
    f.store(type, "zeroinitializer", buffer, 64)
    with f.loop(0, count) as loop:
        f.store(element, f.load(element, f.gep(element, source, loop.index), size), f.gep(element, buffer, loop.index), size)
    f.ret(type, f.load(type, buffer, 64))


def _make_strided_store(module: Module, name: str, element: str, size: int) -> None:
    type = f"<{LANES} x {element}>"
    parameters = [(type, "value"), ("ptr", "target"), ("i64", "stride"), ("i64", "count")]
    f = module.function("void", name, parameters, linkage="internal", attributes="noinline")
    value, target, stride, count = f.arguments
    buffer = f.scratch(type, align=64)
    f.store(type, value, buffer, 64)
    with f.loop(0, count) as loop:
        place = f.gep("i8", target, f.op("mul", "i64", loop.index, stride))
        f.store(element, f.load(element, f.gep(element, buffer, loop.index), size), place, size)
    f.ret()
