"""Movement ops on held values, positions, and matrix operands: mostly arithmetic on views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.cpu.fuse import BlockPlan, agree
from pypto.cpu.hold import Held, extents_of, guards_of, kept_axes, operand_axes, sizes_of
from pypto.cpu.items import NestItem
from pypto.cpu.nests import Apply, Index, Term
from pypto.cpu.views import View, row_major, same, whole
from pypto.dtypes import DataType
from pypto.ir.program import TensorType
from pypto.ir.symbols import Scalar

_D = DataType


def retyped(plan: BlockPlan, held: Held, type: TensorType) -> Held:
    """The same elements under a shape that differs by axes of size 1 only, or reshaped in memory."""
    if held.uniform:
        return Held(type, held.home, formula=held.formula, scalars=held.scalars, uniform=True)
    if held.term is not None and held.view is None and _same_axes(held.type, type):
        return Held(type, held.home, item=held.item, term=held.term, axes=held.axes)
    view = plan.memory(held).reshape(type)
    if view is not None:
        return Held(type, held.home, _ready(held), view)
    copy = _copied(plan, held)
    view = plan.memory(copy).reshape(type)
    assert view is not None
    return Held(type, plan, _ready(copy), view)


def _same_axes(old: TensorType, new: TensorType) -> bool:
    return all(agree(of(old), of(new)) for of in (extents_of, sizes_of, guards_of))


def _ready(held: Held) -> int:
    return held.home.position[held.item] if held.item is not None else held.ready


def _copied(plan: BlockPlan, held: Held) -> Held:
    """The value in a buffer of its own, row-major."""
    view = whole(plan.planner.buffer(held.type), held.type)
    return Held(held.type, plan, plan.store(held, view), view)


def reshape(plan: BlockPlan, held: Held, type: TensorType, attributes: Mapping[str, Any]) -> Held | None:
    return retyped(plan, held, type)


def clone(plan: BlockPlan, held: Held, type: TensorType, attributes: Mapping[str, Any]) -> Held | None:
    return held  # values never change


def view(plan: BlockPlan, held: Held, type: TensorType, attributes: Mapping[str, Any]) -> Held | None:
    if held.uniform:
        return retyped(plan, held, type)
    part = plan.memory(held).slice(attributes["offsets"], type.shape, type.valid)
    return Held(type, plan, max(plan.made_at(held), plan.scalar_ready((part.offset, *part.valid))), part)


def permute(plan: BlockPlan, held: Held, type: TensorType, attributes: Mapping[str, Any]) -> Held | None:
    if held.uniform:
        return retyped(plan, held, type)
    return Held(type, held.home, _ready_after_memory(plan, held), plan.memory(held).permute(attributes["axes"]))


def _ready_after_memory(plan: BlockPlan, held: Held) -> int:
    plan.memory(held)
    return _ready(held)


def expand_clone(plan: BlockPlan, held: Held, type: TensorType, attributes: Mapping[str, Any]) -> Held | None:
    if held.uniform:
        return retyped(plan, held, type)
    if held.view is not None:
        return Held(type, held.home, _ready(held), held.view.expand(type))
    node = plan.planner.node(plan, type, [(held, operand_axes(held.type, type))])
    return plan.compute(type, node, lambda item, embedding, terms: terms[0])


def reinterpret(plan: BlockPlan, held: Held, type: TensorType, attributes: Mapping[str, Any]) -> Held | None:
    view = plan.memory(held).reinterpret(type)
    if view is None:
        copy = _copied(plan, held)
        return Held(type, plan, copy.ready, plan.memory(copy).reinterpret(type))
    return Held(type, held.home, _ready(held), view)


Mover = Callable[[BlockPlan, Held, TensorType, Mapping[str, Any]], "Held | None"]
MOVERS: dict[str, Mover] = {
    "reshape": reshape,
    "clone": clone,
    "view": view,
    "permute": permute,
    "expand_clone": expand_clone,
    "reinterpret": reinterpret,
}


# -- positions -----------------------------------------------------------------------------------------------------------------


def position(plan: BlockPlan, item: NestItem, axis: int | None) -> Term:
    """The index along an axis of a nest, as int32; 0 where there is no such axis."""
    if axis is None:
        return plan.constant(item, 0, _D.DT_INT32)
    for term in item.nest.terms:
        if isinstance(term, Index) and term.axis == axis:
            return term
    made = Index(_D.DT_INT32, frozenset({axis}), axis)
    item.nest.terms.append(made)
    return made


def arange(plan: BlockPlan, type: TensorType, start: Scalar, step: Scalar) -> Held:
    """``start + i * step``, computed where it is used."""
    dtype = type.dtype

    def formula(item: NestItem, mapping: Any) -> Term:
        axis = next((a for a, own in enumerate(mapping) if own == 0), None)
        index = position(plan, item, axis)
        terms = (index, plan.constant(item, start, dtype), plan.constant(item, step, dtype))
        made = Apply(dtype, index.axes, "arange", _lower_arange, terms, {"dtype": dtype})
        item.nest.terms.append(made)
        return made

    return Held(type, plan, formula=formula, scalars=(start, step))


def _lower_arange(b: Any, index: Any, start: Any, step: Any, dtype: DataType) -> Any:
    return b.add(start, b.mul(b.convert(index, dtype), step))


def triangle(plan: BlockPlan, held: Held, name: str, diagonal: Scalar) -> Held:
    """``tril`` and ``triu``: a comparison of positions."""
    type = held.type
    kept = kept_axes(type)
    node = plan.planner.node(plan, type, [(held, kept)])
    node.after = max(node.after, plan.scalar_ready((diagonal,)))

    def make(item: NestItem, embedding: tuple[int, ...], terms: list[Term]) -> Term:
        rows, columns = (
            position(plan, item, embedding[kept.index(axis)] if axis in kept else None) for axis in (type.rank - 2, type.rank - 1)
        )
        operands = (terms[0], rows, columns, plan.constant(item, diagonal, _D.DT_INT32))
        axes = frozenset().union(*(t.axes for t in operands))
        return Apply(type.dtype, axes, name, _lower_tril if name == "tril" else _lower_triu, operands, {})

    return plan.compute(type, node, make)


def _lower_tril(b: Any, x: Any, row: Any, column: Any, diagonal: Any) -> Any:
    return b.select(b.compare("le", b.sub(column, row), diagonal), x, b.like(x, 0))


def _lower_triu(b: Any, x: Any, row: Any, column: Any, diagonal: Any) -> Any:
    return b.select(b.compare("ge", b.sub(column, row), diagonal), x, b.like(x, 0))


# -- matrices ------------------------------------------------------------------------------------------------------------------


def matrix(plan: BlockPlan, held: Held, transposed: bool, batch: Sequence[Scalar], batch_valid: Sequence[Scalar]) -> View:
    """A matmul operand as ``[batch…, rows, columns]`` with one of the last two axes contiguous; copied when neither is."""
    found = plan.memory(held)
    if not any(same(s, 1) for s in found.strides[-2:]) and not all(same(n, 1) for n in found.shape[-2:]):
        found = plan.memory(_copied(plan, held))
    if transposed:
        axes = list(range(found.rank))
        axes[-1], axes[-2] = axes[-2], axes[-1]
        found = found.permute(axes)
    shape = (*batch, *found.shape[-2:])
    return found.expand(TensorType(found.dtype, shape, (*batch_valid, *found.valid[-2:])))


__all__ = ["MOVERS", "arange", "matrix", "position", "retyped", "row_major"]
