"""Locals of which nobody could prove that they are written before they are read: every element is tracked.

graph/definedness.py marks them ``unproven``. Such a local gets a *record*, a buffer of the same shape with one byte per element: 1 as
long as the element is missing, 0 once it is written. What writes the local clears its part of the record; a read in question stops the
kernel at the first element that is missing, as the reference does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pypto.cpu.fuse import BlockPlan
from pypto.cpu.items import AllocateItem, WrittenItem
from pypto.cpu.text import Module
from pypto.cpu.views import whole
from pypto.dtypes import DataType
from pypto.errors.runtime import ReadUnwritten
from pypto.ir.program import Op, Storage, TensorType
from pypto.ir.symbols import Scalar, Symbol, add

if TYPE_CHECKING:
    from pypto.cpu.context import Context
    from pypto.cpu.plan_base import PlanBase
    from pypto.cpu.program import ProgramEmitter

_BYTE = DataType.DT_UINT8
_STEP = 64  # bytes of a record that are looked at together


def _record_type(type: TensorType) -> TensorType:
    return TensorType(_BYTE, type.shape, type.valid)


def begin(planner: PlanBase, plan: BlockPlan, storage: Storage) -> None:
    """All of a new local is missing."""
    type = TensorType(_BYTE, storage.type.shape)
    record = whole(planner.buffer(type, f"{storage.name}_missing"), type)
    planner.missing[storage] = record
    plan.append(AllocateItem(record.buffer))
    plan.store(planner.constant(plan, type, 1), record)


def alias(planner: PlanBase, base: Any, storage: Storage) -> None:
    """The record of a local under another shape."""
    if base in planner.missing:
        planner.missing[storage] = whole(planner.missing[base].buffer, TensorType(_BYTE, storage.type.shape))


def wrote(planner: PlanBase, plan: BlockPlan, storage: Any, offsets: Sequence[Scalar], type: TensorType) -> None:
    """The valid part of a region has been written."""
    record = planner.missing.get(storage)
    if record is not None:
        plan.store(planner.constant(plan, _record_type(type), 0), record.slice(offsets, type.shape, type.valid))


def demand(planner: PlanBase, plan: BlockPlan, op: Op, offsets: Sequence[Scalar], type: TensorType) -> None:
    """Stop unless the valid part of a region has been written."""
    storage: Any = op.operands[0]
    record = planner.missing.get(storage)
    if record is None or not op.attributes.get("unproven"):
        return
    symbols = tuple(Symbol("missing") for _ in offsets)
    position = [add(offset, symbol) for offset, symbol in zip(offsets, symbols, strict=True)]
    error = ReadUnwritten(tensor=storage.name, position=position, span=op.span)
    plan.append(WrittenItem(record.slice(offsets, type.shape, type.valid), error, symbols))
    plan.barrier()


# -- code ----------------------------------------------------------------------------------------------------------------------


def emit_written(emitter: ProgramEmitter, context: Context, item: WrittenItem) -> None:
    """Row after row: where its first missing element is, if there is one."""
    f, view = context.f, item.view
    pointer = emitter.address(context, view.buffer, view.dtype, view.offset)  # type: ignore[arg-type]
    extents = [context.integer(n) for n in view.valid]
    strides = [context.integer(s) for s in view.strides]
    search = context.module.require("first_missing", _first_missing)
    with ExitStack() as stack:
        stack.enter_context(context.scope())
        for symbol, extent, stride in zip(item.symbols[:-1], extents, strides, strict=False):
            index = stack.enter_context(f.loop(0, extent, 1, hint="row")).index
            context.define(symbol, "i64", index)
            pointer = f.gep("i8", pointer, f.op("mul", "i64", index, stride))
        found = f.call("i64", search, ("ptr", pointer), ("i64", strides[-1]), ("i64", extents[-1]))
        context.define(item.symbols[-1], "i64", found)
        context.require(f.icmp("slt", "i64", found, 0), item.error)


def _first_missing(module: Module) -> None:
    """``first_missing(row, stride, count)``: position of the first entry that is not 0, or -1."""
    parameters = [("ptr", "row"), ("i64", "stride"), ("i64", "count")]
    f = module.function("i64", "first_missing", parameters, linkage="internal", attributes="noinline")
    row, stride, count = f.arguments
    type = f"<{_STEP} x i8>"
    dense = f.icmp("eq", "i64", stride, 1)
    together = f.select(dense, "i64", f.op("and", "i64", count, -_STEP), 0)
    with f.loop(0, together, _STEP, carried=[(type, "zeroinitializer")]) as loop:
        loop.next = [f.op("or", type, loop.carried[0], f.load(type, f.gep("i8", row, loop.index), 1))]
    seen = f.intrinsic("i8", f"llvm.vector.reduce.or.v{_STEP}i8", (type, loop.results[0]))
    start = f.select(f.icmp("eq", "i8", seen, 0), "i64", together, 0)
    with f.loop(start, count, 1, carried=[("i64", -1)]) as loop:
        entry = f.load("i8", f.gep("i8", row, f.op("mul", "i64", loop.index, stride)), 1)
        first = f.op("and", "i1", f.icmp("ne", "i8", entry, 0), f.icmp("slt", "i64", loop.carried[0], 0))
        loop.next = [f.select(first, "i64", loop.index, loop.carried[0])]
    f.ret("i64", loop.results[0])
