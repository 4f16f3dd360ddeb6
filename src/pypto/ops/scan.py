"""Running sums, triangles, and the largest few (tensor API sections 9.3 and 9.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.enums import TopKAlgo
from pypto.errors.operations import ArgumentType, TopKAxis, TopKCount
from pypto.ir.program import Operand, TensorType
from pypto.ir.symbols import Expression, kind_of, maximum, minimum
from pypto.ops import rules
from pypto.ops.arguments import boolean, integer, kind_name, scalar_of, tensor, type_of
from pypto.ops.dtype_sets import ALL_FLOATS, B16, BOOL, F16, F32, I8, I16, I32, I64, INTEGERS, NUMBERS, U16, U32
from pypto.ops.numerics import is_float, narrowed, widened
from pypto.ops.table import Kind, Unit, operation, record

# -- cumsum -------------------------------------------------------------------------------------------------------------------

CUMSUM = (*ALL_FLOATS, *INTEGERS)


def _infer_cumsum(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    rules.check_dtype("cumsum", type.dtype, CUMSUM)
    rules.check_rank("cumsum", type)
    return [type.with_(dtype=type.dtype if type.dtype.is_float else I64, valid=type.valid)]


def _cumsum(x: np.ndarray, *, axis: int) -> np.ndarray:
    if is_float(x):
        return narrowed(np.cumsum(widened(x).astype(np.float64), axis=axis), x.dtype)
    return np.cumsum(x, axis=axis, dtype=np.int64)


@operation(
    kind=Kind.SCAN,
    infer=_infer_cumsum,
    compute=_cumsum,
    lower="cumsum",
    npu=Unit("V", "VCUMSUM"),
    dtypes=CUMSUM,
    chip=(F32, F16, B16, I32, I16),
    method=True,
)
def cumsum(input: Any, dim: int) -> Any:
    """Running sum along ``dim``; floats keep their type (summed in FP32), integers give INT64.

    >>> evaluate(cumsum, [1.0, 2.0, 3.0], 0).tolist()
    [1.0, 3.0, 6.0]
    """
    handle = tensor("cumsum", "input", input)
    return record("cumsum", [handle], {"axis": rules.axis_of("cumsum", integer("cumsum", "dim", dim), type_of(handle).rank)})


# -- triangles ----------------------------------------------------------------------------------------------------------------

TRIANGLE = (*NUMBERS, BOOL)
TRIANGLE_CHIP = (F32, F16, B16, I16, I32, I8, U16, U32)


def _infer_triangle(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    rules.check_dtype("tril", type.dtype, TRIANGLE)
    rules.check_rank("tril", type, 2, 5)
    return [type]


FAR = 2**31 - 1  # sizes are smaller (tensor API section 8.3)


def _triangle(name: str, input: Any, diagonal: Any) -> Any:
    handle = tensor(name, "input", input)
    offset = scalar_of(diagonal)
    if offset is None or kind_of(offset) != "int":
        raise ArgumentType(operation=name, argument="diagonal", expected="int", kind=kind_name(diagonal))
    return record(name, [handle], {"diagonal": minimum(maximum(offset, -FAR), FAR)})  # beyond every corner, within 32 bits


def _kept(x: np.ndarray, diagonal: int, lower: bool) -> np.ndarray:
    """``x`` where column - row is at most (lower) or at least (upper) ``diagonal``, zero elsewhere."""
    distance = np.arange(x.shape[-1])[None, :] - np.arange(x.shape[-2])[:, None]
    keep = distance <= diagonal if lower else distance >= diagonal
    return np.where(keep, x, np.zeros((), x.dtype))


def _row(name: str, lower: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the row of a triangle."""
    return operation(
        kind=Kind.SCAN,
        infer=_infer_triangle,
        compute=lambda x, *, diagonal: _kept(x, diagonal, lower),
        lower=name,
        npu=Unit("V", f"V{name.upper()}"),
        dtypes=TRIANGLE,
        chip=TRIANGLE_CHIP,
        method=True,
    )


@_row("tril", lower=True)
def tril(input: Any, diagonal: Any = 0) -> Any:
    """The lower triangle of the last two axes, zero above ``diagonal`` (an int or symbolic scalar). Rank 2 to 5.

    >>> evaluate(tril, [[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    return _triangle("tril", input, diagonal)


@_row("triu", lower=False)
def triu(input: Any, diagonal: Any = 0) -> Any:
    """The upper triangle of the last two axes, zero below ``diagonal`` (an int or symbolic scalar). Rank 2 to 5.

    >>> evaluate(triu, [[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    return _triangle("triu", input, diagonal)


# -- topk ---------------------------------------------------------------------------------------------------------------------


def _infer_topk(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    rules.check_dtype("topk", type.dtype, NUMBERS)
    rules.check_rank("topk", type)
    k = attributes["k"]
    shape, valid = (*type.shape[:-1], k), (*type.valid[:-1], minimum(type.valid[-1], k))
    return [TensorType(type.dtype, shape, valid), TensorType(I32, shape, valid)]


def order(x: np.ndarray, largest: bool) -> np.ndarray:
    """Positions along the last axis by value; equal values by position; NaN counts as the largest, as in torch."""
    wide = widened(x)
    place = np.argsort(wide, axis=-1, kind="stable")  # NaN last
    if not largest:
        return place
    backwards = np.flip(np.argsort(np.flip(wide, -1), axis=-1, kind="stable"), -1)
    return wide.shape[-1] - 1 - backwards


def _topk(x: np.ndarray, *, k: int, largest: bool) -> list[np.ndarray]:
    place = order(x, largest)[..., :k]
    return [np.take_along_axis(x, place, axis=-1), place.astype(np.int32)]


@operation(
    kind=Kind.SORT,
    infer=_infer_topk,
    compute=_topk,
    lower="topk",
    npu=Unit("V", "VMRGSORT"),
    dtypes=NUMBERS,
    chip=(F32,),
    method=True,
    axes={"tile": "in"},
)
def topk(input: Any, k: int, dim: int | None = None, largest: bool = True, algo: TopKAlgo = TopKAlgo.MERGE_SORT) -> Any:
    """``[values, indices]``: the ``k`` largest (or smallest) along the last axis, sorted; indices INT32.

    Equal values come in the order of their indices; NaN counts as the largest.

    >>> [r.tolist() for r in evaluate(topk, [1.0, 7.0, 3.0], 2)]
    [[7.0, 3.0], [1, 2]]
    """
    handle = tensor("topk", "input", input)
    type = type_of(handle)
    if dim is not None and integer("topk", "dim", dim) not in (-1, type.rank - 1):
        raise TopKAxis(dim=dim, rank=type.rank)
    count, size = integer("topk", "k", k), type.shape[-1]
    if count < 1 or (not isinstance(size, Expression) and count > size):
        raise TopKCount(k=count, size=size)
    return record("topk", [handle], {"k": count, "largest": boolean("topk", "largest", largest)})
