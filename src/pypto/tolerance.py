"""The one table of bounds: how far a result may lie from the exact one. Tests, ``compare`` and ``pypto.testing`` read it.

A bound is ``ulps`` units in the last place of the result's type at the exact result, plus ``of_magnitude`` times the sum of
the magnitudes of the terms (reductions, matmul), plus ``absolute``. Integers, booleans, movement and casts are exact.

>>> bound("exp", DataType.DT_FP32)
Bound(ulps=1.5, of_magnitude=0.0, absolute=0.0)
>>> bound("add", DataType.DT_INT32).exact
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pypto.dtypes import DataType

# Bits of the fraction and least exponent of a normal number. IEEE 754 binary16/32/64; bfloat16; OCP 8-bit floats 1.0.
FRACTION: dict[DataType, tuple[int, int]] = {
    DataType.DT_FP16: (10, -14),
    DataType.DT_BF16: (7, -126),
    DataType.DT_FP32: (23, -126),
    DataType.DT_DOUBLE: (52, -1022),
    DataType.DT_FP8E4M3: (3, -6),
    DataType.DT_FP8E5M2: (2, -14),
}

# Largest error in units in the last place of fp32, of functions that are evaluated in fp32. Correctly rounded operations (add,
# mul, div, sqrt, floor …) are not listed: half a unit. Source: what cpu/vectormath measures over all inputs
# (python -m pypto.cpu.vectormath_check), rounded up to the next half.
FUNCTION_ULPS: dict[str, float] = {
    "exp": 1.5,
    "exp2": 1.5,
    "expm1": 1.5,
    "log": 1.5,
    "log2": 1.5,
    "log10": 1.5,
    "log1p": 1.5,
    "sin": 1.5,
    "cos": 1.5,
    "tan": 1.5,
    "sinh": 1.5,
    "cosh": 1.5,
    "tanh": 1.5,
    "erf": 1.5,
    "erfc": 1.5,
    "rsqrt": 1.5,  # a square root and a division, half a unit each; the first error is halved by the root
    "pow": 2.0,  # products of up to three factors: half a unit each
    "lrelu": 0.5,
    "remainder": 1.0,  # fmod is exact, the added divisor is rounded; half a unit of a larger number next to powers of two
    "sigmoid": 4.0,  # exp, an addition and a division
    "arange": 1.0,  # a product and a sum
    "round": 2.0,  # with decimals: a product, a rounding to whole numbers and a quotient
}

# Below this, sigmoid's exp(-x) overflows fp32 and the result is 0: the largest number that is lost.
SIGMOID_ABSOLUTE = 2.0**-126

# A sum of n terms in any order errs by at most (n - 1) units of rounding (2^-24 in fp32) times the sum of magnitudes, to first
# order. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., equation (4.4); products: lemma 3.1.
SINGLE_ROUNDING = 2.0**-24
DOUBLE_ROUNDING = 2.0**-53

SUMS = ("sum", "cumsum", "mean")


@dataclass(frozen=True)
class Bound:
    """``|result - exact| <= ulps * ulp(exact) + of_magnitude * sum(|terms|) + absolute``."""

    ulps: float = 0.0
    of_magnitude: float = 0.0
    absolute: float = 0.0

    @property
    def exact(self) -> bool:
        return self == EXACT


EXACT = Bound()


def rounding_unit(dtype: DataType) -> float:
    """Unit of rounding of the type that ``dtype`` is computed in."""
    return DOUBLE_ROUNDING if dtype is DataType.DT_DOUBLE else SINGLE_ROUNDING


def bound(operation: str, dtype: DataType, length: int = 1) -> Bound:
    """Bound of a row of the op table for results of ``dtype``; ``length``: terms summed or multiplied (K of a matmul)."""
    if not dtype.is_float:
        return EXACT
    if operation in SUMS:
        return Bound(_rounded(dtype, 0.5), length * rounding_unit(dtype))
    if operation == "prod":
        return Bound(_rounded(dtype, 0.5 * max(length, 1)))
    if operation == "matmul":
        return matmul_bound(dtype, length)
    if operation == "softmax":
        return Bound(_rounded(dtype, softmax_ulps(length)))
    if operation == "rms_norm":
        return Bound(_rounded(dtype, 4.0 + 0.5 * length))
    absolute = SIGMOID_ABSOLUTE if operation == "sigmoid" else 0.0
    return Bound(_rounded(dtype, FUNCTION_ULPS.get(operation, 0.5)), absolute=absolute)


def matmul_bound(dtype: DataType, length: int) -> Bound:
    """``length`` products summed in fp32, then one rounding. bf16 hardware may flush denormal products: 2^-126 each."""
    return Bound(_rounded(dtype, 0.5), length * SINGLE_ROUNDING, length * 2.0**-126)


# exp(x - max): the difference is rounded by half a unit of up to 104 (beyond, exp underflows), so exp errs by 52 units.
SOFTMAX_SPREAD = 52.0


def softmax_ulps(length: int) -> float:
    """Numerator and denominator each err by the spread and exp's bound, the sum by its length, the quotient by half a unit."""
    return 2 * (SOFTMAX_SPREAD + FUNCTION_ULPS["exp"]) + length + 1.0


def _rounded(dtype: DataType, fp32_ulps: float) -> float:
    """Units of ``dtype`` for a result that errs by ``fp32_ulps`` in fp32 before it is rounded to ``dtype``."""
    if dtype in (DataType.DT_FP32, DataType.DT_DOUBLE):
        return fp32_ulps
    return 0.5 + fp32_ulps * 2.0 ** (FRACTION[dtype][0] - FRACTION[DataType.DT_FP32][0])


# -- whole kernels ---------------------------------------------------------------------------------------------------------------

# What lies between two engines that run the same kernel, in roundings of the result's type. A narrow type is rounded after every op:
# a few results that fall on the other side of a rounding. FP32 and DOUBLE carry the errors of sums and functions along.
NARROW_ROUNDINGS = 8
WIDE_ROUNDINGS = 168  # 1e-5 in FP32: the bounds above for a softmax (104) and another function behind it
# Sums in another order: 4096 random terms end about 64 roundings of a typical result apart, whatever the result itself is.
SUMMED_ROUNDINGS = 4 * 64


@dataclass(frozen=True)
class Bounds:
    """An element is close when ``|actual - expected| <= absolute + relative * |expected|``."""

    relative: float
    absolute: float

    def __str__(self) -> str:
        return f"{self.relative:.3g} relative, {self.absolute:.3g} absolute"


def typical_size(values: np.ndarray) -> float:
    """Root mean square of the numbers in an array that are finite."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0


def kernel_bounds(dtype: DataType | None, expected: np.ndarray) -> Bounds:
    """How far two engines may be apart in an element of a kernel's output, ``expected`` (in float64)."""
    if dtype not in FRACTION:
        return Bounds(0.0, 0.0)
    roundings = WIDE_ROUNDINGS if dtype in (DataType.DT_FP32, DataType.DT_DOUBLE) else NARROW_ROUNDINGS
    relative = roundings * 2.0 ** -(FRACTION[dtype][0] + 1)
    return Bounds(relative, relative * 1e-2 + SUMMED_ROUNDINGS * rounding_unit(dtype) * typical_size(expected))


def mismatches(actual: np.ndarray, expected: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Mask of the elements that are not close. NaN equals only NaN, infinity only itself."""
    if expected.dtype.kind not in "fc":
        return np.asarray(actual != expected)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(actual - expected) <= bounds.absolute + bounds.relative * np.abs(expected)
    finite = np.isfinite(actual) & np.isfinite(expected)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return np.asarray(~((near & finite) | same))
