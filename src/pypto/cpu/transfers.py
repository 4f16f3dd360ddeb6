"""Items through which single numbers and whole views leave or enter the control function: reads, writes, call-backs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.cpu.callback import SYMBOL as CALLBACK
from pypto.cpu.context import CALL_FAILED, Context
from pypto.cpu.items import CallItem, ReadItem, WriteItem
from pypto.cpu.scalars import TYPES
from pypto.cpu.vectors import Vectors, compute_type, stored_element
from pypto.cpu.views import View
from pypto.dtypes import DataType
from pypto.errors.runtime import ScalarTooLargeInRun
from pypto.ir.symbols import kind_of, mul

if TYPE_CHECKING:
    from pypto.cpu.program import ProgramEmitter


def emit_read(emitter: ProgramEmitter, context: Context, item: ReadItem) -> None:
    f, dtype = context.f, item.view.dtype
    pointer = emitter.address(context, item.view.buffer, dtype, item.view.offset)  # type: ignore[arg-type]
    b = Vectors(f, emitter.target, compute_type(dtype))
    stored = f.load(stored_element(dtype), pointer, dtype.size)
    element = stored_element(dtype)
    vector = b.widen(f.define(f"insertelement <16 x {element}> zeroinitializer, {element} {stored}, i64 0"), dtype)
    kind = item.symbol.kind
    wide = {"int": DataType.DT_INT64, "float": DataType.DT_DOUBLE, "bool": DataType.DT_BOOL}[kind]
    value = b.extract(b.convert(vector, wide))
    if kind == "int" and dtype is DataType.DT_UINT64:
        context.require(f.icmp("sge", "i64", value, 0), ScalarTooLargeInRun(span=item.span))
    context.define(item.symbol, TYPES[kind], value)


def emit_write(emitter: ProgramEmitter, context: Context, item: WriteItem) -> None:
    f, dtype = context.f, item.view.dtype
    pointer = emitter.address(context, item.view.buffer, dtype, item.view.offset)  # type: ignore[arg-type]
    kind = kind_of(item.value)
    given = {"int": DataType.DT_INT64, "float": DataType.DT_DOUBLE, "bool": DataType.DT_BOOL}[kind]
    b = Vectors(f, emitter.target, given)
    vector = b.convert(b.splat(context.value(item.value), given), dtype)
    element = stored_element(dtype)
    f.store(element, f.define(f"extractelement <16 x {element}> {b.narrow(vector, dtype)}, i64 0"), pointer, dtype.size)


def emit_call(emitter: ProgramEmitter, context: Context, item: CallItem) -> None:
    f = context.f
    views = [v for v in (*item.operands, *item.results) if isinstance(v, View)]
    _note(emitter, item, views)
    count = len(item.scalars) + sum(1 + 3 * v.rank for v in views)
    block = f.scratch("i64", max(1, count), 8)
    words = [(TYPES[kind_of(s)], context.value(s)) for s in item.scalars]
    for view in views:
        words.append(("ptr", emitter.address(context, view.buffer, view.dtype, view.offset)))  # type: ignore[arg-type]
        for size, valid, stride in zip(view.shape, view.valid, view.strides, strict=True):
            words += [("i64", str(context.integer(x))) for x in (size, valid, mul(stride, view.dtype.size))]
    for number, (type, word) in enumerate(words):
        if type == "i1":
            type, word = "i64", f.cast("zext", "i1", word, "i64")
        f.store(type, word, f.gep("i64", block, number), 8)
    emitter.module.declare("i64", CALLBACK, "i64, ptr")
    failed = f.call("i64", f"@{CALLBACK}", ("i64", item.number), ("ptr", block))
    record = context.lookup("record")
    assert record is not None
    wrong = f.icmp("ne", "i64", failed, 0)
    with f.when(wrong):
        f.store("i64", CALL_FAILED, record)
    context.leave_if(wrong)


def _note(emitter: ProgramEmitter, item: CallItem, views: list[View]) -> None:
    while len(emitter.kinds) <= item.number:
        emitter.kinds.append(())
        emitter.ranks.append(())
    emitter.kinds[item.number] = tuple(kind_of(s) for s in item.scalars)
    emitter.ranks[item.number] = tuple(v.rank for v in views)
