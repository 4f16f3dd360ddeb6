"""What machine code is made for: triple, features, and the instruction set they amount to.

    host()                  the machine at hand, or what PYPTO_CPU_ISA says (``avx512``, ``avx2``, ``neon``, ``generic``)
    named("avx2")           the host reduced to AVX2 + FMA + F16C; runs wherever the host is at least that
    named("neon")           AArch64, for compiling only unless the host is one
    target.has("avx512bf16")    the one question every use of an ``llvm.x86.*`` intrinsic must ask first:
                                an intrinsic without its feature aborts the process inside LLVM, beyond Python's reach
    target.compile(text)    LLVM text → object bytes

Instruction sets: ``avx512`` = F + BW + DQ + VL (+ FMA, F16C); ``avx2`` = AVX2 + FMA (+ F16C where present); ``neon`` = AArch64;
``generic`` = anything else. ``compiled`` is False for generic: without fused multiply-add the engine would be slower than numpy.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache, cached_property

import llvmlite.binding as llvm

from pypto import options
from pypto.cpu.link import Machine, assembly_of, compile_text

NEON_TRIPLE = "aarch64-unknown-linux-gnu"
X86_TRIPLE = "x86_64-unknown-linux-gnu"
ISA_NAMES = ("avx512", "avx2", "neon", "generic")

_AVX512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})
_AVX2 = frozenset({"avx2", "fma"})
# What a reduced x86 target may keep: everything up to the x86-64-v3 level (x86-64 psABI, micro-architecture levels).
_LEVEL1 = frozenset({"64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2"})
_LEVEL2 = _LEVEL1 | {"cx16", "crc32", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_LEVEL3 = _LEVEL2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}


@dataclass(frozen=True)
class Target:
    """A machine to generate code for. Equal targets generate equal code; ``key`` goes into cache keys."""

    triple: str
    features: frozenset[str]
    host: bool = True  # whether this process can run the code

    def has(self, *features: str) -> bool:
        return self.features.issuperset(features)

    @cached_property
    def isa(self) -> str:
        if self.triple.startswith(("aarch64", "arm64")):
            return "neon"
        if self.features >= _AVX512 | _AVX2:
            return "avx512"
        return "avx2" if self.features >= _AVX2 else "generic"

    @property
    def compiled(self) -> bool:
        """Whether the compiled engine supports this machine at all."""
        return self.isa != "generic"

    @property
    def key(self) -> str:
        return f"{self.triple} {self.feature_text}"

    @cached_property
    def feature_text(self) -> str:
        """Features as LLVM wants them. Absent ones of the host are switched off by name, so that nothing is implied."""
        here = self.triple == llvm.get_process_triple()
        absent = _detected().keys() - self.features if here and self.isa != "neon" else set()
        return ",".join([*(f"+{f}" for f in sorted(self.features)), *(f"-{f}" for f in sorted(absent))])

    @cached_property
    def machine(self) -> Machine:
        """The same for ``pypto.cpu.link`` (the triple stays empty for this machine)."""
        return Machine(self.feature_text, "" if self.triple == llvm.get_process_triple() else self.triple)

    def compile(self, text: str, *, verify: bool | None = None) -> bytes:
        """Object file for LLVM text; see ``link.compile_text``."""
        return compile_text(text, self.machine, check=verify)

    def assembly(self, text: str) -> str:
        """Assembly for LLVM text, for people and tests."""
        return assembly_of(text, self.machine)


@cache
def _detected() -> dict[str, bool]:
    return dict(llvm.get_host_cpu_features())


@cache
def detected() -> Target:
    """The machine at hand, whatever the environment says; without tile instructions where this process may not use them.

    So the permission is part of ``key``: code with tiles that a cache shares is not found by a process that may not run it.
    """
    features = frozenset(name for name, on in _detected().items() if on)
    tiles = frozenset(feature for feature in features if feature.startswith("amx-"))
    return Target(llvm.get_process_triple(), features if not tiles or tiles_permitted() else features - tiles)


@cache
def tiles_permitted() -> bool:
    """Ask Linux for the large tile state, once per process (arch_prctl(2): ARCH_REQ_XCOMP_PERM 0x1023, state 18 is tile data)."""
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None).syscall(158, ctypes.c_long(0x1023), ctypes.c_long(18)) == 0


def host() -> Target:
    """The target to compile for. Option ``cpu.isa`` (``PYPTO_CPU_ISA``) reduces it; a set this machine lacks is ignored."""
    wanted = str(options.current().get("cpu.isa"))
    if wanted in ISA_NAMES:
        reduced = named(wanted)
        if reduced.host:
            return reduced
    return detected()


@cache
def named(isa: str) -> Target:
    """The target of that instruction set; ``host`` says whether it runs here.

    >>> named("neon").isa
    'neon'
    """
    if isa not in ISA_NAMES:
        raise ValueError(f"unknown instruction set {isa!r}, expected one of {', '.join(ISA_NAMES)}")
    here = detected()
    if isa == "neon":
        return here if here.isa == "neon" else Target(NEON_TRIPLE, frozenset({"neon", "fp-armv8"}), host=False)
    if here.isa == "neon":
        return Target(X86_TRIPLE, _x86(isa, _AVX512 | _LEVEL3), host=False)
    if ISA_NAMES.index(here.isa) > ISA_NAMES.index(isa):
        return Target(here.triple, _x86(isa, _AVX512 | _LEVEL3), host=False)
    return Target(here.triple, _x86(isa, here.features))


def _x86(isa: str, features: frozenset[str]) -> frozenset[str]:
    if isa == "avx512":
        return features
    return features & (_LEVEL3 if isa == "avx2" else _LEVEL1)
