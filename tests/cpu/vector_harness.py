"""Compile an expression on vectors for a target, run it over numpy arrays (with a tail), return the result."""

import ctypes

import numpy as np

from pypto.cpu import link
from pypto.cpu.target import named
from pypto.cpu.text import Module
from pypto.cpu.vectors import LANES, Vectors
from pypto.dtypes import DataType

RUNNABLE = [name for name in ("avx512", "avx2", "neon") if named(name).host]
ALL = ["avx512", "avx2", "neon"]


def module_of(build, inputs, output, target, operand=None):
    """Module with ``void kernel(ptr out, ptr in…, i64 n)`` that applies ``build(b, *vectors)`` to every element."""
    module = Module()
    names = [f"in{number}" for number in range(len(inputs))]
    function = module.function("void", "kernel", [("ptr", "out"), *(("ptr", name) for name in names), ("i64", "n")])
    out, *pointers, count = function.arguments
    b = Vectors(function, target, operand or inputs[0])

    def step(index, tail=None):
        vectors = [
            b.load(dtype, function.gep(f"[{dtype.size} x i8]", pointer, index), tail) for dtype, pointer in zip(inputs, pointers)
        ]
        b.store(output, build(b, *vectors), function.gep(f"[{output.size} x i8]", out, index), tail)

    whole = function.op("and", "i64", count, -LANES)
    with function.loop(0, whole, LANES) as loop:
        step(loop.index)
    with function.when(function.icmp("ne", "i64", whole, count)):
        step(whole, b.tail(function.op("sub", "i64", count, whole)))
    function.ret()
    return module


def run(build, arrays, output, isa=RUNNABLE[0], inputs=None, operand=None):
    """``build(b, *vectors)`` over equally long arrays; ``inputs`` gives their DataTypes where numpy's are ambiguous."""
    from pypto.dtypes import BY_NUMPY

    inputs = inputs or [BY_NUMPY[array.dtype] for array in arrays]
    target = named(isa)
    module = module_of(build, inputs, output, target, operand)
    library = load(module, target)
    n = len(arrays[0])
    guard = 64
    result = np.zeros((n + guard) * output.size, np.uint8)
    result[:] = 0xA5
    arrays = [np.ascontiguousarray(array) for array in arrays]
    call(library["kernel"], result.ctypes.data, *(array.ctypes.data for array in arrays), n)
    assert (result[n * output.size :] == 0xA5).all(), "wrote past the end"
    return result[: n * output.size].view(output.numpy)


def load(module, target, exports=("kernel",)):
    """Link a module; libm's functions are offered by name."""
    data = target.compile(module.text(), verify=True)
    return link.load(data, exports=exports, imports=libm(module.externals))


def libm(names):
    library = ctypes.CDLL("libm.so.6") if names else None
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names}


def call(address, *arguments):
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))(address)(*arguments)


def floats(count, seed=0):
    """fp32 numbers spread evenly over all bit patterns, with every special value in front."""
    step = max(1, 2**32 // count)
    offset = np.random.default_rng(seed).integers(0, step)
    spread = np.arange(offset, 2**32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([SPECIAL, spread])


_LIMITS = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001, 0x3F800000], np.uint32)
SPECIAL = np.concatenate(
    [
        _LIMITS.view(np.float32),
        (_LIMITS | np.uint32(0x80000000)).view(np.float32),
        np.array(
            [0.5, -0.5, 1.5, -1.5, 2.5, 0.49999997, 8388607.5, 4194303.5, 65504, 65520, 65519.996, 448, 464, 57344], np.float32
        ),
    ]
)
__all__ = ["ALL", "RUNNABLE", "SPECIAL", "DataType", "call", "floats", "load", "module_of", "run"]
