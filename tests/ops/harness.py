"""Builds a program around a case, runs it on an engine, and judges the result.

The program loads every input from a larger, poisoned parameter at an odd offset, with a tail: the loaded value is larger than its
valid part. Outputs are stored into a larger array whose border must stay untouched.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pypto.dtypes import BY_NUMPY, DataType
from pypto.ir.program import Program, Storage, TensorType
from pypto.ops.direct import DirectRecorder, recording
from pypto.reference.memory import poisoned
from pypto.tolerance import FRACTION, Bound

Engine = Callable[[Program, dict[Storage, np.ndarray]], None]


@dataclass
class Case:
    """One call of one operation. ``expected``: exact results (float64 for floats). ``axes`` names the axes of the inputs: equal
    names are padded alike, an empty name is not padded."""

    operation: str
    label: str
    inputs: tuple[np.ndarray, ...]
    call: Callable[..., Any]
    expected: tuple[np.ndarray, ...]
    dtypes: tuple[DataType, ...]
    bound: Bound = field(default_factory=Bound)
    magnitude: np.ndarray | float = 0.0
    axes: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        return f"{self.operation}-{self.label}-{'x'.join(str(BY_NUMPY[i.dtype].label) for i in self.inputs)}"


@dataclass
class Built:
    program: Program
    arrays: dict[Storage, np.ndarray]
    outputs: list[tuple[Storage, tuple[slice, ...]]]
    untouched: list[np.ndarray]


def build(case: Case, rng: np.random.Generator, *, plain: bool = False) -> Built:
    """The program of a case and its arrays. ``plain``: no offsets, no tails."""
    recorder = DirectRecorder(case.operation)
    arrays: dict[Storage, np.ndarray] = {}
    padding: dict[str, int] = {}
    with recording(recorder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handles = [_input(recorder, case, i, rng, padding, arrays, plain) for i in range(len(case.inputs))]
        results = case.call(*handles)
        results = results if isinstance(results, list) else [results]
        outputs = [
            _output(recorder, value, expected, rng, arrays, plain) for value, expected in zip(results, case.expected, strict=True)
        ]
    return Built(recorder.builder.finish(), arrays, outputs, [arrays[s].copy() for s, _ in outputs])


def _input(
    recorder: DirectRecorder,
    case: Case,
    position: int,
    rng: np.random.Generator,
    padding: dict[str, int],
    arrays: dict[Storage, np.ndarray],
    plain: bool,
) -> Any:
    data = case.inputs[position]
    names = case.axes[position] if case.axes else ("",) * data.ndim
    pads = [0 if plain or not name else padding.setdefault(name, int(rng.integers(0, 3))) for name in names]
    offsets = [0 if plain else int(rng.integers(0, 4)) for _ in names]
    rest = [0 if plain else int(rng.integers(0, 3)) for _ in names]
    holder = poisoned([o + n + r for o, n, r in zip(offsets, data.shape, rest, strict=True)], data.dtype)
    holder[tuple(slice(o, o + n) for o, n in zip(offsets, data.shape, strict=True))] = data
    type = TensorType(BY_NUMPY[data.dtype], holder.shape)
    storage = recorder.builder.parameter(f"input{position}", type)
    arrays[storage] = holder
    shape = [n + p for n, p in zip(data.shape, pads, strict=True)]
    return recorder.builder.load(storage, shape, offsets, data.shape)


def _output(
    recorder: DirectRecorder,
    value: Any,
    expected: np.ndarray,
    rng: np.random.Generator,
    arrays: dict[Storage, np.ndarray],
    plain: bool,
) -> tuple[Storage, tuple[slice, ...]]:
    assert value.type.valid == expected.shape, f"valid {value.type.valid}, expected {expected.shape}"
    offsets = [0 if plain else int(rng.integers(0, 3)) for _ in expected.shape]
    rest = [0 if plain else int(rng.integers(0, 3)) for _ in expected.shape]
    sizes = [o + n + r for o, n, r in zip(offsets, expected.shape, rest, strict=True)]
    storage = recorder.builder.parameter(f"output{len(arrays)}", TensorType(value.type.dtype, tuple(sizes)))
    arrays[storage] = poisoned(sizes, value.type.dtype.numpy)
    recorder.builder.store(storage, value, offsets)
    return storage, tuple(slice(o, o + n) for o, n in zip(offsets, expected.shape, strict=True))


def check(case: Case, engine: Engine, rng: np.random.Generator, *, plain: bool = False) -> None:
    """Run the case on ``engine`` and compare with the judge."""
    built = build(case, rng, plain=plain)
    engine(built.program, built.arrays)
    for (storage, place), before, expected, dtype in zip(built.outputs, built.untouched, case.expected, case.dtypes, strict=True):
        after = built.arrays[storage]
        assert storage.type.dtype is dtype, f"{case}: result is {storage.type.dtype}, expected {dtype}"
        compare(case, after[place], expected, dtype)
        outside = np.ones(after.shape, np.bool_)
        outside[place] = False
        same = after[outside].tobytes() == before[outside].tobytes()
        assert same, f"{case}: wrote outside its region"


def compare(case: Case, got: np.ndarray, expected: np.ndarray, dtype: DataType) -> None:
    if not dtype.is_float:
        wrong = got != expected
        limit = np.zeros(got.shape)
    else:
        wrong, limit = outside_bound(got, expected, dtype, case.bound, case.magnitude)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        operands = [np.broadcast_to(i, got.shape)[index] for i in case.inputs] if _elementwise(case, got) else ""
        raise AssertionError(f"{case}{index}: {got[index]!r}, expected {expected[index]!r} ± {limit[index]} from {operands}")


def _elementwise(case: Case, got: np.ndarray) -> bool:
    try:
        return np.broadcast_shapes(*(i.shape for i in case.inputs)) == got.shape
    except ValueError:
        return False


def outside_bound(
    got: np.ndarray, expected: np.ndarray, dtype: DataType, bound: Bound, magnitude: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Mask of results beyond the bound, and the bound itself. An infinity counts as the number after the largest finite one."""
    fraction, least = FRACTION[dtype]
    largest = overflow(dtype)
    actual, exact = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        a, e = np.clip(actual, -largest, largest), np.clip(exact, -largest, largest)
        _, exponent = np.frexp(e)
        ulp = np.ldexp(1.0, np.maximum(exponent - 1, least) - fraction)
        judge = 1.0 if dtype is DataType.DT_DOUBLE and bound.ulps else 0.0  # the judge is float64 too, with an error of its own
        limit = (bound.ulps + judge) * ulp + bound.of_magnitude * np.abs(magnitude) + bound.absolute
        wrong = ~(np.abs(a - e) <= limit)
    both_nan = np.isnan(actual) & np.isnan(exact)
    return wrong & ~both_nan, np.broadcast_to(limit, wrong.shape)


def overflow(dtype: DataType) -> float:
    """Where infinity stands: the power of two after the largest number."""
    if dtype is DataType.DT_DOUBLE:
        return float(np.finfo(np.float64).max)
    exponents = {
        DataType.DT_FP16: 16,
        DataType.DT_BF16: 128,
        DataType.DT_FP32: 128,
        DataType.DT_FP8E4M3: 9,
        DataType.DT_FP8E5M2: 16,
    }
    return 2.0 ** exponents[dtype]
