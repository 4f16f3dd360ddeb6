"""Vector math: functions on ``<16 x float>`` with a stated largest error, the same bits on every machine.

``call(b, name, *vectors)`` writes the function into ``b.function`` (hot, short ones) or calls an ``internal`` function that is
added to the module once. ``ULP[name]`` is the largest error in units of the last place of fp32 over all inputs, measured by
``python -m pypto.cpu.vectormath_check`` (two-argument functions: random pairs). Special values are those of C99 Annex F.

fp64 vectors call the C library lane by lane; ``imports(names)`` gives a linker the addresses. Their error is its own (glibc:
at most 2 ULP, its manual, "Known Maximum Errors in Math Functions") and differs between libraries.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Callable, Iterable
from functools import cache

from pypto.cpu import vectormath_circular as circular
from pypto.cpu import vectormath_double as double
from pypto.cpu import vectormath_float as single
from pypto.cpu.text import Module
from pypto.cpu.vector_base import LANES, Vector, vector_text
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

_D = DataType

Emitter = Callable[..., Vector]

# name: (arguments, largest error in ULP, how it is written)
FUNCTIONS: dict[str, tuple[int, float, Emitter]] = {
    "exp": (1, 1.0, single.exp),
    "exp2": (1, 0.87, single.exp2),
    "log": (1, 0.95, single.log),
    "tanh": (1, 1.0, single.tanh),
    "erf": (1, 0.75, single.erf),
    "sigmoid": (1, 2.1, single.sigmoid),
    "sqrt": (1, 0.5, single.sqrt),
    "rsqrt": (1, 1.5, single.rsqrt),
    "reciprocal": (1, 0.5, single.reciprocal),
    "expm1": (1, 0.51, double.expm1),
    "log2": (1, 0.51, double.log2),
    "log10": (1, 0.51, double.log10),
    "log1p": (1, 0.51, double.log1p),
    "pow": (2, 0.51, double.power),
    "sin": (1, 0.51, circular.sin),
    "cos": (1, 0.51, circular.cos),
    "tan": (1, 0.51, circular.tan),
    "asin": (1, 0.51, circular.asin),
    "acos": (1, 0.51, circular.acos),
    "atan": (1, 0.51, circular.atan),
    "atan2": (2, 0.51, circular.atan2),
    "sinh": (1, 0.51, double.sinh),
    "cosh": (1, 0.51, double.cosh),
    "asinh": (1, 0.51, double.asinh),
    "acosh": (1, 0.51, double.acosh),
    "atanh": (1, 0.51, double.atanh),
    "erfc": (1, 0.51, double.erfc),
    "cbrt": (1, 0.51, double.cbrt),
    "hypot": (2, 0.51, double.hypot),
    "fmod": (2, 0.0, double.fmod),
}

ULP: dict[str, float] = {name: ulp for name, (_, ulp, _) in FUNCTIONS.items()}

_ANY_FLOAT = frozenset({"sqrt", "rsqrt", "reciprocal"})
_INLINE = _ANY_FLOAT | {"exp", "exp2", "log", "sigmoid"}
_INLINE_512 = _INLINE | {"tanh", "erf"}  # elsewhere the table look-ups are long


def call(b: Vectors, name: str, *arguments: Vector) -> Vector:
    """``name`` of fp32 or fp64 vectors. Raises ``KeyError`` for a function that is not in ``FUNCTIONS``."""
    made = _call(b, name, arguments)
    if all(b.facts.is_clean(v.name) for v in arguments):
        b.facts.clean.add(made.name)  # a NaN is the argument's, quieted, or the default one
    return made


def _call(b: Vectors, name: str, arguments: tuple[Vector, ...]) -> Vector:
    _, _, emit = FUNCTIONS[name]
    if name in _ANY_FLOAT:
        return emit(b, *arguments)
    if arguments[0].dtype is _D.DT_DOUBLE:
        return _call_double(b, name, *arguments)
    if name in (_INLINE_512 if b.target.isa == "avx512" else _INLINE):
        return emit(b, *arguments)
    return _call_shared(b, f"math_{name}", lambda inner, *vectors: emit(inner, *vectors), arguments)


def _call_shared(b: Vectors, name: str, emit: Emitter, arguments: tuple[Vector, ...]) -> Vector:
    """Through one internal function of the module."""
    dtype = arguments[0].dtype
    type = vector_text(dtype)

    def make(module: Module) -> None:
        parameters = [(type, f"x{number}") for number in range(len(arguments))]
        f = module.function(type, name, parameters, linkage="internal", attributes="noinline")
        result = emit(Vectors(f, b.target, dtype), *(Vector(a, dtype) for a in f.arguments))
        f.ret(type, result.name)

    callee = b.function.module.require(name, make)
    return Vector(b.function.call(type, callee, *((type, v.name) for v in arguments)), dtype)


# -- fp64 ----------------------------------------------------------------------------------------------------------------------

_COMPOSED: dict[str, Emitter] = {
    "sigmoid": lambda b, x: b.div(b.like(x, 1.0), b.add(_call_double(b, "exp", b.neg(x)), b.like(x, 1.0))),
}


def _call_double(b: Vectors, name: str, *arguments: Vector) -> Vector:
    if name in _COMPOSED:
        return _COMPOSED[name](b, *arguments)
    return _call_shared(b, f"double_{name}", lambda inner, *vectors: _lane_by_lane(inner, name, vectors), arguments)


def _lane_by_lane(b: Vectors, name: str, vectors: tuple[Vector, ...]) -> Vector:
    f = b.function
    type = vector_text(_D.DT_DOUBLE)
    buffers = [f.scratch(type) for _ in vectors]
    for buffer, vector in zip(buffers, vectors, strict=True):
        f.store(type, vector.name, buffer, 64)
    callee = f.module.declare("double", name, ", ".join(["double"] * len(vectors)))
    with f.loop(0, LANES) as loop:
        scalars = [("double", f.load("double", f.gep("double", buffer, loop.index))) for buffer in buffers]
        f.store("double", f.call("double", callee, *scalars), f.gep("double", buffers[0], loop.index))
    return Vector(f.load(type, buffers[0], 64), _D.DT_DOUBLE)


@cache
def _libm() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    return ctypes.CDLL(ctypes.util.find_library("m"))


def imports(names: Iterable[str]) -> dict[str, int]:
    """Addresses of the C library's functions among ``names`` (a module's ``externals``), for ``link.load``.

    >>> sorted(imports(["exp", "pypto_parallel"]))
    ['exp']
    """
    wanted = [name for name in names if name in FUNCTIONS]
    return {name: ctypes.cast(getattr(_libm(), name), ctypes.c_void_p).value or 0 for name in wanted}
