"""Parallel work: which loops become tasks, and how a function of a range is divided among workers.

A *ranged* function takes ``(…, i64 first, i64 last)``. When its work is large enough it runs as tasks over pieces of the range; the
pieces never depend on the number of workers, and no result depends on the pieces. The arguments travel in an array of 8-byte slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypto.cpu.context import Context
from pypto.cpu.items import CallItem, IfItem, Item, LoopItem
from pypto.cpu.memory import Frame
from pypto.cpu.text import Function
from pypto.ir.program import Loop
from pypto.ir.symbols import Expression, Scalar, Symbol, bounds_of, compare, floordiv, maximum, neg, select, sub, symbols_in
from pypto.ir.symbols import add as add_scalars

if TYPE_CHECKING:
    from pypto.cpu.outline import Outliner

SERIAL_BELOW = 20_000.0  # nanoseconds: less work than this is not worth waking another thread (design notes, threads)
PIECE = 12_000.0  # nanoseconds of work in a piece, at least
MOST_PIECES = 64


def trips_of(loop: Loop) -> Scalar:
    """Number of iterations of ``range(start, stop, step)``."""
    start, stop, step = loop.start, loop.stop, loop.step
    if not isinstance(step, Expression):
        distance = sub(stop, start) if step > 0 else sub(start, stop)
        return maximum(floordiv(add_scalars(distance, abs(int(step)) - 1), abs(int(step))), 0)
    up = floordiv(sub(add_scalars(sub(stop, start), step), 1), step)
    down = floordiv(sub(add_scalars(sub(start, stop), neg(step)), 1), neg(step))
    return maximum(select(compare("lt", 0, step), up, down), 0)


def loops_of(item: LoopItem) -> list[LoopItem]:
    """A parallel loop and the parallel loops directly inside it that form one flat range of iterations."""
    found = [item]
    indices = {item.loop.index}
    while True:
        body = found[-1].body
        inner = body[0] if len(body) == 1 else None
        if not isinstance(inner, LoopItem) or not _independent(inner) or not isinstance(inner.loop.step, int):
            return found
        bounds = [s for s in (inner.loop.start, inner.loop.stop) if isinstance(s, Expression)]
        if any(symbol in indices for s in bounds for symbol in symbols_in(s)):
            return found
        found.append(inner)
        indices.add(inner.loop.index)


def _independent(item: LoopItem) -> bool:
    return item.loop.independent and not item.symbols and not item.loop.carried


def choose_parallel(items: Iterable[Item]) -> set[LoopItem]:
    """Loops whose iterations become tasks: the outermost independent ones that have more than one iteration and no call-backs."""
    found: set[LoopItem] = set()
    for item in items:
        if isinstance(item, IfItem):
            found |= choose_parallel(item.then) | choose_parallel(item.orelse)
        elif isinstance(item, LoopItem):
            if _independent(item) and not _calls(item.body) and _several(item):
                found.add(item)
            else:
                found |= choose_parallel(item.body)
    return found


def _several(item: LoopItem) -> bool:
    return any(bounds_of(trips_of(loop.loop))[1] > 1 for loop in loops_of(item))


def _calls(items: Iterable[Item]) -> bool:
    for item in items:
        if isinstance(item, CallItem):
            return True
        inner = item.body if isinstance(item, LoopItem) else [*item.then, *item.orelse] if isinstance(item, IfItem) else []
        if _calls(inner):
            return True
    return False


@dataclass
class RangedCall:
    """A call of ``function`` over ``total`` units; pieces are multiples of ``unit``. ``nanoseconds``: estimated time of a unit.
    ``uneven``: units may differ much, so pieces are as small as is worth while."""

    function: str
    arguments: list[tuple[str, str]]
    total: str | int
    unit: int
    nanoseconds: float
    row_bytes: Scalar
    splits: bool = True
    uneven: bool = False


def emit_ranged(emitter: Outliner, context: Context, call: RangedCall, size: int | None) -> None:
    """Call a ranged function, as tasks when worthwhile. ``size``: upper bound of the total when it is known."""
    work = None if size is None else size * call.nanoseconds
    if context.serial or not call.splits or (work is not None and work < SERIAL_BELOW) or size == 1:
        _direct(emitter, context, call)
        return
    f = context.f
    piece = _piece(context, call, size)
    pieces = f.op("udiv", "i64", f.op("add", "i64", call.total, f.op("sub", "i64", piece, 1)), piece)
    task = _task(emitter, call)
    slots = [*call.arguments, ("i64", str(call.total)), ("i64", str(piece))]
    if isinstance(call.row_bytes, Expression):
        slots.append(("i64", context.value(call.row_bytes, "int")))
    record = context.lookup("record")
    assert record is not None
    slots.append(("ptr", record))
    block = store_slots(f, slots)
    emitter.module.declare("void", "pypto_parallel", "ptr, ptr, i64")
    f.call("void", "@pypto_parallel", ("ptr", f"@{task}"), ("ptr", block), ("i64", pieces))
    if call.row_bytes != 0:
        context.leave_if(f.icmp("ne", "i64", f.load("i64", record), 0))


def _piece(context: Context, call: RangedCall, size: int | None) -> str | int:
    """Units in a piece: enough work each, not too many pieces, a multiple of the unit."""
    f, unit = context.f, call.unit
    least = max(1, int(PIECE / max(call.nanoseconds, 1e-6)))
    least = -(-least // unit) * unit
    if call.uneven:
        return least
    if isinstance(call.total, int):
        return -(-max(least, -(-call.total // MOST_PIECES)) // unit) * unit
    share = f.op("udiv", "i64", f.op("add", "i64", call.total, MOST_PIECES - 1), MOST_PIECES)
    most = f.intrinsic("i64", "llvm.umax.i64", ("i64", share), ("i64", least))
    return f.op("mul", "i64", f.op("udiv", "i64", f.op("add", "i64", most, unit - 1), unit), unit)


def _direct(emitter: Outliner, context: Context, call: RangedCall) -> None:
    f = context.f
    arguments: list[tuple[str, str | int]] = [*call.arguments, ("i64", 0), ("i64", call.total)]
    if call.row_bytes == 0 and not isinstance(call.row_bytes, Expression):
        f.call("void", f"@{call.function}", *arguments)
        return
    size = context.integer(call.row_bytes)
    rows = context.acquire(size)
    f.call("void", f"@{call.function}", *arguments, ("ptr", rows))
    context.release(rows, size)


def store_slots(f: Function, values: Sequence[tuple[str, str | int]]) -> str:
    """An array of 8-byte slots on the stack that holds ``values``; returns its address."""
    block = f.scratch("i64", max(1, len(values)), 8)
    for number, (type, value) in enumerate(values):
        if type == "i1":
            type, value = "i64", f.cast("zext", "i1", value, "i64")
        f.store(type, value, f.gep("i64", block, number), 8)
    return block


def load_slots(f: Function, slots: str, types: Sequence[str]) -> list[tuple[str, str | int]]:
    """The values that ``store_slots`` put there."""
    values: list[tuple[str, str | int]] = []
    for number, type in enumerate(types):
        value = f.load("i64" if type == "i1" else type, f.gep("i64", slots, number), 8)
        values.append((type, f.icmp("ne", "i64", value, 0) if type == "i1" else value))
    return values


def _task(emitter: Outliner, call: RangedCall) -> str:
    """``void task(ptr slots, i64 chunk, i64 worker)``: unpacks the slots and calls the function on its piece."""
    types = [type for type, _ in call.arguments]
    dynamic = isinstance(call.row_bytes, Expression)
    name = f"task_{emitter.planner.next_number()}"
    f = emitter.module.function("void", name, [("ptr", "slots"), ("i64", "chunk"), ("i64", "worker")], linkage="internal")
    slots, chunk, _ = f.arguments
    values = load_slots(f, slots, [*types, "i64", "i64", *(["i64"] if dynamic else []), "ptr"])
    record = str(values.pop()[1])
    size = values.pop()[1] if dynamic else int(call.row_bytes)  # type: ignore[arg-type]  # dynamic is exactly: an expression
    (_, total), (_, piece) = values[-2:]
    del values[-2:]
    first = f.op("mul", "i64", chunk, piece)
    end = f.op("add", "i64", first, piece)
    last = f.intrinsic("i64", "llvm.smin.i64", ("i64", end), ("i64", total))
    values += [("i64", first), ("i64", last)]
    if not dynamic and size == 0:
        f.call("void", f"@{call.function}", *values)
    else:
        task = Context(emitter.module, f, emitter.sites, Frame(None), None)
        task.define("record", "ptr", record)
        rows = task.acquire(size)
        f.call("void", f"@{call.function}", *values, ("ptr", rows))
        task.release(rows, size)
        f.jump(task.stop)
        f.block(task.stop)
    f.ret()
    return emitter.unique(f)


__all__ = ["RangedCall", "Symbol", "choose_parallel", "emit_ranged", "loops_of", "trips_of"]
