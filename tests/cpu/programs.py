"""Running a program on the compiled engine and on the reference, from the same inputs, with poisoned memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.cpu.kernel import Kernel, build
from pypto.dtypes import BY_NUMPY
from pypto.ir.program import Program, Storage
from pypto.ir.symbols import Symbol
from pypto.reference import engine


def launch(kernel: Kernel, program: Program, arrays: Sequence[np.ndarray], scalars: Sequence[Any] = ()) -> None:
    """Run a kernel on arrays in parameter order; raises what the run reports."""
    record = (ctypes.c_int64 * 16)()
    storages = [p for p in program.parameters if isinstance(p, Storage)]
    place = {s: i for i, s in enumerate(storages)}
    slots = [ctypes.addressof(record), 0, *(a.ctypes.data for a in arrays)]
    slots += [np.float64(s).view(np.int64).item() if isinstance(s, float) else int(s) for s in scalars]
    slots += [arrays[place[storage]].shape[axis] for storage, axis in program.dimensions.values()]
    block = (ctypes.c_int64 * len(slots))(*slots)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)(ctypes.addressof(block))
    if record[0]:
        kernel.raise_error(list(record))


def both(
    program: Program, arrays: Sequence[np.ndarray], scalars: Sequence[Any] = ()
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays after a run of the compiled engine, and after one of the reference."""
    native, reference = [a.copy() for a in arrays], [a.copy() for a in arrays]
    launch(build(program, poison=True), program, native, scalars)
    storages = [p for p in program.parameters if isinstance(p, Storage)]
    symbols = [p for p in program.parameters if isinstance(p, Symbol)]
    engine.run(program, dict(zip(storages, reference, strict=True)), dict(zip(symbols, scalars, strict=True)))
    return native, reference


def agree(
    program: Program,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[Any] = (),
    *,
    ulps: float = 4,
    relative: float = 0,
    absolute: float = 0,
) -> None:
    """Both engines give the same arrays: exactly for integers, within ``ulps`` of the type (or ``relative`` error) for floats."""
    for name, (got, want) in enumerate(zip(*both(program, arrays, scalars), strict=True)):
        close(got, want, ulps=ulps, relative=relative, absolute=absolute, name=f"array {name}")


def close(got: np.ndarray, want: np.ndarray, *, ulps: float, relative: float, absolute: float = 0, name: str = "") -> None:
    if not BY_NUMPY[want.dtype].is_float:
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        bound = np.maximum(ulps * spacing(want), relative * np.abs(b) + absolute)
        wrong = ~(same | (np.abs(a - b) <= bound))
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        raise AssertionError(
            f"{name}: {wrong.sum()} of {wrong.size} differ, first at {first}: {a[first]!r}, expected {b[first]!r}"
        )


def spacing(array: np.ndarray) -> np.ndarray:
    """Distance to the next number of the array's type."""
    digits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7, "float8_e4m3fn": 3, "float8_e5m2": 2}.get(
        array.dtype.name, 23
    )
    least = {"float16": -14, "float8_e4m3fn": -6, "float8_e5m2": -14, "float64": -1022}.get(array.dtype.name, -126)
    magnitude = np.abs(array.astype(np.float64))
    exponent = np.floor(np.log2(np.where(np.isfinite(magnitude) & (magnitude > 0), magnitude, 1e-300)))
    return 2.0 ** (np.maximum(exponent, least) - digits)


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: Any, scale: float = 2.0) -> np.ndarray:
    numpy_type = np.dtype(dtype)
    known = BY_NUMPY[numpy_type]
    if known.is_float:
        return (rng.standard_normal(shape) * scale).astype(np.float32).astype(numpy_type)
    if numpy_type == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    info = np.iinfo(numpy_type)
    return rng.integers(max(info.min, -100), min(info.max, 100), shape).astype(numpy_type)
