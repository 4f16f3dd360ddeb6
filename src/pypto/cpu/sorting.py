"""``topk``: the k largest of every row, by insertion into a short sorted list.

Every element becomes a 64-bit key whose order as an integer is the order wanted: floats by their bits with the sign folded in (NaN the
largest, -0 equal to 0), everything inverted for the smallest k. Equal keys keep the order of their positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.cpu.context import Context
from pypto.cpu.items import TopkItem
from pypto.cpu.text import Function, Module
from pypto.cpu.vectors import Vectors, compute_type, stored_element
from pypto.cpu.views import View, product, same
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression

if TYPE_CHECKING:
    from pypto.cpu.outline import Outliner

_D = DataType
_NANOSECONDS = 1.5  # an element that does not enter the list


def emit_topk(emitter: Outliner, context: Context, item: TopkItem) -> None:
    """One call per row; rows are shared by tasks."""
    outer = item.source.valid[:-1]
    size = item.source.shape[-1]
    nanoseconds = 1e4 if isinstance(size, Expression) else int(size) * _NANOSECONDS
    dtype, largest = item.source.dtype, item.largest
    name = f"topk_{dtype.label}_{'largest' if largest else 'smallest'}"
    callee = emitter.module.require(name, lambda module: _make(module, emitter, name, dtype, largest))

    def body(inner: Context, index: str) -> None:
        places = [_row(emitter, inner, view, index) for view in (item.source, item.values, item.places)]
        strides = [inner.integer(view.strides[-1]) for view in (item.source, item.values, item.places)]
        space = inner.acquire(16 * item.k)
        arguments: list[tuple[str, str | int]] = [("ptr", p) for p in places]
        arguments += [("i64", s) for s in strides]
        arguments += [("i64", inner.integer(item.source.valid[-1])), ("i64", item.k), ("ptr", space)]
        inner.f.call("void", callee, *arguments)
        inner.release(space, 16 * item.k)

    emitter.outlined(context, "topk", None, product(outer), nanoseconds, body)


def _row(emitter: Outliner, context: Context, view: View, index: str) -> str:
    """Where row number ``index`` of a view begins."""
    f = context.f
    pointer = emitter.address(context, view.buffer, view.dtype, view.offset)  # type: ignore[arg-type]
    rest = index
    for axis in range(view.rank - 2, -1, -1):
        extent = context.integer(view.valid[axis])
        position = f.op("urem", "i64", rest, extent) if axis else rest
        rest = f.op("udiv", "i64", rest, extent) if axis else rest
        if not same(view.strides[axis], 0):
            step = f.op("mul", "i64", position, context.integer(view.strides[axis]))
            pointer = f.gep(stored_element(view.dtype), pointer, step)
    return pointer


def _make(module: Module, emitter: Outliner, name: str, dtype: DataType, largest: bool) -> None:
    """``topk(source, values, places, source_stride, value_stride, place_stride, n, k, space)``."""
    names = ("source", "values", "places", "stride", "value_stride", "place_stride", "n", "k", "space")
    types = ("ptr",) * 3 + ("i64",) * 5 + ("ptr",)
    f = module.function("void", name, list(zip(types, names, strict=True)), linkage="internal", attributes="noinline")
    source, values, places, stride, value_stride, place_stride, n, k, keys = f.arguments
    numbers = f.gep("i64", keys, k)
    with f.loop(0, n, 1, [("i64", 0)], hint="element") as loop:
        key = _key(f, emitter, dtype, f.gep(stored_element(dtype), source, f.op("mul", "i64", loop.index, stride)), largest)
        filled = loop.carried[0]
        loop.next = [_enter(f, keys, numbers, key, loop.index, filled, k)]
    element = stored_element(dtype)
    with f.loop(0, loop.results[0], 1, hint="out") as out:
        number = f.load("i64", f.gep("i64", numbers, out.index), 8)
        found = f.load(element, f.gep(element, source, f.op("mul", "i64", number, stride)), dtype.size)
        f.store(element, found, f.gep(element, values, f.op("mul", "i64", out.index, value_stride)), dtype.size)
        place = f.gep("i32", places, f.op("mul", "i64", out.index, place_stride))
        f.store("i32", f.cast("trunc", "i64", number, "i32"), place, 4)
    f.ret()


def _key(f: Function, emitter: Outliner, dtype: DataType, pointer: str, largest: bool) -> str:
    b = Vectors(f, emitter.target, compute_type(dtype))
    vector = b.load_broadcast(dtype, pointer)
    if dtype.is_float:
        number = b.add(vector, b.like(vector, 0.0))  # -0 becomes 0
        bits = b.convert(b.bits(number), _D.DT_INT64)
        width = 64 if vector.dtype is _D.DT_DOUBLE else 32
        folded = b.bit_xor(bits, b.bit_and(b.shift_right(bits, b.like(bits, 63)), b.like(bits, (1 << (width - 1)) - 1)))
        wide = b.select(b.compare("uno", vector, vector), b.like(bits, (1 << 63) - 1), folded)
    else:
        wide = b.convert(vector, _D.DT_INT64)
        if dtype is _D.DT_UINT64:
            wide = b.bit_xor(wide, b.like(wide, -(1 << 63)))
    return b.extract(wide if largest else b.bit_not(wide))


def _enter(f: Function, keys: str, numbers: str, key: str, number: str, filled: str, k: str) -> str:
    """Insert behind all keys that are not smaller, if there is room or the last one is smaller; the new count is returned."""
    last = f.gep("i64", keys, f.op("sub", "i64", filled, 1))
    room = f.icmp("slt", "i64", filled, k)
    # With an empty list there is room, and what is read before its start does not count.
    beaten = f.icmp("slt", "i64", f.load("i64", f.select(room, "ptr", keys, last), 8), key)
    takes = f.op("or", "i1", room, beaten)
    enter, shift, move, place, done = (f.new_label(h) for h in ("enter", "shift", "move", "place", "done"))
    before = f.label
    f.branch(takes, enter, done)
    f.block(enter)
    count = f.select(room, "i64", f.op("add", "i64", filled, 1), filled)
    start = f.op("sub", "i64", count, 1)
    f.jump(shift)
    f.block(shift)
    at = f.define(f"phi i64 [{start}, %{enter}], [{f'%at_{move}'}, %{move}]")
    previous = f.op("sub", "i64", at, 1)
    inside = f.icmp("sgt", "i64", at, 0)
    other = f.load("i64", f.gep("i64", keys, f.select(inside, "i64", previous, 0)), 8)
    f.branch(f.op("and", "i1", inside, f.icmp("slt", "i64", other, key)), move, place)
    f.block(move)
    f.store("i64", other, f.gep("i64", keys, at), 8)
    f.store("i64", f.load("i64", f.gep("i64", numbers, previous), 8), f.gep("i64", numbers, at), 8)
    f.line(f"%at_{move} = add i64 {previous}, 0")
    f.jump(shift)
    f.block(place)
    f.store("i64", key, f.gep("i64", keys, at), 8)
    f.store("i64", number, f.gep("i64", numbers, at), 8)
    f.jump(done)
    f.block(done)
    return f.phi("i64", (filled, before), (count, place))
