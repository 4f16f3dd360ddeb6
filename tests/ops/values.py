"""Numbers that find mistakes: special values of every element type, and random arrays around them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from pypto.dtypes import DataType


def special(dtype: DataType) -> np.ndarray:
    """NaN, infinities, zeros of both signs, denormals, extremes; for integers the extremes and what is next to them."""
    if dtype is DataType.DT_BOOL:
        return np.array([True, False])
    if dtype.is_float:
        info = ml_dtypes.finfo(dtype.numpy)
        tiny, least, largest = float(info.smallest_subnormal), float(info.smallest_normal), float(info.max)
        positive = [0.0, tiny, least, 0.5, 1.0, 1.5, 2.0, 3.0, 88.5, largest / 4, largest, np.inf]
        with np.errstate(all="ignore"):
            wide = np.array([s * v for v in positive for s in (1.0, -1.0)] + [np.nan])
            return wide.astype(np.float32 if dtype.size < 8 else np.float64).astype(dtype.numpy)
    info = np.iinfo(dtype.numpy)
    around = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1]
    if info.min < 0:
        around += [-1, -2, -3, -100]
    return np.array(around, dtype.numpy)


def numbers(
    rng: np.random.Generator, dtype: DataType, shape: tuple[int, ...], low: float = -8.0, high: float = 8.0
) -> np.ndarray:
    """Random numbers of moderate size."""
    if dtype is DataType.DT_BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        return rng.uniform(low, high, shape).astype(np.float32 if dtype.size < 8 else np.float64).astype(dtype.numpy)
    if dtype.is_unsigned:
        return rng.integers(0, 100, shape).astype(dtype.numpy)
    return rng.integers(-100, 100, shape).astype(dtype.numpy)


def salted(rng: np.random.Generator, dtype: DataType, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers with special values strewn in, about one in four."""
    array = numbers(rng, dtype, shape)
    specials = special(dtype)
    chosen = specials[rng.integers(0, len(specials), shape)]
    return np.where(rng.random(shape) < 0.25, chosen, array).astype(dtype.numpy)


def shape(rng: np.random.Generator, rank: int | None = None, most: int = 9) -> tuple[int, ...]:
    """A random shape of rank 1 to 4; the last axis sometimes passes a vector's width."""
    rank = int(rng.integers(1, 5)) if rank is None else rank
    sizes = [int(rng.integers(1, most if rank < 4 else 5)) for _ in range(rank)]
    sizes[-1] = int(rng.integers(1, 40))
    return tuple(sizes)


def broadcastable(rng: np.random.Generator, full: tuple[int, ...], lower_rank: bool) -> tuple[int, ...]:
    """A shape that broadcasts to ``full``: some axes 1, and fewer axes if allowed."""
    sizes = [1 if rng.random() < 0.35 else size for size in full]
    drop = int(rng.integers(0, len(full))) if lower_rank and rng.random() < 0.5 else 0
    return tuple(sizes[drop:])
