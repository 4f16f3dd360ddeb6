"""Reductions along one axis (tensor API section 9.5). Only valid elements take part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.ir.program import Operand, TensorType
from pypto.ops import rules
from pypto.ops.arguments import boolean, integer, tensor, type_of
from pypto.ops.dtype_sets import B16, F16, F32, FLOATS, I16, I32, NUMBERS
from pypto.ops.numerics import is_float, narrowed, widened
from pypto.ops.table import Infer, Kind, Reduction, Unit, operation, record


def infer_reduction(name: str, dtypes: tuple[DataType, ...], result: DataType | None = None) -> Infer:
    """Attributes ``axis`` (not negative) and ``keepdim``; a removed only axis leaves ``[1]``."""

    def infer(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
        (type,) = rules.types_of(operands)
        rules.check_dtype(name, type.dtype, dtypes)
        rules.check_rank(name, type)
        axis = rules.axis_of(name, attributes["axis"], type.rank)
        kept = (1,) if attributes["keepdim"] or type.rank == 1 else ()
        shape = (*type.shape[:axis], *kept, *type.shape[axis + 1 :])
        valid = (*type.valid[:axis], *kept, *type.valid[axis + 1 :])
        return [TensorType(result or type.dtype, shape, valid)]

    return infer


def reducing(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """``function(array, axis)`` keeping the axis, shaped as the rule says."""

    def compute(x: np.ndarray, *, axis: int, keepdim: bool) -> np.ndarray:
        result = function(x, axis)
        return result if keepdim or x.ndim == 1 else np.squeeze(result, axis)

    return compute


def reduction(
    name: str, *, dtypes: tuple[DataType, ...], combine: str, compute: Callable[..., np.ndarray], **columns: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    result = columns.pop("result", None)
    return operation(
        name=name,
        kind=Kind.REDUCTION,
        infer=infer_reduction(name, dtypes, result),
        compute=reducing(compute),
        lower=Reduction(combine),
        npu=Unit("V", columns.pop("instruction")),
        dtypes=dtypes,
        method=True,
        axes={"tile": "in"},
        **columns,
    )


def reduce(name: str, handle: Any, dim: Any, keepdim: Any) -> Any:
    """Record a reduction after checking what the user gave."""
    tensor(name, "input", handle)
    axis = rules.axis_of(name, integer(name, "dim", dim), type_of(handle).rank)
    return record(name, [handle], {"axis": axis, "keepdim": boolean(name, "keepdim", keepdim)})


def _lowest(dtype: np.dtype) -> Any:
    """Identity of max."""
    return -np.inf if _floating(dtype) else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    return np.inf if _floating(dtype) else np.iinfo(dtype).max


def _floating(dtype: np.dtype) -> bool:
    return is_float(np.empty(0, dtype))


def _extreme(ufunc: np.ufunc, identity: Callable[[np.dtype], Any]) -> Callable[..., np.ndarray]:
    def function(x: np.ndarray, axis: int) -> np.ndarray:
        start = np.asarray(identity(x.dtype)).astype(x.dtype)
        wide = widened(x)
        return ufunc.reduce(wide, axis=axis, keepdims=True, initial=widened(start)[()]).astype(x.dtype)

    return function


def _folded(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    """Floats accumulated in float64 and rounded once; integers in their own type, wrapping."""

    def function(x: np.ndarray, axis: int) -> np.ndarray:
        if is_float(x):
            return narrowed(ufunc.reduce(widened(x).astype(np.float64), axis=axis, keepdims=True), x.dtype)
        return ufunc.reduce(x, axis=axis, keepdims=True, dtype=x.dtype)

    return function


def _argument(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """First position of the extreme, the first NaN if there is one; 0 along an axis without valid elements."""

    def compute(x: np.ndarray, axis: int) -> np.ndarray:
        if x.shape[axis] == 0:
            return np.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), np.int32)
        return np.asarray(function(widened(x), axis=axis, keepdims=True)).astype(np.int32)

    return compute


COMMON = (F16, B16, I16, I32, F32)


@reduction("sum", dtypes=NUMBERS, chip=(F32, B16, I32, I16), combine="add", compute=_folded(np.add), instruction="VCADD")
def sum(input: Any, dim: int, keepdim: bool = False) -> Any:
    """Sum along ``dim`` in the input's type (FP32 accumulation for narrow floats; integers wrap).

    >>> evaluate(sum, [[1.0, 2.0], [3.0, 4.0]], 1).tolist()
    [3.0, 7.0]
    """
    return reduce("sum", input, dim, keepdim)


@reduction("prod", dtypes=NUMBERS, chip=(F32, I32, I16), combine="mul", compute=_folded(np.multiply), instruction="VCMUL")
def prod(self: Any, dim: int, keepdim: bool = False) -> Any:
    """Product along ``dim`` in the input's type; integers wrap.

    >>> evaluate(prod, [[1.0, 2.0], [3.0, 4.0]], 1).tolist()
    [2.0, 12.0]
    """
    return reduce("prod", self, dim, keepdim)


@reduction("amax", dtypes=NUMBERS, chip=COMMON, combine="max", compute=_extreme(np.maximum, _lowest), instruction="VCMAX")
def amax(input: Any, dim: int, keepdim: bool = False) -> Any:
    """Maximum along ``dim``; NaN propagates; -inf (the least integer) where nothing is valid.

    >>> evaluate(amax, [[1.0, 2.0], [4.0, 3.0]], 1).tolist()
    [2.0, 4.0]
    """
    return reduce("amax", input, dim, keepdim)


@reduction("amin", dtypes=NUMBERS, chip=COMMON, combine="min", compute=_extreme(np.minimum, _highest), instruction="VCMIN")
def amin(input: Any, dim: int, keepdim: bool = False) -> Any:
    """Minimum along ``dim``; NaN propagates; inf (the greatest integer) where nothing is valid.

    >>> evaluate(amin, [[1.0, 2.0], [4.0, 3.0]], 1).tolist()
    [1.0, 3.0]
    """
    return reduce("amin", input, dim, keepdim)


@reduction("argmax", dtypes=NUMBERS, chip=FLOATS, combine="argmax", compute=_argument(np.argmax), result=I32, instruction="VCMAX")
def argmax(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Position (INT32) of the maximum along ``dim``: the lowest among equals, the first NaN if there is one.

    >>> evaluate(argmax, [3.0, 7.0, 7.0], 0).tolist()
    [1]
    """
    return reduce("argmax", input, dim, keepdim)


@reduction("argmin", dtypes=NUMBERS, chip=FLOATS, combine="argmin", compute=_argument(np.argmin), result=I32, instruction="VCMIN")
def argmin(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Position (INT32) of the minimum along ``dim``: the lowest among equals, the first NaN if there is one.

    >>> evaluate(argmin, [3.0, 1.0, 1.0], 0).tolist()
    [1]
    """
    return reduce("argmin", input, dim, keepdim)
