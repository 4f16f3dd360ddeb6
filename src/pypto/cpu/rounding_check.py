"""The fast rounding to bf16 against the exact one on every fp32 number: right, or a flag is raised (``cpu/emit_nest_watched.py``).

    python -m pypto.cpu.rounding_check                all 2**32 patterns, a few minutes
    python -m pypto.cpu.rounding_check 1000003        every so many

Ordinary numbers (0, and 2**-126 up to 2**112, quiet NaNs that are clean) must be right and raise nothing, a block at a time. The others are
rounded one by one: each must be right or raise a flag of its own.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from pypto.cpu import link
from pypto.cpu.emit_nest_watched import raised_by
from pypto.cpu.target import Target, host
from pypto.cpu.text import Module
from pypto.cpu.vector_facts import Facts
from pypto.cpu.vectors import LANES, Vector, Vectors
from pypto.dtypes import DataType

BLOCK = 1 << 20
_FLOAT = DataType.DT_FP32
Run = Callable[[np.ndarray], "tuple[np.ndarray, np.ndarray]"]
_POINTERS = [("ptr", "x"), ("ptr", "y"), ("ptr", "flags"), ("i64", "n")]


@cache
def rounding(target: Target, signless: bool, single: bool) -> Run:
    """The fast rounding of numbers taken for clean."""

    def rounded(b: Vectors, vector: Vector) -> Vector:
        b.facts.clean.add(vector.name)
        b.facts.signless = signless
        return b.rounded(vector, DataType.DT_BF16)

    return flagging(target, rounded, single)


def flagging(target: Target, compute: Callable[[Vectors, Vector], Vector], single: bool, watched: bool = True) -> Run:
    """fp32 numbers (a multiple of 16) → (``compute`` of them, whether a flag was raised: by each if ``single``, else by any)."""
    module = Module()
    _add_inner(module, target, compute, watched)
    f = module.function("void", "run", _POINTERS)
    place = f.scratch("i32", 1, align=4)
    x, y, flags, count = f.arguments
    step = 1 if single else count
    with f.loop(0, count, step) as loop:
        arguments = [("ptr", f.gep("float", x, loop.index)), ("ptr", f.gep("float", y, loop.index)), ("i64", step)]
        raised = raised_by(f, place, lambda: f.call("void", "@inner", *arguments))
        f.store("i8", f.cast("zext", "i1", raised, "i8"), f.gep("i8", flags, loop.index), 1)
    f.ret()
    library = link.load(target.compile(module.text()), exports=["run"])
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(library["run"])

    def run(numbers: np.ndarray, keep: link.Library = library) -> tuple[np.ndarray, np.ndarray]:
        made, raised = np.empty(len(numbers) + LANES, np.float32), np.zeros(len(numbers), np.uint8)
        call(numbers.ctypes.data, made.ctypes.data, raised.ctypes.data, len(numbers))
        return made[: len(numbers)], raised != 0

    return run


def _add_inner(module: Module, target: Target, compute: Callable[[Vectors, Vector], Vector], watched: bool) -> None:
    """``n`` numbers: 16 at a time, or one in all lanes where ``n`` is 1."""
    f = module.function("void", "inner", [("ptr", "x"), ("ptr", "y"), ("i64", "n")], linkage="internal", attributes="noinline")
    f.facts = Facts(watched=watched)
    b = Vectors(f, target, _FLOAT)
    x, y, count = f.arguments
    with f.when(f.icmp("eq", "i64", count, 1)):
        b.store(_FLOAT, compute(b, b.load_broadcast(_FLOAT, x)), y)
    whole = f.op("and", "i64", count, -LANES)
    with f.loop(0, whole, LANES) as loop:
        vector = b.load(_FLOAT, f.gep("float", x, loop.index))
        b.store(_FLOAT, compute(b, vector), f.gep("float", y, loop.index))
    f.ret()


def expected(numbers: np.ndarray) -> np.ndarray:
    """Bits of the nearest bf16, ties to even, as fp32; clean NaNs quieted."""
    bits = numbers.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(numbers), bits | np.uint32(0x00400000), rounded)


def check(numbers: np.ndarray, target: Target, signless: bool) -> None:
    """AssertionError for a number that becomes a wrong one without a flag, or for an ordinary one with a flag."""
    numbers = numbers[~np.isnan(numbers) | ((numbers.view(np.uint32) & np.uint32(0xFFFF)) == 0)]
    signalling = np.isnan(numbers) & ((numbers.view(np.uint32) & np.uint32(0x00400000)) == 0)
    size = np.abs(numbers)
    rare = (size < 2.0**-126) & (size != 0) | (size >= 2.0**112) | signalling
    ordinary = numbers[~rare]
    ordinary = np.concatenate([ordinary, np.ones(-len(ordinary) % LANES, np.float32)])
    made, raised = rounding(target, signless, False)(ordinary)
    if raised.any():
        raise AssertionError(f"a flag for ordinary numbers between {ordinary[0]!r} and {ordinary[-1]!r}")
    _compare(ordinary, made, raised, signless)
    if rare.any():
        _compare(numbers[rare], *rounding(target, signless, True)(numbers[rare]), signless)


def _compare(numbers: np.ndarray, made: np.ndarray, raised: np.ndarray, signless: bool) -> None:
    wrong = (made.view(np.uint32) != expected(numbers)) & ~raised
    if signless:
        wrong &= (numbers != 0) | (made != 0)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise AssertionError(f"{numbers[first]!r} became {made[first]!r} without a flag")


def check_all(step: int = 1, target: Target | None = None) -> None:
    """Every ``step``-th pattern, with the sign of zero kept and free."""
    target = target or host()
    for signless in (False, True):
        for start in range(0, 1 << 32, BLOCK * step):
            patterns = np.arange(start, min(1 << 32, start + BLOCK * step), step, dtype=np.uint64)
            check(patterns.astype(np.uint32).view(np.float32), target, signless)
        print(f"{target.isa}, sign of zero {'free' if signless else 'kept'}: every {step}th pattern right or flagged", flush=True)


if __name__ == "__main__":
    check_all(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
