"""``ops.table.Vectors`` on numpy arrays: tests the ``lower`` column of elementwise rows without a compiler."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from pypto.dtypes import BY_NUMPY, DataType
from pypto.ir.program import Literal, Op, Program, Storage
from pypto.ops import numerics
from pypto.ops.dtype_sets import BOOL, F32, SMALL_FLOATS
from pypto.ops.table import Kind, Operation
from pypto.reference.engine import Machine

FUNCTIONS = {
    "pow": np.power,
    "fmod": np.fmod,
    "erf": numerics.erf,
    "erfc": numerics.erfc,
    **{n: getattr(np, n) for n in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()},
}
COMPARE = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


class NumpyVectors:
    """Arrays of the compute type: fp32 for narrow floats."""

    def __init__(self, dtype: DataType) -> None:
        self.dtype = F32 if dtype in SMALL_FLOATS else dtype

    def constant(self, value: float) -> np.ndarray:
        return np.asarray(value).astype(self.dtype.numpy)

    def _same(self, ufunc: np.ufunc, *arrays: Any) -> np.ndarray:
        kinds = {np.asarray(a).dtype for a in arrays}
        assert len(kinds) == 1, f"operands of one type expected, got {kinds}"
        return ufunc(*arrays)

    def add(self, a: Any, b: Any) -> Any:
        return self._same(np.add, a, b)

    def sub(self, a: Any, b: Any) -> Any:
        return self._same(np.subtract, a, b)

    def mul(self, a: Any, b: Any) -> Any:
        return self._same(np.multiply, a, b)

    def div(self, a: Any, b: Any) -> Any:
        assert np.asarray(a).dtype.kind == "f"
        return self._same(np.divide, a, b)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return (a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)).astype(np.asarray(a).dtype)

    def neg(self, a: Any) -> Any:
        return np.negative(a)

    def abs(self, a: Any) -> Any:
        return np.abs(a)

    def min(self, a: Any, b: Any) -> Any:
        return self._same(np.minimum, a, b)

    def max(self, a: Any, b: Any) -> Any:
        return self._same(np.maximum, a, b)

    def sqrt(self, a: Any) -> Any:
        return np.sqrt(a)

    def floor(self, a: Any) -> Any:
        return np.floor(a)

    def ceil(self, a: Any) -> Any:
        return np.ceil(a)

    def trunc(self, a: Any) -> Any:
        return np.trunc(a)

    def round_even(self, a: Any) -> Any:
        return np.rint(a)

    def copysign(self, a: Any, b: Any) -> Any:
        return self._same(np.copysign, a, b)

    def compare(self, predicate: str, a: Any, b: Any) -> Any:
        if predicate == "uno":
            return np.isnan(a) | np.isnan(b)
        return self._same(getattr(np, COMPARE[predicate]), a, b)

    def select(self, mask: Any, a: Any, b: Any) -> Any:
        assert np.asarray(mask).dtype == np.bool_ and np.asarray(a).dtype == np.asarray(b).dtype
        return np.where(mask, a, b)

    def mask_and(self, a: Any, b: Any) -> Any:
        return np.logical_and(a, b)

    def mask_or(self, a: Any, b: Any) -> Any:
        return np.logical_or(a, b)

    def mask_not(self, a: Any) -> Any:
        return np.logical_not(a)

    def bit_and(self, a: Any, b: Any) -> Any:
        return self._same(np.bitwise_and, a, b)

    def bit_or(self, a: Any, b: Any) -> Any:
        return self._same(np.bitwise_or, a, b)

    def bit_xor(self, a: Any, b: Any) -> Any:
        return self._same(np.bitwise_xor, a, b)

    def _count(self, b: Any) -> Any:
        bits = np.asarray(b).dtype.itemsize * 8
        assert np.all((b >= 0) & (b < bits)), "a shift count outside the width is undefined"
        return b

    def shift_left(self, a: Any, b: Any) -> Any:
        return self._same(np.left_shift, a, self._count(b))

    def shift_right(self, a: Any, b: Any) -> Any:
        return self._same(np.right_shift, a, self._count(b))

    def divide_integers(self, a: Any, b: Any) -> Any:
        return np.vectorize(_quotient, otypes=[object])(a, b, _least(a)).astype(a.dtype)

    def remainder_integers(self, a: Any, b: Any) -> Any:
        exact = np.vectorize(lambda x, y: int(x) - _quotient_exact(int(x), int(y)) * int(y) if y else 0, otypes=[object])
        return exact(a, b).astype(a.dtype)

    def convert(self, a: Any, dtype: DataType) -> Any:
        source = BY_NUMPY[np.asarray(a).dtype]
        if source.is_float and not dtype.is_float:
            info = np.iinfo(dtype.numpy)
            pick = lambda v: (
                0
                if math.isnan(v)
                else min(max(int(v) if math.isfinite(v) else (2**80 if v > 0 else -(2**80)), info.min), info.max)
            )
            return np.vectorize(pick, otypes=[object])(a).astype(dtype.numpy)
        return np.asarray(a).astype(dtype.numpy)

    def bits(self, a: Any) -> Any:
        return np.asarray(a).view(f"i{np.asarray(a).dtype.itemsize}")

    def from_bits(self, a: Any) -> Any:
        return np.asarray(a).view(f"f{np.asarray(a).dtype.itemsize}")

    def call(self, name: str, *arguments: Any) -> Any:
        dtype = np.asarray(arguments[0]).dtype
        return FUNCTIONS[name](*(np.asarray(a).astype(np.float64) for a in arguments)).astype(dtype)


def _least(a: Any) -> int:
    return int(np.iinfo(np.asarray(a).dtype).min)


def _quotient_exact(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _quotient(x: Any, y: Any, least: int) -> int:
    """Truncating; 0 for a zero divisor and where the quotient does not fit."""
    if y == 0 or (least < 0 and x == least and y == -1):
        return 0
    return _quotient_exact(int(x), int(y))


class LoweredMachine(Machine):
    """The reference engine with elementwise rows computed by their ``lower`` column."""

    def row(self, row: Operation, op: Op) -> None:
        if row.kind is Kind.ELEMENTWISE and callable(row.lower):
            first = next((o for o in op.operands if not isinstance(o, Literal)), None)
            dtype = first.type.dtype  # type: ignore[union-attr]
            target = op.result.type.dtype
            row = dataclasses.replace(row, compute=lambda *a, **k: _lowered(row.lower, dtype, target, a, k))
        super().row(row, op)


def _lowered(lower: Any, dtype: DataType, target: DataType, arrays: Any, attributes: Any) -> np.ndarray:
    vectors = NumpyVectors(dtype)
    result = np.asarray(lower(vectors, *map(numerics.widened, arrays), **attributes))
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    compute_type = F32 if target in SMALL_FLOATS else target
    if target is not BOOL or result.dtype == np.bool_:
        assert result.dtype == compute_type.numpy, f"lowered to {result.dtype}, expected {compute_type}"
    return np.broadcast_to(numerics.narrowed(result, target.numpy), shape)


def run_lowered(program: Program, arrays: dict[Storage, np.ndarray]) -> None:
    """An engine for ``harness.check``."""
    machine = LoweredMachine(program, arrays, {}, poison=True, checked=False, output=print)
    with np.errstate(all="ignore"):
        machine.block(program.body)
