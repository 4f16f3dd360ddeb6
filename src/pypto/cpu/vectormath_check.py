"""Measure the largest error of every function of cpu/vectormath over inputs spread evenly over all fp32 bit patterns.

    python -m pypto.cpu.vectormath_check [--bits 24] [--isa avx512] [names…]

prints a line a function: error in ULP, where, the stated bound, nanoseconds an element (one thread, data in cache). Exit status 1
if a bound is exceeded. Two-argument functions see random pairs. The judge is float64 (numpy and Python's math).
"""

from __future__ import annotations

import argparse
import ctypes
import math
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from pypto.cpu import link
from pypto.cpu.target import Target, host, named
from pypto.cpu.text import Module
from pypto.cpu.vectormath import FUNCTIONS, imports
from pypto.cpu.vectors import LANES, Vectors
from pypto.dtypes import DataType

_BLOCK = 1 << 20
_F32 = DataType.DT_FP32

JUDGES: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "expm1": np.expm1,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "pow": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "cbrt": np.cbrt,
    "hypot": np.hypot,
    "fmod": np.fmod,
}


def kernel_text(name: str, target: Target) -> tuple[str, list[str]]:
    """LLVM text of ``void kernel(ptr out, ptr a, ptr b, i64 n)``, n a multiple of 16, and what it imports."""
    module = Module()
    f = module.function("void", "kernel", [("ptr", "out"), ("ptr", "a"), ("ptr", "b"), ("i64", "n")])
    out, *sources, count = f.arguments
    b = Vectors(f, target, _F32)
    with f.loop(0, count, LANES) as loop:
        inputs = [b.load(_F32, f.gep("float", source, loop.index)) for source in sources[: FUNCTIONS[name][0]]]
        b.store(_F32, b.call(name, *inputs), f.gep("float", out, loop.index))
    f.ret()
    return module.text(), module.externals


def compiled(name: str, target: Target) -> Callable[..., np.ndarray]:
    """The function as a callable on fp32 arrays whose length is a multiple of 16."""
    text, externals = kernel_text(name, target)
    library = link.load(target.compile(text), exports=["kernel"], imports=imports(externals))
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(library["kernel"])

    def call(*arrays: np.ndarray) -> np.ndarray:
        result = np.empty(len(arrays[0]), np.float32)
        places = [array.ctypes.data for array in (*arrays, arrays[0])][:2]
        kernel(result.ctypes.data, *places, len(result))
        return result

    call.library, call.kernel = library, kernel  # type: ignore[attr-defined]  # the library keeps the code alive
    return call


def errors(result: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance of fp32 results from float64 values in units of the last place; infinite for a wrong special value or sign."""
    nearest = exact.astype(np.float32)
    unit = np.spacing(np.maximum(np.abs(nearest), np.float32(2.0**-126))).astype(np.float64)
    unit = np.where(np.isinf(nearest), 2.0**104, unit)
    distance = np.abs(result.astype(np.float64) - exact) / unit
    special = ~np.isfinite(nearest) | ((exact == 0) & (nearest == 0))
    same = (result == nearest) & (np.signbit(result) == np.signbit(nearest)) | (np.isnan(result) & np.isnan(nearest))
    distance = np.where(special & same, 0.0, distance)
    return np.where(special & ~same & ~(np.isinf(nearest) & np.isfinite(exact)), np.inf, np.nan_to_num(distance, nan=np.inf))


def spread(bits: int) -> Iterator[np.ndarray]:
    """2**bits fp32 numbers, evenly over all patterns, in blocks."""
    step = 1 << (32 - bits)
    offset = np.random.default_rng(bits).integers(0, step)
    size = min(_BLOCK, 1 << bits)
    for start in range(0, 1 << bits, size):
        numbers = (np.arange(start, start + size, dtype=np.uint64) * step + offset).astype(np.uint32)
        yield numbers.view(np.float32)


def arguments_of(name: str, x: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    return [x] if FUNCTIONS[name][0] == 1 else [random.permutation(x), x]


def measure(name: str, target: Target, bits: int) -> tuple[float, list[float]]:
    """Largest error and where it is."""
    function = compiled(name, target)
    random = np.random.default_rng(0)
    worst: tuple[float, list[float]] = (0.0, [])
    for x in spread(bits):
        arrays = arguments_of(name, x, random)
        with np.errstate(all="ignore"):
            error = errors(function(*arrays), JUDGES[name](*(a.astype(np.float64) for a in arrays)))
        place = int(error.argmax())
        if error[place] > worst[0]:
            worst = (float(error[place]), [float(a[place]) for a in arrays])
    return worst


def speed(name: str, target: Target) -> float:
    """Nanoseconds an element: best of many runs over 64 K normally distributed numbers, which fit the second-level cache."""
    function = compiled(name, target)
    kernel = function.kernel  # type: ignore[attr-defined]
    random = np.random.default_rng(0)
    x = np.abs(random.standard_normal(65536)).astype(np.float32)
    out, y = np.empty_like(x), random.permutation(x)
    places = [array.ctypes.data for array in (out, x, y)]
    best = math.inf
    for _ in range(200):
        start = time.perf_counter()
        kernel(*places, len(x))
        best = min(best, time.perf_counter() - start)
    return best / len(x) * 1e9


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="functions (default: all)")
    parser.add_argument("--bits", type=int, default=24, help="2**bits inputs")
    parser.add_argument("--isa", default="", help="instruction set (default: this machine's)")
    options = parser.parse_args(arguments)
    target = named(options.isa) if options.isa else host()
    status = 0
    for name in options.names or FUNCTIONS:
        worst, place = measure(name, target, options.bits)
        bound = FUNCTIONS[name][1]
        verdict = "" if worst <= bound else "  EXCEEDED"
        status |= worst > bound
        print(f"{name:10} {worst:7.4f} ULP (bound {bound}) at {place}, {speed(name, target):.3f} ns{verdict}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
