"""Values and formulas that the tests of vector rows share."""

from __future__ import annotations

import numpy as np

from pypto.cores.enums import TensorLayout
from pypto.dtypes import DataType

D = DataType
F16, B16, F32 = D.DT_FP16, D.DT_BF16, D.DT_FP32
INTEGERS = {D.DT_INT8, D.DT_INT16, D.DT_INT32, D.DT_INT64, D.DT_UINT8, D.DT_UINT16, D.DT_UINT32, D.DT_UINT64}
NO_64 = INTEGERS - {D.DT_INT64, D.DT_UINT64}
NO_8 = INTEGERS - {D.DT_INT8, D.DT_UINT8}
FLOATS = {F16, B16, F32}
STORED = [dtype for dtype in D if dtype.facts.numpy is not None and dtype.size and dtype is not D.DT_INT4]
LAYOUTS = (TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ)
SHAPE = (16, 32)
VALID = ((16, 32), (5, 32), (16, 7), (1, 1), (0, 32), (3, 0))


def values(dtype, shape, seed=0, positive=False):
    """Random elements: floats around 1, integers over their whole range."""
    random = np.random.default_rng(seed)
    if dtype.is_float:
        found = random.standard_normal(shape).astype(np.float32)
        return (np.abs(found) + 0.125 if positive else found).astype(dtype.numpy)
    low, high = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
    return random.integers(max(low, 1) if positive else low, high, shape, dtype.numpy, endpoint=True)


def wrap(numbers, dtype):
    """Unbounded integers modulo the width of a type."""
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    wrapped = [(int(number) - low) % (1 << dtype.bits) + low for number in np.ravel(numbers)]
    return np.array(wrapped, dtype.numpy).reshape(np.shape(numbers))


def expected(formula, dtype, *arrays):
    """The formula in float64, rounded to fp32 and then to the type; or in unbounded integers, wrapped."""
    if dtype.is_float:
        wide = [np.asarray(array).astype(np.float64) for array in arrays]
        return np.asarray(formula(*wide)).astype(np.float32).astype(dtype.numpy)
    return wrap(formula(*[np.asarray(array).astype(object) for array in arrays]), dtype)


def same(found, wanted):
    found, wanted = np.ascontiguousarray(found), np.ascontiguousarray(wanted)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes(), f"got {found}, expected {wanted}"
