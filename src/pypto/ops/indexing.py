"""Reading and writing by index tensors (tensor API section 9.6). Every index is checked when the kernel runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.errors.operations import (
    DtypesDiffer,
    GatherShape,
    IndexDtype,
    RankOutOfRange,
    ScatterUpdateDim,
    ScatterUpdateRank,
    ScatterUpdateShape,
)
from pypto.errors.runtime import IndexOutOfBounds, ValidShapesDisagree
from pypto.ir.program import Operand, TensorType
from pypto.ir.symbols import Expression, Scalar, compare, minimum, mul
from pypto.ops import rules
from pypto.ops.arguments import integer, tensor, type_of
from pypto.ops.dtype_sets import B16, BOOL, E4M3, E5M2, F16, F32, I8, I16, I32, I64, NUMBERS, STORED, U8, U16, U32
from pypto.ops.guards import require
from pypto.ops.table import Kind, Unit, operation, record
from pypto.ops.valid import product

INDICES = (I32, I64)


def _check_index_dtype(operation: str, type: TensorType, allowed: tuple[DataType, ...] = INDICES) -> None:
    if type.dtype not in allowed:
        raise IndexDtype(operation=operation, dtype=type.dtype.name)


def check_indices(operation: str, index: np.ndarray, axis: int, size: int) -> None:
    """Every entry of an index array lies in 0 … size - 1; the first that does not is named."""
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        raise IndexOutOfBounds(operation=operation, index=int(index[wrong][0]), axis=axis, size=size)


# -- gather -------------------------------------------------------------------------------------------------------------------


def _infer_gather(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    input, index = rules.types_of(operands)
    axis = attributes["axis"]
    rules.check_dtype("gather", input.dtype, STORED)
    _check_index_dtype("gather", index)
    rules.check_rank("gather", input, 1, 5)
    rules.check_equal_ranks("gather", [input, index])
    for a, (size, limit) in enumerate(zip(index.shape, input.shape, strict=True)):
        if a != axis and not isinstance(size, Expression) and not isinstance(limit, Expression) and size > limit:
            raise GatherShape(got=size, limit=limit, axis=a)
    valid = tuple(v if a == axis else minimum(v, w) for a, (v, w) in enumerate(zip(index.valid, input.valid, strict=True)))
    return [TensorType(input.dtype, index.shape, valid)]


def _gather(x: np.ndarray, index: np.ndarray, *, axis: int) -> np.ndarray:
    cut = index[tuple(slice(None) if a == axis else slice(0, n) for a, n in enumerate(x.shape))]
    check_indices("gather", cut, axis, x.shape[axis])
    source = x[tuple(slice(None) if a == axis else slice(0, n) for a, n in enumerate(cut.shape))]
    return np.take_along_axis(source, cut.astype(np.int64), axis=axis)


@operation(
    kind=Kind.INDEXING,
    infer=_infer_gather,
    compute=_gather,
    lower="gather",
    npu=Unit("V", "VGATHER"),
    dtypes=STORED,
    chip=(F32, F16, B16, I32, U32, I16, U16),
    method=True,
)
def gather(input: Any, dim: int, index: Any) -> Any:
    """``result[i, j] = input[index[i, j], j]`` for ``dim`` 0, and so on: torch.gather.

    ``index`` is INT32 or INT64 and has the input's rank.
    Sizes of ``index`` other than along ``dim`` do not exceed the input's. An index outside the valid input stops the kernel.

    >>> evaluate(gather, [[1.0, 2.0], [3.0, 4.0]], 1, np.array([[1], [0]])).tolist()
    [[2.0], [3.0]]
    """
    handle, indices = tensor("gather", "input", input), tensor("gather", "index", index)
    axis = rules.axis_of("gather", integer("gather", "dim", dim), type_of(handle).rank)
    return record("gather", [handle, indices], {"axis": axis})


# -- index_select -------------------------------------------------------------------------------------------------------------


def _infer_select(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    input, index = rules.types_of(operands)
    axis = attributes["axis"]
    rules.check_dtype("index_select", input.dtype, STORED)
    _check_index_dtype("index_select", index)
    rules.check_rank("index_select", input)
    rules.check_rank("index_select", index, 1, 2)
    shape = (*input.shape[:axis], *index.shape, *input.shape[axis + 1 :])
    if len(shape) > 5:
        raise RankOutOfRange(low=1, high=5, got=len(shape), operation="INDEX_SELECT")
    return [TensorType(input.dtype, shape, (*input.valid[:axis], *index.valid, *input.valid[axis + 1 :]))]


def _select(x: np.ndarray, index: np.ndarray, *, axis: int) -> np.ndarray:
    check_indices("index_select", index, axis, x.shape[axis])
    return np.take(x, index, axis=axis)


@operation(
    kind=Kind.INDEXING,
    infer=_infer_select,
    compute=_select,
    lower="index_select",
    npu=Unit("MTE2", "INDEX_SELECT"),
    dtypes=STORED,
    chip=(F32, F16, B16, I32, I16, I8, U32, U16, U8),
    method=True,
)
def index_select(input: Any, dim: int, index: Any) -> Any:
    """Slices of ``input`` along ``dim`` in the order of ``index`` (INT32 or INT64, one or two axes, both inserted).

    An index outside the valid input stops the kernel.

    >>> evaluate(index_select, [[1.0, 2.0], [3.0, 4.0]], 0, np.array([1, 1])).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    handle, indices = tensor("index_select", "input", input), tensor("index_select", "index", index)
    axis = rules.axis_of("index_select", integer("index_select", "dim", dim), type_of(handle).rank)
    return record("index_select", [handle, indices], {"axis": axis})


