"""Subscripts: elements of tuples, groups, struct arrays, shapes, tiles and tensors; sub-views of tiles; stores into elements."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from pypto.cores.enums import MemorySpace, TensorLayout
from pypto.cores.program import Constant, Expression, Extent, Item, Operation, ValidExtent, Window
from pypto.cores.types import INDEX
from pypto.ops.tile.checks import STORAGE_ONLY
from pypto.ops.tile.table import find
from pypto_pro.errors.expressions import (
    EmptyTuple,
    IndexCount,
    IndexType,
    MixedTuple,
    NotAnArrayField,
    NotSubscriptable,
    ScalarStorage,
    ShapeIndexConstant,
    ShapeIndexRange,
    SingleIndex,
    SliceBounds,
    SliceMixed,
    SliceOneDimension,
    SliceOrder,
    SliceSpace,
    SliceStart,
    SliceStep,
    StructArrayIndex,
    TensorSlice,
    TupleIndex,
    TupleIndexType,
    TupleIndices,
    UnsupportedExpression,
)
from pypto_pro.errors.statements import StoreTarget
from pypto_pro.errors.tiles import GroupIndex, GroupIndexType
from pypto_pro.frontend import records
from pypto_pro.frontend.binding import Arguments
from pypto_pro.frontend.expressions import slot
from pypto_pro.frontend.instructions import emit_operation
from pypto_pro.frontend.order import in_order
from pypto_pro.frontend.values import (
    ArrayField,
    GroupHandle,
    Number,
    Shape,
    Static,
    StructArrayHandle,
    StructHandle,
    TensorHandle,
    TileHandle,
    as_number,
    bundle,
    category,
    describe,
    elements,
    renamed,
    static_integer,
)


def subscript(reader: Any, node: ast.Subscript) -> Any:
    base = reader.expression(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(part, ast.Slice) for part in parts):
        return sliced(reader, base, parts, node)
    indices = in_order(reader, parts, reader.expression)
    return element(reader, base, indices, node)


def element(reader: Any, base: Any, indices: list[Any], node: ast.AST) -> Any:
    if isinstance(base, GroupHandle):
        return group_tile(base, indices)
    if isinstance(base, StructArrayHandle):
        return record(base, indices)
    if isinstance(base, ArrayField):
        return records.read_element(base, indices)
    if isinstance(base, Shape):
        return extent(base, indices)
    if isinstance(base, (TileHandle, TensorHandle)):
        return read(reader, base, indices, node)
    if elements(base) is not None:
        return tuple_item(base, indices)
    if isinstance(base, Number) and isinstance(getattr(node, "value", None), ast.Attribute):
        raise NotAnArrayField(name=node.value.attr)  # type: ignore[attr-defined]
    raise NotSubscriptable(got=describe(base))


# -- groups, struct arrays, tuples ------------------------------------------------------------------------------------------


def group_tile(group: GroupHandle, indices: list[Any]) -> TileHandle:
    """``group[i]``: the ring does not turn."""
    number = as_number(indices[0]) if len(indices) == 1 else None
    if number is None or number.dtype.is_float:
        raise GroupIndexType(got=describe(indices[0]) if len(indices) == 1 else f"{len(indices)} indices")
    known = static_integer(indices[0])
    if known is not None and not 0 <= known < group.type.depth:
        raise GroupIndex(index=known, depth=group.type.depth)
    return slot(group, "at", indices[0] if isinstance(indices[0], Static) else number)


def record(array: StructArrayHandle, indices: list[Any]) -> StructHandle:
    number = as_number(indices[0]) if len(indices) == 1 else None
    if number is None or number.dtype.is_float:
        raise TupleIndexType(got=describe(indices[0]))
    known, count = static_integer(indices[0]), array.type.count or 0
    if known is not None and not 0 <= known < count:
        raise StructArrayIndex(index=known, count=count)
    return StructHandle(Item(array.expression, number.expression), replace(array.type, count=None))


def tuple_item(base: Any, indices: list[Any]) -> Any:
    items = elements(base) or []
    if len(indices) != 1:
        raise TupleIndices(count=len(indices))
    if not items:
        raise EmptyTuple()
    number = as_number(indices[0])
    if number is None or number.dtype.is_float:
        raise TupleIndexType(got=describe(indices[0]))
    known = static_integer(indices[0])
    if known is None:
        return _chosen_item(items, number)
    if not -len(items) <= known < len(items):
        raise TupleIndex(index=known, count=len(items))
    return items[known]


def _chosen_item(items: list[Any], index: Number) -> Any:
    """An element by a run-time index: all of one type."""
    for item in items:
        if category(item) is None or category(item) != category(items[0]):
            raise MixedTuple(first=describe(items[0]), second=describe(item))
    numbers = [as_number(item) for item in items]
    expressions = tuple(n.expression if n is not None else item.expression for n, item in zip(numbers, items, strict=True))
    value = renamed(items[0], "")
    if isinstance(value, TileHandle):
        value = replace(value, address=None)
    return replace(value, expression=Item(expressions, index.expression))


# -- shapes -----------------------------------------------------------------------------------------------------------------


def extent(shape: Shape, indices: list[Any]) -> Any:
    """``tensor.shape[i]`` and ``tile.valid_shape[i]``."""
    of = shape.of
    what = "tensor.shape" if isinstance(of, TensorHandle) else "tile.valid_shape"
    rank = len(of.type.shape)
    index = static_integer(indices[0]) if len(indices) == 1 else None
    if index is None:
        raise ShapeIndexConstant(what=what)
    lowest = -rank if isinstance(of, TensorHandle) else 0
    if not lowest <= index < rank:
        raise ShapeIndexRange(what=what, index=index, rank=rank)
    axis = index % rank
    if isinstance(of, TileHandle):
        return Static(of.type.valid[axis]) if of.type.valid is not None else Number(ValidExtent(of.expression, axis), INDEX)
    known = of.type.shape[axis]
    return Static(known) if isinstance(known, int) else Number(Extent(of.expression, axis), INDEX)


def shape_bundle(shape: Shape) -> Any:
    """A whole shape as a tuple."""
    return bundle([extent(shape, [Static(axis)]) for axis in range(len(shape.of.type.shape))])


# -- elements of tiles and tensors --------------------------------------------------------------------------------------------


def read(reader: Any, base: Any, indices: list[Any], node: Any) -> Any:
    """``tile[i, j]``, ``tensor[i]``: a scalar, read on the scalar pipe."""
    check_indices(base, indices)
    arguments = Arguments("subscript", node, [base, bundle(indices)], {})
    return emit_operation(reader, find("getval"), arguments)  # type: ignore[arg-type]


def store(reader: Any, target: ast.Subscript, value: Any, node: ast.AST) -> None:
    """``x[i] = value`` and ``record.field[i] = value``."""
    base = reader.expression(target.value)
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if any(isinstance(part, ast.Slice) for part in parts):
        raise StoreTarget(got="a slice")
    indices = in_order(reader, parts, reader.expression)
    if isinstance(base, ArrayField):
        records.set_element(reader, base, indices, value, node)
        return
    if isinstance(base, Number) and isinstance(target.value, ast.Attribute):
        raise NotAnArrayField(name=target.value.attr)
    if not isinstance(base, (TileHandle, TensorHandle)):
        raise StoreTarget(got=describe(base))
    check_indices(base, indices)
    arguments = Arguments("subscript", target, [base, bundle(indices), value], {})
    emit_operation(reader, find("setval"), arguments)  # type: ignore[arg-type]


def check_indices(base: Any, indices: list[Any]) -> None:
    if base.type.dtype in STORAGE_ONLY:
        raise ScalarStorage(dtype=base.type.dtype.name)
    rank = len(base.type.shape)
    if len(indices) != rank:
        raise SingleIndex(rank=rank) if len(indices) == 1 else IndexCount(count=len(indices), rank=rank)
    for index in indices:
        number = as_number(index)
        if number is None or number.dtype.is_float:
            raise IndexType(got=describe(index))


# -- sub-views of tiles -------------------------------------------------------------------------------------------------------


def sliced(reader: Any, base: Any, parts: list[ast.expr], node: ast.AST) -> TileHandle:
    """``tile[r0:r1, c0:c1]``: a tile over the same bytes."""
    if isinstance(base, TensorHandle):
        raise TensorSlice()
    if not isinstance(base, TileHandle):
        raise UnsupportedExpression(kind="Slice")
    if len(parts) == 1:
        raise SliceOneDimension()
    if len(parts) != 2:
        raise IndexCount(count=len(parts), rank=2)
    if not all(isinstance(part, ast.Slice) for part in parts):
        raise SliceMixed()
    if base.type.space is not MemorySpace.Vec or base.type.layout not in (TensorLayout.ND, TensorLayout.DN):
        raise SliceSpace(space=base.type.space.name, layout=base.type.layout.name)
    bounds = [_bounds(reader, part, base, axis) for axis, part in enumerate(parts)]
    return _window(base, bounds)


def _bounds(reader: Any, part: Any, base: TileHandle, axis: int) -> tuple[Number, Number, int]:
    """Start, stop and length of a slice of one axis."""
    if part.step is not None:
        raise SliceStep()
    size = base.type.shape[axis]
    start = _bound(reader.expression(part.lower) if part.lower is not None else Static(0), axis)
    stop = _bound(reader.expression(part.upper) if part.upper is not None else Static(size), axis)
    length = distance(start.expression, stop.expression)
    if length is None:
        raise SliceBounds(axis=axis)
    known = static_integer(start)
    if known is not None:
        _check_start(known, base, axis)
    if length <= 0:
        raise SliceOrder(start=known if known is not None else "", stop=static_integer(stop) or "", axis=axis)
    return start, stop, length


def _bound(value: Any, axis: int) -> Number:
    number = as_number(value)
    if number is None or number.dtype.is_float:
        raise SliceBounds(axis=axis)
    return number


def _check_start(start: int, base: TileHandle, axis: int) -> None:
    size = base.type.shape[axis]
    if not 0 <= start < size:
        raise SliceStart(start=start, what="shape", extent=size, axis=axis)
    if base.type.valid is not None and start >= base.type.valid[axis]:
        raise SliceStart(start=start, what="valid extent", extent=base.type.valid[axis], axis=axis)


def _window(base: TileHandle, bounds: list[tuple[Number, Number, int]]) -> TileHandle:
    shape = (bounds[0][2], bounds[1][2])
    valid = base.type.valid
    starts = [static_integer(bound[0]) for bound in bounds]
    if valid is not None and None not in starts:
        valid = tuple(min(n, v - s) for n, v, s in zip(shape, valid, starts, strict=True))  # type: ignore[assignment, operator]
    elif valid is not None:
        valid = None
    shape = tuple(min(n, full - (s or 0)) for n, full, s in zip(shape, base.type.shape, starts, strict=True))  # type: ignore[assignment]
    edges = [edge.expression for bound in bounds for edge in bound[:2]]
    return TileHandle(Window(base.expression, *edges), replace(base.type, shape=shape, valid=valid), None, base.ids)


def distance(start: Expression, stop: Expression) -> int | None:
    """``stop - start`` where it is a constant: both are, or they differ by one."""
    first, second = linear(start), linear(stop)
    first_terms, second_terms = first[0], second[0]
    return second[1] - first[1] if first_terms == second_terms else None


def linear(expression: Expression) -> tuple[dict[Expression, int], int]:
    """An integer expression as multiples of its parts plus a constant."""
    if isinstance(expression, Constant):
        return {}, int(expression.value)
    if isinstance(expression, Operation) and expression.operator in ("+", "-"):
        (left, a), (right, b) = linear(expression.operands[0]), linear(expression.operands[1])
        sign = 1 if expression.operator == "+" else -1
        terms = dict(left)
        for part, factor in right.items():
            terms[part] = terms.get(part, 0) + sign * factor
        return {part: factor for part, factor in terms.items() if factor}, a + sign * b
    if isinstance(expression, Operation) and expression.operator == "*":
        for one, other in (expression.operands, expression.operands[::-1]):
            if isinstance(one, Constant):
                terms, constant = linear(other)
                return {p: f * int(one.value) for p, f in terms.items()}, constant * int(one.value)
    return {expression: 1}, 0
