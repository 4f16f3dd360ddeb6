"""Typing rules: what an op demands of its operands and what types come out, valid extents included.

A rule is ``infer(operands, attributes) -> [TensorType]``. Operands are ir values and literals. Extents may be symbolic:
what cannot be decided becomes a guard (see guards.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.dtypes import DataType
from pypto.errors.operations import (
    AxisOutOfRange,
    DtypesDiffer,
    DtypeUnsupported,
    ElementDtypeDiffers,
    EmptyAxis,
    NotBroadcastable,
    RankOutOfRange,
    RanksDiffer,
)
from pypto.errors.runtime import ShapesDisagree
from pypto.ir.program import Literal, Operand, TensorType
from pypto.ir.symbols import Expression, Scalar, compare, minimum, mul
from pypto.ops.dtype_sets import names
from pypto.ops.guards import require
from pypto.ops.table import Infer

Attributes = Mapping[str, Any]


# -- checks -------------------------------------------------------------------------------------------------------------------


def types_of(operands: Sequence[Operand]) -> list[TensorType]:
    """Types of the tensor operands, literals left out."""
    return [o.type for o in operands if hasattr(o, "type")]  # type: ignore[union-attr]


def check_dtype(operation: str, dtype: DataType, allowed: tuple[DataType, ...]) -> None:
    if dtype not in allowed:
        raise DtypeUnsupported(dtype=dtype.name, operation=operation.upper(), supported=names(allowed))


def check_rank(operation: str, type: TensorType, low: int = 1, high: int = 4) -> None:
    if not low <= type.rank <= high:
        raise RankOutOfRange(low=low, high=high, got=type.rank, operation=operation.upper())


def check_same_dtype(operation: str, operands: Sequence[Operand]) -> None:
    """All tensors and literals of one element type."""
    (first, *rest) = [o for o in operands if hasattr(o, "type")]
    for other in rest:
        if other.type.dtype is not first.type.dtype:  # type: ignore[union-attr]
            a, b = first.type.dtype.name, other.type.dtype.name  # type: ignore[union-attr]
            raise DtypesDiffer(first=a, second=b, first_name=a, operation=operation.upper())
    for literal in operands:
        if isinstance(literal, Literal) and literal.dtype is not first.type.dtype:  # type: ignore[union-attr]
            a, b = first.type.dtype.name, literal.dtype.name  # type: ignore[union-attr]
            raise ElementDtypeDiffers(first=a, second=b, operation=operation.upper())


def check_not_empty(operation: str, type: TensorType) -> None:
    for axis, size in enumerate(type.shape):
        if not isinstance(size, Expression) and size == 0:
            raise EmptyAxis(operation=operation.upper(), axis=axis)


def axis_of(operation: str, dim: int, rank: int, *, extra: int = 0) -> int:
    """A non-negative axis from one that may count from the end. ``extra``: positions past the last (unsqueeze)."""
    low, high = -rank - extra, rank - 1 + extra
    if not low <= dim <= high:
        raise AxisOutOfRange(operation=operation, axis=dim, rank=rank, low=low, high=high)
    return dim + rank + extra if dim < 0 else dim


# -- extents ------------------------------------------------------------------------------------------------------------------


def is_one(size: Scalar) -> bool:
    return not isinstance(size, Expression) and size == 1


def same(a: Scalar, b: Scalar) -> bool:
    """Whether two extents are known to be equal."""
    return a is b or (not isinstance(a, Expression) and not isinstance(b, Expression) and a == b)


def agreed(operation: str, a: Scalar, b: Scalar, otherwise: Exception) -> Scalar:
    """The common size of two extents that must be equal; symbolic ones are compared by the run."""
    if same(a, b):
        return a
    require(
        compare("eq", a, b),
        ShapesDisagree(first=a, second=b, operation=operation.upper()),
        otherwise,  # type: ignore[arg-type]
    )
    return b if isinstance(a, Expression) else a


def aligned(extents: Sequence[Scalar], rank: int) -> tuple[Scalar, ...]:
    """Extents with leading ones up to ``rank``."""
    return (1,) * (rank - len(extents)) + tuple(extents)


def broadcast(operation: str, types: Sequence[TensorType]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Shape and valid extent of operands aligned from the right: sizes equal or 1, valid extents their minimum."""
    rank = max(t.rank for t in types)
    shape, valid = aligned(types[0].shape, rank), aligned(types[0].valid, rank)
    for other in types[1:]:
        if (other.shape, other.valid) == (shape, valid):  # the common case, without building an error
            continue
        error = NotBroadcastable(first=list(types[0].shape), second=list(other.shape), operation=operation.upper())
        pairs = [
            _broadcast_axis(operation, *axis, error)
            for axis in zip(shape, valid, aligned(other.shape, rank), aligned(other.valid, rank), strict=True)
        ]
        shape, valid = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    return shape, valid


def _broadcast_axis(
    operation: str, size: Scalar, valid: Scalar, size2: Scalar, valid2: Scalar, error: Exception
) -> tuple[Scalar, Scalar]:
    if is_one(size) and is_one(size2):
        return 1, minimum(valid, valid2)
    if is_one(size):
        return size2, mul(valid2, valid)  # a broadcast operand without data leaves no data
    if is_one(size2):
        return size, mul(valid, valid2)
    return agreed(operation, size, size2, error), minimum(valid, valid2)


# -- rules --------------------------------------------------------------------------------------------------------------------

ResultType = Callable[[DataType], DataType]


def elementwise(
    operation: str,
    dtypes: tuple[DataType, ...],
    *,
    result: DataType | ResultType | None = None,
    equal_ranks: bool = False,
    empty: bool = True,
    mixed: bool = False,
) -> Infer:
    """Operands of one element type (unless ``mixed``), broadcast together. ``result``: element type of the result, if another."""

    def infer(operands: Sequence[Operand], attributes: Attributes) -> list[TensorType]:
        types = types_of(operands)
        for type in types:
            check_dtype(operation, type.dtype, dtypes)
            check_rank(operation, type)
            if not empty:
                check_not_empty(operation, type)
        if not mixed:
            check_same_dtype(operation, operands)
        if equal_ranks:
            check_equal_ranks(operation, types)
        shape, valid = broadcast(operation, types)
        return [TensorType(_result_dtype(result, types[0].dtype), shape, valid)]

    return infer


def _result_dtype(result: DataType | ResultType | None, dtype: DataType) -> DataType:
    if result is None or isinstance(result, DataType):
        return result or dtype
    return result(dtype)


def check_equal_ranks(operation: str, types: Sequence[TensorType]) -> None:
    for other in types[1:]:
        if other.rank != types[0].rank:
            raise RanksDiffer(first=types[0].rank, second=other.rank, operation=operation.upper())