# -- scatter_update -----------------------------------------------------------------------------------------------------------

UPDATED = (*NUMBERS, BOOL, E4M3, E5M2)


def _infer_update(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    input, index, source = rules.types_of(operands)
    rules.check_dtype("scatter_update", input.dtype, UPDATED)
    _check_index_dtype("scatter_update", index, (I64, I32, I16))
    if source.dtype is not input.dtype:
        first, second = input.dtype.name, source.dtype.name
        raise DtypesDiffer(first=first, second=second, first_name=first, operation="SCATTER_UPDATE")
    if input.rank not in (2, 4):
        raise ScatterUpdateRank(got=input.rank)
    if not _fits(input, index, source):
        raise ScatterUpdateShape(source=list(source.shape), index=list(index.shape), input=list(input.shape))
    _check_representable(input, index, source)
    return [input]


def _fits(input: TensorType, index: TensorType, source: TensorType) -> bool:
    """Rows of ``source`` pair with entries of ``index``; their length is the input's last axis."""
    if index.rank != 2 or source.rank != input.rank or not _may_equal(source.shape[-1], input.shape[-1]):
        return False
    if input.rank == 2:
        return _may_equal(product(index.shape), source.shape[0])
    heads = rules.is_one(source.shape[2]) and rules.is_one(input.shape[2])
    return heads and _may_equal(source.shape[0], index.shape[0]) and _may_equal(source.shape[1], index.shape[1])


def _may_equal(a: Scalar, b: Scalar) -> bool:
    return isinstance(a, Expression) or isinstance(b, Expression) or a == b


def _check_representable(input: TensorType, index: TensorType, source: TensorType) -> None:
    """Entries are numbered row by row over whole axes: the index's last, and the block axis of a 4-D input.

    An index of one row pairs with the rows that the source has; of an index of several rows each entry needs its row.
    """
    if input.rank == 2 and not rules.is_one(index.shape[0]):
        _require_full("index", index.valid[1], index.shape[1])
        wanted = mul(index.valid[0], index.shape[1])
        error = ValidShapesDisagree(operation="scatter_update of a partial src", first=source.valid[0], second=wanted)
        require(compare("le", wanted, source.valid[0]), error)
    if input.rank == 4:
        _require_full("input", input.valid[1], input.shape[1])


def _require_full(name: str, valid: Scalar, size: Scalar) -> None:
    error = ValidShapesDisagree(operation=f"scatter_update of a partial {name}", first=valid, second=size)
    require(compare("eq", valid, size), error)


def _update(input: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Rows written in the order of the index, so the last of equal indices wins."""
    result = input.copy()
    rows = result.reshape(-1, result.shape[-1])
    if input.ndim == 2:
        entries, data = index.reshape(-1)[: source.shape[0]], source
    else:
        entries = index[: source.shape[0], : source.shape[1]].reshape(-1)
        data = source[: index.shape[0], : index.shape[1]].reshape(-1, source.shape[-1])
    check_indices("scatter_update", entries, 0, rows.shape[0])
    columns = min(rows.shape[1], data.shape[1])
    for entry, row in zip(entries, data, strict=False):
        rows[entry, :columns] = row[:columns]
    return result


@operation(
    kind=Kind.INDEXING,
    infer=_infer_update,
    compute=_update,
    lower="scatter_update",
    npu=Unit("MTE3", "SCATTER"),
    dtypes=UPDATED,
    chip=(F32, F16, B16, I32, I16),
    renews=(0,),
    method=True,
)
def scatter_update(input: Any, dim: int, index: Any, src: Any) -> Any:
    """``input`` with the rows at ``index`` replaced by those of ``src``; ``dim`` is -2.

    Rank 2: ``input[index[i, j]] = src[i * index.shape[1] + j]``. Rank 4: ``input[ix // bs, ix % bs, 0] = src[i, j, 0]`` with
    ``ix = index[i, j]`` and ``bs = input.shape[1]``. The last of equal indices wins; one outside the input stops the kernel.
    ``input`` itself stays as it is; ``cache.move(pypto.scatter_update(cache, -2, index, src))`` updates a cache, in place.

    >>> evaluate(scatter_update, [[1.0], [2.0]], -2, np.array([[1]]), [[9.0]]).tolist()
    [[1.0], [9.0]]
    """
    handles = [tensor("scatter_update", name, t) for name, t in (("input", input), ("index", index), ("src", src))]
    if integer("scatter_update", "dim", dim) != -2:
        raise ScatterUpdateDim(dim=dim)
    return record("scatter_update", handles)
