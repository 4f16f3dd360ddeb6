"""What is known about float vectors while a function is written, so that rounding to a narrow type costs less.

Every op that yields bf16, fp16 or fp8 is rounded (ruling: fused equals unfused), which is most of the work of a bf16 chain. These
facts help, each about one SSA name (so whoever makes a new name, a phi for instance, starts without facts):

held     the fp32 vector holds only numbers of that narrow type: rounding to it again is nothing (max, relu, select … of such
         vectors too)
clean    a NaN in it has upper payload bits that integer rounding cannot carry out of or lose: no patch after rounding to bf16.
         True of widened bf16 and fp8, constants, and what arithmetic makes of clean operands: hardware passes an operand's NaN
         on, quieted, or makes its default NaN
not_positive   a difference from the largest number of its row: exp needs no upper limit
raised   made by an instruction that raises the flags of the processor, which somebody looks at (``emit_nest_watched.py``)
half     the same numbers as ``<n x half>``. With AVX512-FP16, ``+ - * / sqrt`` of two such vectors rounded to fp16 is the native
         instruction: fp32's 24 digits are at least 2 * 11 + 2, so rounding twice equals rounding once (Figueroa, "When is
         double rounding innocuous?", SIGNUM 30(3), 1995)
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pypto.dtypes import DataType

_CONSTANT = re.compile(r"splat \((?:float|double) 0x([0-9A-F]{16})\)")


@dataclass
class Facts:
    clean: set[str] = field(default_factory=set)
    not_positive: set[str] = field(default_factory=set)
    held: dict[str, DataType] = field(default_factory=dict)
    half: dict[str, str] = field(default_factory=dict)
    raised: set[str] = field(default_factory=set)
    watched: bool = False  # whether the flags are looked at after this function
    signless: bool = False  # the sign of a zero does not matter in the rounding that is being written
    origin: dict[str, tuple[str, ...]] = field(default_factory=dict)  # fp32 name: (instruction, its operands as half)

    def is_clean(self, name: str) -> bool:
        return name in self.clean or name.startswith("splat")

    def holds(self, name: str, dtype: DataType) -> bool:
        if self.held.get(name) is dtype:
            return True
        number = constant_number(name)
        return number is not None and representable(number, dtype)

    def half_of(self, name: str) -> str | None:
        found = self.half.get(name)
        if found is None and (number := constant_number(name)) is not None and representable(number, DataType.DT_FP16):
            found = f"splat (half 0xH{struct.pack('>e', number).hex().upper()})"
        return found


def constant_number(name: str) -> float | None:
    """The number that a constant float vector repeats."""
    found = _CONSTANT.fullmatch(name)
    return struct.unpack(">d", bytes.fromhex(found[1]))[0] if found else None


@lru_cache(maxsize=1024)
def representable(number: float, dtype: DataType) -> bool:
    """Whether a narrow float type holds the number exactly (NaN: no)."""
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(number)) == number
