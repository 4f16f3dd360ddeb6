"""Parts and other shapes of a tensor: view, reshape, unsqueeze, squeeze (tensor API sections 4.6 and 9.8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.errors.operations import (
    LengthMismatch,
    ReinterpretSize,
    SqueezeAxis,
)
from pypto.errors.regions import ReshapeNeedsIntegers, ReshapeSize
from pypto.errors.runtime import RegionOutOfBounds
from pypto.ir.program import Operand, TensorType
from pypto.ir.symbols import Expression, Scalar, add, compare, floordiv, logical_and, logical_or, maximum, minimum, mul, sub
from pypto.ops import rules
from pypto.ops.arguments import integer, scalars, tensor, type_of
from pypto.ops.dtype_sets import MOVED
from pypto.ops.families import composite
from pypto.ops.guards import require
from pypto.ops.table import Kind, Unit, operation, record
from pypto.ops.valid import check_sizes, given_valid, product, reshaped_valid

# -- view ---------------------------------------------------------------------------------------------------------------------


def _infer_view(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    shape, offsets = tuple(attributes["shape"]), tuple(attributes["offsets"])
    for argument, entries in (("shape", shape), ("offsets", offsets)):
        if len(entries) != type.rank:
            raise LengthMismatch(operation="view", argument=argument, got=len(entries), expected=type.rank)
    inferred = tuple(minimum(maximum(sub(v, o), 0), e) for v, o, e in zip(type.valid, offsets, shape, strict=True))
    valid = given_valid("view", shape, attributes.get("valid"), inferred)
    for axis, (offset, extent, size) in enumerate(zip(offsets, valid, type.shape, strict=True)):
        error = RegionOutOfBounds(action="view", extent=extent, offset=offset, axis=axis, tensor="tensor", size=size)
        require(_inside(offset, extent, size, attributes.get("valid") is None), error)
    return [TensorType(type.dtype, shape, valid)]


def _inside(offset: Scalar, extent: Scalar, size: Scalar, inferred: bool) -> Scalar:
    """A view without valid elements lies anywhere; an inferred extent never passes the end."""
    after_start = compare("le", 0, offset)
    inside = after_start if inferred else logical_and(after_start, compare("le", add(offset, extent), size))
    return logical_or(inside, compare("eq", extent, 0))


def _compute_view(x: np.ndarray, *, shape: Sequence[int], offsets: Sequence[int], extent: Sequence[int], **_: Any) -> np.ndarray:
    return x[tuple(slice(o, o + e) if e else slice(0, 0) for o, e in zip(offsets, extent, strict=True))]


_another_shape = partial(operation, kind=Kind.MOVEMENT, dtypes=MOVED, whole=True, sized=True, method=True)


@_another_shape(infer=_infer_view, compute=_compute_view, lower="view", npu=Unit("MTE2", "VIEW"))
def view(input: Any, shape: Any = None, offsets: Any = None, *, valid_shape: Any = None, dtype: DataType | None = None) -> Any:
    """The part of ``input`` of ``shape`` at ``offsets`` (symbolic allowed); past the edge nothing is valid.

    Valid is ``min(max(input.valid - offset, 0), shape)`` per axis unless ``valid_shape`` says otherwise. With ``dtype`` only: the
    same bytes as another element type, the last axis counted anew.

    >>> evaluate(view, [1.0, 2.0, 3.0, 4.0], [2], [1]).tolist()
    [2.0, 3.0]
    """
    handle = tensor("view", "input", input)
    if dtype is not None:
        return record("reinterpret", [handle], {"dtype": dtype})
    attributes = {
        "shape": scalars("view", "shape", shape),
        "offsets": scalars("view", "offsets", offsets),
        "valid": None if valid_shape is None else scalars("view", "valid_shape", valid_shape),
    }
    return record("view", [handle], attributes)


def _infer_reinterpret(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    target: DataType = attributes["dtype"]
    rules.check_dtype("view", target, MOVED)
    last, valid = mul(type.shape[-1], type.dtype.size), mul(type.valid[-1], type.dtype.size)
    error = ReinterpretSize(shape=list(type.shape), source=type.dtype.name, target=target.name)
    for size in (last, valid):
        if isinstance(size, int) and size % target.size:
            raise error
    shape = (*type.shape[:-1], floordiv(last, target.size))
    return [TensorType(target, shape, (*type.valid[:-1], floordiv(valid, target.size)))]


@operation(
    kind=Kind.MOVEMENT,
    infer=_infer_reinterpret,
    compute=lambda x, *, dtype: np.ascontiguousarray(x).view(dtype.numpy),
    lower="reinterpret",
    npu=Unit("S", "VIEW"),
    dtypes=MOVED,
    public=False,
)
def reinterpret(input: Any, dtype: DataType) -> Any:
    """The same bytes as another element type; the last axis changes by the ratio of sizes.

    >>> evaluate(reinterpret, [1.0], DataType.DT_INT32).tolist()
    [1065353216]
    """
    return record("reinterpret", [tensor("view", "input", input)], {"dtype": dtype})


# -- reshape ------------------------------------------------------------------------------------------------------------------


def _infer_reshape(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    shape, valid = tuple(attributes["shape"]), attributes.get("valid")
    if valid is None:
        return [TensorType(type.dtype, shape, reshaped_valid(type.shape, type.valid, shape))]
    check_sizes(type.shape, shape)
    return [TensorType(type.dtype, shape, given_valid("reshape", shape, valid, shape))]


def _compute_reshape(x: np.ndarray, *, shape: Sequence[int], extent: Sequence[int], **_: Any) -> np.ndarray:
    return x.reshape(shape)[tuple(slice(0, e) for e in extent)]


def _inferred_shape(shape: tuple[int, ...], type: TensorType) -> tuple[Scalar, ...]:
    """``shape`` with one -1 replaced by what is left."""
    if -1 not in shape:
        return shape
    known, total = product([s for s in shape if s != -1]), product(type.shape)
    if shape.count(-1) > 1 or (isinstance(total, int) and (known == 0 or total % known)):  # type: ignore[operator]
        raise ReshapeSize(got=list(shape), expected=list(type.shape))
    return tuple(floordiv(total, known) if s == -1 else s for s in shape)


@_another_shape(infer=_infer_reshape, compute=_compute_reshape, lower="reshape", npu=Unit("S", "RESHAPE"))
def reshape(input: Any, shape: Any, *, valid_shape: Any = None, inplace: bool = False) -> Any:
    """The same elements, row-major, in another shape (one entry may be -1).

    A partially valid input keeps its valid part where that is a rectangle of the result, else it is an error; ``valid_shape``
    overrules. ``inplace=True`` on a kernel argument or local tensor gives the same memory (handled by the front end).

    >>> evaluate(reshape, [1.0, 2.0, 3.0, 4.0], [2, 2]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    handle = tensor("reshape", "input", input)
    sizes = scalars("reshape", "shape", shape)
    if any(isinstance(s, Expression) for s in sizes):
        raise ReshapeNeedsIntegers(shape=list(sizes))
    target = _inferred_shape(sizes, type_of(handle))  # type: ignore[arg-type]
    valid = None if valid_shape is None else scalars("reshape", "valid_shape", valid_shape)
    return record("reshape", [handle], {"shape": target, "valid": valid})


@composite("unsqueeze", method=True)
def unsqueeze(input: Any, dim: int) -> Any:
    """An axis of size 1 inserted at ``dim`` (from ``-rank - 1`` to ``rank``).

    >>> evaluate(unsqueeze, [1.0, 2.0], 0).tolist()
    [[1.0, 2.0]]
    """
    handle = tensor("unsqueeze", "input", input)
    type = type_of(handle)
    axis = rules.axis_of("unsqueeze", integer("unsqueeze", "dim", dim), type.rank, extra=1)
    return _with_axes(handle, (*type.shape[:axis], 1, *type.shape[axis:]), (*type.valid[:axis], 1, *type.valid[axis:]))


@composite("squeeze", method=True)
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without the axis ``dim`` of size 1, or without all such axes (one is kept if there is no other).

    >>> evaluate(squeeze, [[1.0, 2.0]], 0).tolist()
    [1.0, 2.0]
    """
    handle = tensor("squeeze", "input", input)
    type = type_of(handle)
    if dim is None:
        axes = [a for a, size in enumerate(type.shape) if rules.is_one(size)]
    else:
        axes = [rules.axis_of("squeeze", integer("squeeze", "dim", dim), type.rank)]
        if not rules.is_one(type.shape[axes[0]]):
            raise SqueezeAxis(axis=axes[0], got=type.shape[axes[0]])
    kept = [a for a in range(type.rank) if a not in axes] or [0]
    dropped = product([type.valid[a] for a in range(type.rank) if a not in kept])
    first, *others = (type.valid[a] for a in kept)
    return _with_axes(handle, tuple(type.shape[a] for a in kept), (mul(first, dropped), *others))  # nothing of nothing is valid


def _with_axes(handle: Any, shape: tuple[Scalar, ...], valid: tuple[Scalar, ...]) -> Any:
    if shape == type_of(handle).shape:
        return handle
    return record("reshape", [handle], {"shape": shape, "valid": valid})
