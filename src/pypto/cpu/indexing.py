"""Reading and writing by index tensors: ``gather`` and ``index_select`` are terms of nests, ``scatter_update`` copies rows.

indices  →  IndexCheckItem (stops at the first outside)  →  Gather terms, which then need no checks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pypto.cpu.fuse import BlockPlan, access_of, spread
from pypto.cpu.hold import Held, kept_axes
from pypto.cpu.items import IndexCheckItem, NestItem, ScatterItem
from pypto.cpu.nests import Gather, Term
from pypto.cpu.views import View, same, whole
from pypto.errors.runtime import IndexOutOfBounds
from pypto.ir.program import Op, TensorType
from pypto.ir.symbols import Scalar, Symbol, minimum, mul

if TYPE_CHECKING:
    from pypto.cpu.context import Context
    from pypto.cpu.program import ProgramEmitter


def check(plan: BlockPlan, op: Op, view: View, axis: int, size: Scalar) -> None:
    """Stop unless all entries of an index view lie inside an axis."""
    symbol = Symbol("index")
    error = IndexOutOfBounds(operation=op.name, index=symbol, axis=axis, size=size, span=op.span)
    plan.append(IndexCheckItem(view, size, error, symbol))
    plan.barrier()


def gather(plan: BlockPlan, op: Op, operands: list[Held]) -> Held:
    """``result[i, j] = input[index[i, j], j]``: index and result follow the same axes."""
    source, index = operands
    type, axis = op.result.type, op.attributes["axis"]
    check(plan, op, plan.memory(index).with_valid(type.valid), axis, source.type.valid[axis])
    follows = tuple(None if a == axis else a for a in kept_axes(type))
    return _gathered(plan, type, source, index, axis, follows, kept_axes(type))


def index_select(plan: BlockPlan, op: Op, operands: list[Held]) -> Held:
    """Slices of the input: the index's axes stand in place of the selected one."""
    source, index = operands
    type, axis = op.result.type, op.attributes["axis"]
    check(plan, op, plan.memory(index), axis, source.type.valid[axis])
    count = index.type.rank
    kept = kept_axes(type)
    follows = tuple(None if axis <= a < axis + count else (a if a < axis else a - count + 1) for a in kept)
    index_axes = tuple(a - axis if axis <= a < axis + count else None for a in kept)
    return _gathered(plan, type, source, index, axis, follows, index_axes)


Axes = tuple["int | None", ...]


def _gathered(plan: BlockPlan, type: TensorType, source: Held, index: Held, axis: int, follows: Axes, index_axes: Axes) -> Held:
    """A nest over the result: ``follows`` and ``index_axes`` say which axes of source and index the kept axes are."""
    view = plan.memory(source)
    node = plan.planner.node(plan, type, [(index, index_axes)])
    node.after = max(node.after, plan.made_at(source), plan.scalar_ready((view.offset, *view.strides)))

    def make(item: NestItem, embedding: tuple[int, ...], terms: list[Term]) -> Term:
        axes = tuple(None if own is None or same(view.shape[own], 1) else own for own in follows)
        access = access_of(view, spread(axes, embedding, item.nest.rank))
        varies = frozenset(a for a, stride in enumerate(access.strides) if not same(stride, 0))
        plan.read[view.buffer] = max(plan.read.get(view.buffer, -1), plan.position[item])
        return Gather(type.dtype, varies | terms[0].axes, access, terms[0], view.strides[axis])

    return plan.compute(type, node, make)


def scatter_update(plan: BlockPlan, op: Op, operands: list[Held]) -> Held:
    """Rows of the input replaced, in the order of the index; a copy of the input unless the update happens in place."""
    target, index, source = operands
    type = op.result.type
    if op.attributes.get("in_place"):
        view = plan.memory(target)
        ready = plan.made_at(target)
    else:
        view = whole(plan.planner.buffer(type), type)
        ready = plan.store(target, view)
    rows = type.valid[0] if type.rank == 2 else mul(type.valid[0], type.shape[1])
    entries, data = _paired(plan.memory(index), plan.memory(source), type.rank)
    check(plan, op, entries, 0, rows)
    columns = minimum(type.valid[-1], data.valid[-1])
    data = data.with_valid((*data.valid[:-1], columns))
    at = plan.append(ScatterItem(_without_unit_axis(view), entries, data))
    return Held(type, plan, max(at, ready), view)


