"""Rearranging whole tensors: transpose, permute, concat, expand, clone (tensor API sections 9.7 and 9.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import warn
from pypto.errors.operations import BadPermutation, ConcatCount, ConcatPartial, ConcatShapes, ExpandShape, LengthMismatch
from pypto.errors.runtime import ShapesDisagree, ValidShapesDisagree
from pypto.ir.program import Operand, TensorType
from pypto.ir.symbols import Scalar, add, compare, mul
from pypto.ops import rules
from pypto.ops.arguments import integer, integers, scalars, tensor, type_of
from pypto.ops.dtype_sets import BOOL, MOVED, STORED, U64
from pypto.ops.families import composite
from pypto.ops.guards import require
from pypto.ops.table import Kind, Unit, operation, record, recorder
from pypto.ops.valid import given_valid

HIGHEST_RANK = 5  # tensor API section 9.8: transpose and permute take ranks 1 to 5


def _infer_permute(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    axes = attributes["axes"]
    rules.check_dtype("permute", type.dtype, MOVED)
    rules.check_rank("permute", type, 1, HIGHEST_RANK)
    return [TensorType(type.dtype, tuple(type.shape[a] for a in axes), tuple(type.valid[a] for a in axes))]


@operation(
    kind=Kind.MOVEMENT,
    infer=_infer_permute,
    compute=lambda x, *, axes: np.transpose(x, axes),
    lower="permute",
    npu=Unit("V", "VTRANS"),
    dtypes=MOVED,
    method=True,
    axes={"tile": "in"},
)
def permute(input_tensor: Any, dims: Sequence[int] | None = None, *, perm: Sequence[int] | None = None) -> Any:
    """The axes of ``input_tensor`` in another order: result axis ``i`` is input axis ``dims[i]`` (negative from the end).

    The method spells it ``perm``.

    >>> evaluate(permute, [[1.0, 2.0], [3.0, 4.0]], [1, 0]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    handle = tensor("permute", "input_tensor", input_tensor)
    order = integers("permute", "dims", dims if perm is None else perm)
    rank = type_of(handle).rank
    axes = tuple(rules.axis_of("permute", a, rank) for a in order)
    if sorted(axes) != list(range(rank)):
        raise BadPermutation(operation="permute", axes=list(order), rank=rank)
    return handle if axes == tuple(range(rank)) else record("permute", [handle], {"axes": axes})


# Pairs of axes that the chip's transpose supports (tensor API section 9.8); others only permute can do there.
CHIP_PAIRS = {4: {(0, 2), (1, 2), (1, 3), (2, 3)}, 5: {(3, 4)}}


@composite("transpose", method=True, axes={"tile": "in"})
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes swapped; the input itself when they are one axis or both have size 1.

    >>> evaluate(transpose, [[1.0, 2.0], [3.0, 4.0]], 0, 1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    handle = tensor("transpose", "input", input)
    type = type_of(handle)
    first, second = sorted(rules.axis_of("transpose", integer("transpose", "dim", d), type.rank) for d in (dim0, dim1))
    if first == second or (rules.is_one(type.shape[first]) and rules.is_one(type.shape[second])):
        return handle
    if (first, second) not in CHIP_PAIRS.get(type.rank, {(first, second)}):
        text = f"the default chip transposes no axes {first} and {second} of rank {type.rank}; there, use pypto.permute"
        warn(text, getattr(recorder(), "span", None), portability=True)
    axes = list(range(type.rank))
    axes[first], axes[second] = second, first
    return permute(handle, axes)


# -- concat -------------------------------------------------------------------------------------------------------------------


def _infer_concat(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    types = rules.types_of(operands)
    axis, first = attributes["axis"], types[0]
    rules.check_same_dtype("concat", operands)
    rules.check_equal_ranks("concat", types)
    for type in types:
        rules.check_dtype("concat", type.dtype, MOVED)
    shape, valid = list(first.shape), list(first.valid)
    for position, other in enumerate(types[1:], 1):
        for a in range(first.rank):
            if a != axis:
                shape[a], valid[a] = _common(position, a, axis, types, shape, valid)
        _check_no_gap(position - 1, types[position - 1], axis)
        valid[axis] = add(shape[axis], other.valid[axis])
        shape[axis] = add(shape[axis], other.shape[axis])
    return [TensorType(first.dtype, tuple(shape), tuple(valid))]


def _common(
    position: int, a: int, axis: int, types: list[TensorType], shape: list[Scalar], valid: list[Scalar]
) -> tuple[Scalar, Scalar]:
    """Size and valid extent on an axis that is not joined: equal in all tensors."""
    first, other = types[0], types[position]
    error = ConcatShapes(axis=axis, first=list(first.shape), second=list(other.shape))
    size = rules.agreed("concat", shape[a], other.shape[a], error)
    require(
        compare("eq", valid[a], other.valid[a]),
        ValidShapesDisagree(operation="concat", first=valid[a], second=other.valid[a]),
        ConcatPartial(position=position, valid=list(other.valid), shape=list(first.valid)),
    )
    return size, valid[a]


def _check_no_gap(position: int, type: TensorType, axis: int) -> None:
    """All but the last tensor are valid to their end along the joined axis."""
    require(
        compare("eq", type.valid[axis], type.shape[axis]),
        ValidShapesDisagree(operation="concat", first=type.valid[axis], second=type.shape[axis]),
        ConcatPartial(position=position, valid=list(type.valid), shape=list(type.shape)),
    )


MOST_TENSORS = 128  # tensor API section 9.7


@operation(
    kind=Kind.MOVEMENT,
    infer=_infer_concat,
    compute=lambda *arrays, axis: np.concatenate(arrays, axis),
    lower="concat",
    npu=Unit("MTE2", "CONCAT"),
    dtypes=MOVED,
    chip=tuple(d for d in STORED if d.bits > 8 or d.is_integer),
)
def concat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors of one type joined along ``dim``; the other sizes are equal. All but the last must be fully valid along ``dim``.

    >>> evaluate(lambda a, b: concat([a, b]), [1.0], [2.0, 3.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    recorder()
    parts = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    handles = [tensor("concat", f"tensors[{i}]", part) for i, part in enumerate(parts)]
    if not 2 <= len(handles) <= MOST_TENSORS:
        raise ConcatCount(got=len(handles))
    axis = rules.axis_of("concat", integer("concat", "dim", dim), type_of(handles[0]).rank)
    return record("concat", handles, {"axis": axis})


# -- expand and clone ---------------------------------------------------------------------------------------------------------


def _infer_expand(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    rules.check_dtype("expand_clone", type.dtype, MOVED)
    shape = tuple(attributes["shape"])
    if len(shape) != type.rank:
        raise LengthMismatch(operation="expand_clone", argument="shape", got=len(shape), expected=type.rank)
    inferred = tuple(_expanded(axis, *each) for axis, each in enumerate(zip(type.shape, type.valid, shape, strict=True)))
    return [TensorType(type.dtype, shape, given_valid("expand_clone", shape, attributes.get("valid"), inferred))]


def _expanded(axis: int, size: Scalar, valid: Scalar, target: Scalar) -> Scalar:
    """Valid extent of one axis: all of the new axis where it is expanded, the input's where not."""
    if rules.is_one(size) and not rules.is_one(target):
        return target if rules.is_one(valid) else mul(target, valid)
    require(
        compare("eq", size, target),
        ShapesDisagree(first=size, second=target, operation="EXPAND_CLONE"),
        ExpandShape(axis=axis, got=size, expected=target),
    )
    return valid


def _compute_expand(x: np.ndarray, *, extent: Sequence[int], **_: Any) -> np.ndarray:
    cut = x[tuple(slice(0, e) if n != 1 else slice(None) for n, e in zip(x.shape, extent, strict=True))]
    return np.broadcast_to(cut, extent)


@operation(
    kind=Kind.MOVEMENT,
    infer=_infer_expand,
    compute=_compute_expand,
    lower="expand_clone",
    npu=Unit("V", "VBRCB"),
    dtypes=MOVED,
    chip=tuple(d for d in STORED if d.size <= 4 and d is not U64 and (d.bits > 8 or d.is_integer or d is BOOL)),
    sized=True,
    method=True,
)
def expand_clone(input: Any, shape: Sequence[Any], *, valid_shape: Any = None) -> Any:
    """``input`` repeated along its axes of size 1 to reach ``shape``.

    Expanded axes are fully valid unless ``valid_shape`` is given.

    >>> evaluate(expand_clone, [[1.0], [2.0]], [2, 2]).tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """
    handle = tensor("expand_clone", "input", input)
    valid = None if valid_shape is None else scalars("expand_clone", "valid_shape", valid_shape)
    return record("expand_clone", [handle], {"shape": scalars("expand_clone", "shape", shape), "valid": valid})


@composite("expand", public=False, method=True)
def expand(input: Any, *shape: Any) -> Any:
    """torch's name for ``expand_clone``; -1 keeps a size.

    >>> evaluate(expand, [[1.0], [2.0]], -1, 2).tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """
    handle = tensor("expand", "input", input)
    wanted = scalars("expand", "shape", shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    sizes = type_of(handle).shape
    if len(wanted) == len(sizes):
        wanted = tuple(size if keep == -1 else keep for keep, size in zip(wanted, sizes, strict=True))
    return expand_clone(handle, wanted)


@operation(
    kind=Kind.MOVEMENT,
    infer=lambda operands, attributes: rules.types_of(operands),
    compute=np.copy,
    lower="clone",
    npu=Unit("V", "VCOPY"),
    dtypes=MOVED,
    method=True,
)
def clone(input: Any) -> Any:
    """A copy.

    >>> evaluate(clone, [1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    return record("clone", [tensor("clone", "input", input)])
