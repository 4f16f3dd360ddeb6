"""What each operation should give, by an outside judge: torch in float64, or Python's integers. Never the code under test."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pypto.dtypes import BY_NUMPY


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def through_torch(function: Callable[..., torch.Tensor]) -> Callable[..., np.ndarray]:
    """A torch function on float64 copies."""
    return lambda *arrays: function(*(torch.from_numpy(np.array(wide(a))) for a in arrays)).numpy()


def wrapped(value: int, dtype: np.dtype) -> int:
    info = np.iinfo(dtype)
    return (value - info.min) % (info.max - info.min + 1) + info.min


def by_integers(function: Callable[..., int]) -> Callable[..., np.ndarray]:
    """A function of Python's integers, wrapped to the type of the first array."""

    def judge(*arrays: np.ndarray) -> np.ndarray:
        dtype = arrays[0].dtype
        call = np.vectorize(lambda *values: wrapped(function(*map(int, values)), dtype), otypes=[object])
        return call(*arrays).astype(dtype)

    return judge


def either(floats: Callable[..., np.ndarray], integers: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """One judge for float tensors, another for integers."""
    return lambda *arrays: (floats if BY_NUMPY[arrays[0].dtype].is_float else integers)(*arrays)


def quotient(a: int, b: int) -> float:
    """True quotient of integers as FP32 arithmetic gives it."""
    with np.errstate(all="ignore"):
        return float(np.float32(a) / np.float32(b))


UNARY: dict[str, Callable[..., np.ndarray]] = {
    "exp": through_torch(torch.exp),
    "exp2": through_torch(torch.exp2),
    "expm1": through_torch(torch.expm1),
    "log": through_torch(torch.log),
    "log2": through_torch(torch.log2),
    "log10": through_torch(torch.log10),
    "log1p": through_torch(torch.log1p),
    "sqrt": through_torch(torch.sqrt),
    "rsqrt": through_torch(torch.rsqrt),
    "reciprocal": through_torch(torch.reciprocal),
    "sin": through_torch(torch.sin),
    "cos": through_torch(torch.cos),
    "tan": through_torch(torch.tan),
    "sinh": through_torch(torch.sinh),
    "cosh": through_torch(torch.cosh),
    "tanh": through_torch(torch.tanh),
    "erf": through_torch(torch.erf),
    "erfc": through_torch(torch.erfc),
    "sigmoid": through_torch(torch.sigmoid),
    "neg": either(through_torch(torch.neg), by_integers(lambda a: -a)),
    "abs": either(through_torch(torch.abs), by_integers(abs)),
    "sign": either(through_torch(lambda t: torch.where(t.isnan(), t, torch.sign(t))), by_integers(lambda a: (a > 0) - (a < 0))),
    "relu": either(through_torch(torch.relu), by_integers(lambda a: max(a, 0))),
    "floor": through_torch(torch.floor),
    "ceil": through_torch(torch.ceil),
    "trunc": through_torch(torch.trunc),
    "round": through_torch(torch.round),
}


def _floor_mod(a: int, b: int) -> int:
    return 0 if b == 0 else a % b


def _c_mod(a: int, b: int) -> int:
    return 0 if b == 0 else (abs(a) % abs(b)) * (1 if a >= 0 else -1)


BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": either(through_torch(torch.add), by_integers(lambda a, b: a + b)),
    "sub": either(through_torch(torch.sub), by_integers(lambda a, b: a - b)),
    "mul": either(through_torch(torch.mul), by_integers(lambda a, b: a * b)),
    "div": either(through_torch(torch.div), lambda a, b: np.vectorize(quotient, otypes=[np.float64])(a, b)),
    "fmod": either(through_torch(torch.fmod), by_integers(_c_mod)),
    "remainder": either(through_torch(torch.remainder), by_integers(_floor_mod)),
    "floor_div": either(through_torch(lambda a, b: torch.floor(a / b)), by_integers(lambda a, b: 0 if b == 0 else a // b)),
    "maximum": either(through_torch(torch.maximum), by_integers(max)),
    "minimum": either(through_torch(torch.minimum), by_integers(min)),
    "bitwise_and": by_integers(lambda a, b: a & b),
    "bitwise_or": by_integers(lambda a, b: a | b),
    "bitwise_xor": by_integers(lambda a, b: a ^ b),
}


def compared(function: Callable[[Any, Any], bool]) -> Callable[..., np.ndarray]:
    return lambda a, b: np.vectorize(lambda x, y: bool(function(x, y)), otypes=[np.bool_])(
        a.astype(np.float64 if BY_NUMPY[a.dtype].is_float else object),
        b.astype(np.float64 if BY_NUMPY[b.dtype].is_float else object),
    )


COMPARISON: dict[str, Callable[..., np.ndarray]] = {
    "gt": compared(lambda a, b: a > b),
    "ge": compared(lambda a, b: a >= b),
    "eq": compared(lambda a, b: a == b),
    "ne": compared(lambda a, b: a != b),
    "lt": compared(lambda a, b: a < b),
    "le": compared(lambda a, b: a <= b),
}


def left_shift(a: int, count: int, bits: int) -> int:
    return a << count if 0 <= count < bits else 0


def right_shift(a: int, count: int, bits: int) -> int:
    return a >> count if 0 <= count < bits else (-1 if a < 0 else 0)


def shift(function: Callable[[int, int, int], int]) -> Callable[..., np.ndarray]:
    def judge(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return by_integers(lambda x, y: function(x, y, a.dtype.itemsize * 8))(a, b)

    return judge


BINARY["bitwise_left_shift"] = shift(left_shift)
BINARY["bitwise_right_shift"] = shift(right_shift)


def torch_of(array: np.ndarray) -> torch.Tensor:
    """float64 or int64 tensor of the same numbers."""
    known = BY_NUMPY[array.dtype]
    return torch.from_numpy(np.array(wide(array) if known.is_float else array.astype(np.int64)))


def integer_total(array: np.ndarray, axis: int, product: bool) -> np.ndarray:
    """Sum or product by Python's integers, wrapped."""
    moved = np.moveaxis(array, axis, -1)
    flat = [math.prod(map(int, row)) if product else sum(map(int, row)) for row in moved.reshape(-1, moved.shape[-1])]
    return np.array([wrapped(v, array.dtype) for v in flat], dtype=object).astype(array.dtype).reshape(moved.shape[:-1])
