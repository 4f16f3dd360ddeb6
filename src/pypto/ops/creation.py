"""Tensors out of nothing (tensor API section 9.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.elements import Element, element_value, fits
from pypto.errors.operations import (
    ArangeArguments,
    ArangeEmpty,
    FillRange,
    FloatScalarOnInteger,
    NegativeForUnsigned,
    NegativeSize,
    NotAScalar,
    TargetRankOutOfRange,
)
from pypto.ir.program import Literal, Operand, TensorType
from pypto.ir.symbols import Expression, Scalar, apply
from pypto.ops import rules
from pypto.ops.arguments import dtype_argument, kind_name, scalar_of, scalars
from pypto.ops.dtype_sets import F32, I32, STORED
from pypto.ops.families import composite
from pypto.ops.table import Kind, Unit, operation, record, recorder
from pypto.ops.valid import given_valid


def _infer_full(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (value,) = operands
    assert isinstance(value, Literal)
    rules.check_dtype("full", value.dtype, STORED)
    shape = tuple(attributes["shape"])
    if not 1 <= len(shape) <= 4:
        raise TargetRankOutOfRange(low=1, high=4, got=len(shape), operation="FULL")
    return [TensorType(value.dtype, shape, given_valid("full", shape, attributes.get("valid"), shape))]


@operation(
    kind=Kind.CREATION,
    infer=_infer_full,
    compute=lambda value, *, extent, **_: np.full(extent, value),
    lower="full",
    npu=Unit("V", "VDUP"),
    dtypes=STORED,
    sized=True,
)
def full(size: Sequence[int], fill_value: Any, dtype: DataType, *, valid_shape: Any = None) -> Any:
    """A tensor of ``size`` filled with one value: a number, an ``Element`` or a symbolic scalar.

    >>> evaluate(full, [2, 2], 7.0, DataType.DT_FP32).tolist()
    [[7.0, 7.0], [7.0, 7.0]]
    """
    target = dtype_argument("full", "dtype", dtype)
    value = _fill_value(fill_value, target)
    recorder()
    shape = _sizes(size)
    valid = None if valid_shape is None else scalars("full", "valid_shape", valid_shape)
    return record("full", [Literal(value, target)], {"shape": shape, "valid": valid})


def _sizes(size: Any) -> tuple[Scalar, ...]:
    shape = scalars("full", "size", size)
    if any(not isinstance(s, Expression) and s < 0 for s in shape):
        raise NegativeSize(operation="full", shape=list(shape))
    return shape


def _fill_value(thing: Any, dtype: DataType) -> Scalar:
    """The number to fill with; negative numbers have no place in an unsigned type."""
    element = isinstance(thing, Element)
    value = thing.value if element else scalar_of(thing)
    if value is None:
        raise NotAScalar(operation="full", argument="fill_value", kind=kind_name(thing))
    if isinstance(value, Expression):
        return apply("int", value) if dtype.is_integer and value.kind == "float" else value
    unsigned = dtype.is_unsigned or (element and thing.dtype.is_unsigned)
    if unsigned and value < 0:
        raise NegativeForUnsigned(operation="full", value=value, dtype=dtype.name)
    if dtype.is_integer and isinstance(value, float):
        if not math.isfinite(value):
            raise FloatScalarOnInteger(operation="full", dtype=dtype.name, value=value)
        value = int(value)
    if not fits(value, dtype):
        raise FillRange(operation="full", value=value, dtype=dtype.name)
    return element_value(value, dtype)


def _sizes_of(operation: str, size: tuple[Any, ...]) -> tuple[Scalar, ...]:
    """Sizes given one by one or as one list."""
    return scalars(operation, "size", size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size)


@composite("zeros")
def zeros(*size: Any, dtype: DataType | None = None) -> Any:
    """A tensor of zeros; sizes one by one or as a list; FP32 unless ``dtype=`` says otherwise.

    >>> evaluate(zeros, 2, 2).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return full(_sizes_of("zeros", size), 0, F32 if dtype is None else dtype)


@composite("ones")
def ones(*size: Any, dtype: DataType | None = None) -> Any:
    """A tensor of ones; sizes one by one or as a list; FP32 unless ``dtype=`` says otherwise.

    >>> evaluate(ones, 2).tolist()
    [1.0, 1.0]
    """
    return full(_sizes_of("ones", size), 1, F32 if dtype is None else dtype)


def _infer_arange(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    return [TensorType(attributes["dtype"], (attributes["count"],))]


def _compute_arange(*, start: float, step: float, count: int, dtype: DataType, extent: Sequence[int]) -> np.ndarray:
    """``start + i * step`` with one rounding for the product and one for the sum, as vectors compute it."""
    index = np.arange(count)
    if dtype is I32:
        return (start + index * step).astype(np.int32)
    return (np.float32(start) + index.astype(np.float32) * np.float32(step)).astype(np.float32)


@operation(
    kind=Kind.CREATION,
    infer=_infer_arange,
    compute=_compute_arange,
    lower="arange",
    npu=Unit("V", "VCI"),
    dtypes=(F32, I32),
    sized=True,
)
def arange(*bounds: Any) -> Any:
    """``arange(end)``, ``arange(start, end)``, ``arange(start, end, step)``: evenly spaced numbers, end excluded.

    INT32, or FP32 if any argument is a float. An empty range, a zero step or an int beyond 32 bits is an error.

    >>> evaluate(arange, 1, 7, 2).tolist()
    [1, 3, 5]
    """
    numbers = [scalar_of(bound) for bound in bounds]
    if not 1 <= len(numbers) <= 3 or any(n is None or isinstance(n, (Expression, bool)) for n in numbers):
        raise ArangeArguments(got=list(bounds))
    start, end, step = _range_of(numbers)
    dtype = F32 if any(isinstance(n, float) for n in numbers) else I32
    for number in (start, end, step):
        if dtype is I32 and not fits(number, I32):
            raise FillRange(operation="arange", value=number, dtype=I32.name)
    count = _count(start, end, step)
    return record("arange", [], {"start": start, "step": step, "count": count, "dtype": dtype})


def _range_of(numbers: list[Any]) -> tuple[Any, Any, Any]:
    start, end = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    return start, end, numbers[2] if len(numbers) == 3 else 1


SMALLEST_STEP = 1e-8  # tensor API section 9.1: |step| at most this is refused


def _count(start: Any, end: Any, step: Any) -> int:
    if not all(math.isfinite(n) for n in (start, end, step)) or (step == 0 or abs(step) <= SMALLEST_STEP):
        raise ArangeEmpty(start=start, end=end, step=step)
    exact = all(isinstance(n, int) for n in (start, end, step))
    count = -((start - end) // step) if exact else math.ceil((end - start) / step)
    if count <= 0:
        raise ArangeEmpty(start=start, end=end, step=step)
    return count