def _paired(index: View, source: View, rank: int) -> tuple[View, View]:
    """Index [a, b] and source [a, b, columns] over the entries that have both."""
    if rank == 4:
        valid = tuple(minimum(i, s) for i, s in zip(index.valid, source.valid[:2], strict=True))
        data = _without_unit_axis(source)
        return index.with_valid(valid), data.with_valid((*valid, source.valid[3]))
    row, column = source.strides
    one_row = same(index.shape[0], 1)
    valid = (index.valid[0], minimum(index.valid[1], source.valid[0])) if one_row else index.valid
    strides, shape = (mul(row, index.shape[1]), row, column), (*index.shape, source.shape[1])
    data = replace(source, strides=strides, shape=shape, valid=(*valid, source.valid[1]))
    return index.with_valid(valid), data


def _without_unit_axis(view: View) -> View:
    """[blocks, rows, 1, columns] as [blocks, rows, columns]."""
    if view.rank != 4:
        return view
    pick = lambda items: (*items[:2], items[3])  # noqa: E731
    return replace(view, strides=pick(view.strides), shape=pick(view.shape), valid=pick(view.valid))


NATIVE: dict[str, Callable[[BlockPlan, Op, list[Held]], Held]] = {
    "gather": gather,
    "index_select": index_select,
    "scatter_update": scatter_update,
}


# -- code ----------------------------------------------------------------------------------------------------------------------


def emit_check(emitter: ProgramEmitter, context: Context, item: IndexCheckItem) -> None:
    """Loops over the index tensor; unsigned comparison catches negative entries too."""
    f = context.f
    size = context.integer(item.size)
    with index_loops(emitter, context, item.view) as entry:
        fine = f.icmp("ult", "i64", entry.value, size)
        context.define(item.symbol, "i64", entry.value)
        context.require(fine, item.error)


def emit_scatter(emitter: ProgramEmitter, context: Context, item: ScatterItem) -> None:
    """One row copied per entry."""
    f, target, source = context.f, item.target, item.source
    to, origin = (emitter.address(context, v.buffer, v.dtype, v.offset) for v in (target, source))  # type: ignore[arg-type]
    size = target.dtype.size
    columns = context.integer(source.valid[-1])
    strides = [context.integer(s) for s in (*source.strides, *target.strides)]
    with index_loops(emitter, context, item.index) as entry:
        a, b = entry.indices
        start = _offset(context, (a, strides[0]), (b, strides[1]))
        if target.rank == 2:
            end = _offset(context, (entry.value, strides[3]))
        else:
            block = context.integer(target.shape[1])
            quotient, rest = (f.op(code, "i64", entry.value, block) for code in ("udiv", "urem"))
            end = _offset(context, (quotient, strides[3]), (rest, strides[4]))
        element = f"i{8 * size}"
        with f.loop(0, columns, 1, hint="column") as column:
            read = f.gep(element, origin, _offset(context, (column.index, strides[2]), (start, 1)))
            place = f.gep(element, to, _offset(context, (column.index, strides[-1]), (end, 1)))
            f.store(element, f.load(element, read, size), place, size)


def _offset(context: Context, *parts: tuple[str | int, str | int]) -> str | int:
    total: str | int = 0
    for index, stride in parts:
        step = index if stride == 1 else context.f.op("mul", "i64", index, stride)
        total = step if total == 0 else context.f.op("add", "i64", total, step)
    return total


class index_loops:
    """``with index_loops(emitter, context, view) as entry``: every entry of an integer view in row-major order, as i64."""

    def __init__(self, emitter: ProgramEmitter, context: Context, view: View) -> None:
        self.emitter, self.context, self.view = emitter, context, view
        self.indices: list[str] = []
        self.value = ""
        self.open: list = []

    def __enter__(self) -> index_loops:
        context, view, f = self.context, self.view, self.context.f
        pointer = self.emitter.address(context, view.buffer, view.dtype, view.offset)  # type: ignore[arg-type]
        extents = [context.integer(n) for n in view.valid]
        strides = [context.integer(s) for s in view.strides]
        scope = context.scope()
        scope.__enter__()
        self.open.append(scope)
        for extent in extents:
            loop = f.loop(0, extent, 1, hint="entry")
            self.indices.append(loop.__enter__().index)
            self.open.append(loop)
        offset = _offset(context, *zip(self.indices, strides, strict=True))
        element = f"i{view.dtype.bits}"
        loaded = f.load(element, f.gep(element, pointer, offset), view.dtype.size)
        extend = "zext" if view.dtype.is_unsigned else "sext"
        self.value = loaded if element == "i64" else f.cast(extend, element, loaded, "i64")
        return self

    def __exit__(self, *details: object) -> None:
        for opened in reversed(self.open):
            opened.__exit__(*details)
