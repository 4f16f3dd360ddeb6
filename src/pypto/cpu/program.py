"""Schedule → LLVM text: the control function with its loops, branches, checks and calls, and the tasks of parallel work.

Program order is the order of the text. Work that is large enough leaves as tasks (``split.py``); inside a task everything is
serial. A failing check writes the error record and leaves the function; arenas are given back on the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field

from pypto.cpu.bands import emit_band
from pypto.cpu.context import Context, Late
from pypto.cpu.emit_nest import NestCode, NestEmitter
from pypto.cpu.emit_nest_watched import watched_emitter, watching, worth_watching
from pypto.cpu.improve import improve
from pypto.cpu.indexing import emit_check, emit_scatter
from pypto.cpu.items import (
    AllocateItem,
    BandItem,
    Call,
    CallItem,
    CheckItem,
    EvaluateItem,
    IfItem,
    IndexCheckItem,
    Item,
    LoopItem,
    MatmulItem,
    NestItem,
    ProductItem,
    ReadItem,
    ScatterItem,
    TopkItem,
    WriteItem,
    WrittenItem,
)
from pypto.cpu.matmul import emit_matmul, emit_product
from pypto.cpu.memory import Memory
from pypto.cpu.missing import emit_written
from pypto.cpu.nests import Nest, collapsed
from pypto.cpu.outline import Outliner
from pypto.cpu.plan import Planner
from pypto.cpu.scalars import TYPES
from pypto.cpu.sites import Site, Sites
from pypto.cpu.sorting import emit_topk
from pypto.cpu.split import RangedCall, choose_parallel, emit_ranged, loops_of, trips_of
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module
from pypto.cpu.transfers import emit_call, emit_read, emit_write
from pypto.cpu.turned import TurnedEmitter, turned_axis
from pypto.cpu.views import Buffer, product, same
from pypto.cpu.work import nanoseconds_of
from pypto.errors.runtime import LoopStepZeroInRun
from pypto.ir.program import Program, Storage
from pypto.ir.symbols import Expression, Scalar, Symbol, kind_of

FIRST_SLOT = 2  # of the argument block, see ARCHITECTURE.md


@dataclass
class Generated:
    """Everything about one kernel; picklable. ``externals`` are the symbols it imports."""

    text: str
    name: str
    sites: list[Site]
    calls: list[Call]
    kinds: list[tuple[str, ...]]
    ranks: list[tuple[int, ...]]
    nests: str
    externals: list[str] = field(default_factory=list)


class ProgramEmitter(Outliner):
    def __init__(self, program: Program, target: Target, poison: bool = False) -> None:
        self.poison = poison  # fill fresh memory with ones (NaN), for tests
        self.program = program
        self.target = target
        self.planner = Planner(program)
        items = self.planner.top.items
        self.parallel = choose_parallel(items)
        self.items = improve(items, self.parallel)
        known = {p for p in program.parameters if isinstance(p, Symbol)} | set(program.dimensions)
        self.memory = Memory(self.items, self.parallel, known)
        self.module = Module()
        self.sites = Sites()
        self.codes: dict[str, str] = {}
        self.kinds: list[tuple[str, ...]] = []
        self.ranks: list[tuple[int, ...]] = []

    def generate(self, nests: bool = True) -> Generated:
        f = self.module.function("void", "kernel", [("ptr", "block")])
        context = Context(self.module, f, self.sites, self.memory.frames[None], None)
        self._arguments(context)
        size = self._arena(context, context.frame)
        self.emit_items(context, self.items)
        self._close(context, size)
        f.ret()
        lines = [line for item in self.items for line in item.lines()] if nests else []
        sites, calls = self.sites.known, self.planner.calls
        text = self.module.text()
        return Generated(
            text, self.program.name, sites, calls, self.kinds, self.ranks, "\n".join(lines), list(self.module.externals)
        )

    # -- frames ----------------------------------------------------------------------------------------------------------------

    def _arguments(self, context: Context) -> None:
        f, (block,) = context.f, context.f.arguments
        context.define("record", "ptr", f.load("ptr", block))
        slot = FIRST_SLOT
        for buffer in self.planner.parameters:
            context.define(buffer, "ptr", f.load("ptr", f.gep("i64", block, slot)))
            slot += 1
        for parameter in self.program.parameters:
            if not isinstance(parameter, Storage):
                self._symbol(context, parameter, slot)
                slot += 1
        for symbol in self.program.dimensions:
            self._symbol(context, symbol, slot)
            slot += 1

    def _symbol(self, context: Context, symbol: Symbol, slot: int) -> None:
        f = context.f
        place = f.gep("i64", f.arguments[0], slot)
        if symbol.kind == "float":
            value = f.load("double", place, 8)
        else:
            value = f.load("i64", place, 8)
            value = f.icmp("ne", "i64", value, 0) if symbol.kind == "bool" else value
        context.define(symbol, TYPES[symbol.kind], value)

    # -- items -----------------------------------------------------------------------------------------------------------------

    def emit_items(self, context: Context, items: list[Item]) -> None:
        """Items in order. Long blocks are cut into functions: code generation takes more than linear time for a function."""
        late = self.memory.late.get(id(items), {})
        acquired: list[Late] = []
        for part in self._parts(items, late):
            if len(part) > 1:
                self._segment(context, part)
                continue
            for buffer, size in late.get(part[0], ()):
                acquired.append(self._acquire_late(context, buffer, size))
            _EMIT[type(part[0])](self, context, part[0])
        for memory in acquired:
            context.release_late(memory)

    @staticmethod
    def _parts(items: list[Item], late: Container[Item]) -> Iterator[list[Item]]:
        """Runs of items that can be functions, and single items."""
        if len(items) <= 2 * SEGMENT:
            yield from ([item] for item in items)
            return
        run: list[Item] = []
        for item in items:
            alone = item in late or _defines_symbols(item)
            if run and (alone or len(run) == SEGMENT):
                yield run
                run = []
            if alone:
                yield [item]
            else:
                run.append(item)
        if run:
            yield run

    def _acquire_late(self, context: Context, buffer: Buffer, size: Scalar) -> Late:
        f = context.f
        bytes_ = f.intrinsic("i64", "llvm.smax.i64", ("i64", context.value(size, "int")), ("i64", 64))
        memory = context.acquire_late(bytes_)
        if self.poison:
            self.fill(context, memory.place, bytes_)
        context.define(buffer, "ptr", memory.place)
        return memory

    def _nest(self, context: Context, item: NestItem) -> None:
        if not item.nest.guards:
            self._nest_call(context, item)
            return
        f = context.f
        sizes = [context.value(guard, "int") for guard in item.nest.guards]
        least = sizes[0]
        for size in sizes[1:]:
            least = f.intrinsic("i64", "llvm.smin.i64", ("i64", least), ("i64", size))
        with f.when(f.icmp("sgt", "i64", least, 0)), context.scope():
            self._nest_call(context, item)

    def _nest_call(self, context: Context, item: NestItem) -> None:
        nest = collapsed(item.nest)
        if context.serial or not streams(nest, self.target):
            self._nest_as(context, nest, False)
            return
        f = context.f
        bits = "0"
        for store in nest.stores:
            pointer = self.address(context, store.access.buffer, store.access.dtype, store.access.offset)  # type: ignore[arg-type]
            bits = f.op("or", "i64", bits, f.cast("ptrtoint", "ptr", pointer, "i64"))
        aligned = f.icmp("eq", "i64", f.op("and", "i64", bits, 63), 0)

        def arm(streaming: bool) -> list[str]:
            with context.scope():
                self._nest_as(context, nest, streaming)
            return []

        f.either(aligned, lambda: arm(True), lambda: arm(False))

    def _nest_as(self, context: Context, nest: Nest, streaming: bool) -> None:
        code = self.nest_code(nest, streaming=streaming)
        arguments = [("ptr", self.address(context, p.buffer, p.dtype, p.offset)) for p in code.pointers]  # type: ignore[arg-type]
        arguments += [(TYPES[kind_of(s)], context.value(s)) for s in code.scalars]
        unit = 64 if code.split == "lanes" else 1
        bound = None if isinstance(code.bound, Expression) else int(code.bound)
        call = RangedCall(code.function, arguments, context.integer(code.total), unit, code.nanoseconds, code.row_bytes)
        call.splits = bool(code.split)
        emit_ranged(self, context, call, bound)

    def nest_code(self, nest: Nest, tile: bool = False, streaming: bool = False, by_rows: bool = False) -> NestCode:
        """The function of a nest; equal functions are written once. ``by_rows``: its ranges must count rows."""
        turned = not (tile or by_rows) and turned_axis(nest) is not None
        emitter = (TurnedEmitter if turned else NestEmitter)(self.module, self.target, nest, "NEST", streaming, tile)
        watched = not (tile or turned) and worth_watching(nest, self.target)
        emitter.streaming = streaming and not watched
        code = emitter.emit()
        code.function = self._named(emitter.f)
        if watched:
            fast = watched_emitter(emitter, streaming)
            fast.emit()
            code.function = self._named(watching(emitter, code, self._named(fast.f), code.function))
        return code

    def _named(self, f: Function) -> str:
        """Give a function called ``NEST`` its name; equal ones are written once."""
        text = f.text()
        known = self.codes.get(text)
        if known is None:
            known = self.codes[text] = f"nest_{len(self.codes)}"
            f.header = f.header.replace("@NEST(", f"@{known}(")
            f.name = known
            self.module.functions[known] = f
        return known

    def _allocate(self, context: Context, item: AllocateItem) -> None:
        pass

    def _check(self, context: Context, item: CheckItem) -> None:
        context.span = item.span
        error = item.error
        if error.span is None:
            error.span = item.span
        context.require(context.value(item.condition, "bool"), error)

    def _evaluate(self, context: Context, item: EvaluateItem) -> None:
        context.span = item.span
        context.scalars.carefully(item.scalars, item.careful)

    # -- control ---------------------------------------------------------------------------------------------------------------

    def _if(self, context: Context, item: IfItem) -> None:
        f = context.f
        condition = context.value(item.branch.condition, "bool")
        types = [TYPES[symbol.kind] for symbol, _, _ in item.symbols]

        def arm(items: list[Item], which: int) -> Callable[[], list[str]]:
            def write() -> list[str]:
                with context.scope():
                    self.emit_items(context, items)
                    return [context.value(entry[which], entry[0].kind) for entry in item.symbols]

            return write

        values = f.either(condition, arm(item.then, 1), arm(item.orelse, 2), types)
        for (symbol, _, _), type, value in zip(item.symbols, types, values, strict=True):
            context.define(symbol, type, value)

    def _loop(self, context: Context, item: LoopItem) -> None:
        context.span = item.loop.span
        for loop in loops_of(item) if item in self.parallel else [item]:
            if isinstance(loop.loop.step, Expression):
                context.require(f_nonzero(context, loop.loop.step), LoopStepZeroInRun(span=loop.loop.span))
        if item in self.parallel:
            self._parallel_loop(context, item)
        else:
            self._serial_loop(context, item)

    def _serial_loop(self, context: Context, item: LoopItem) -> None:
        f, loop = context.f, item.loop
        trips = context.integer(trips_of(loop))
        start, step = context.integer(loop.start), context.integer(loop.step)
        carried = [(TYPES[a.kind], context.value(initial, a.kind)) for a, initial, _, _ in item.symbols]
        with f.loop(0, trips, 1, carried, hint="serial") as control, context.scope():
            index = (
                f.op("add", "i64", start, f.op("mul", "i64", control.index, step)) if (start, step) != (0, 1) else control.index
            )
            context.define(loop.index, "i64", index)
            for (argument, _, _, _), value in zip(item.symbols, control.carried, strict=True):
                context.define(argument, TYPES[argument.kind], value)
            self.emit_items(context, item.body)
            control.next = [context.value(following, a.kind) for a, _, following, _ in item.symbols]
        for (_, _, _, result), value in zip(item.symbols, control.results, strict=True):
            context.define(result, TYPES[result.kind], value)

    def _parallel_loop(self, context: Context, item: LoopItem) -> None:
        """The body as a function of a range of (flattened) iterations, with an arena of its own per call."""
        loops = loops_of(item)

        def body(inner: Context, index: str) -> None:
            inner.span = item.loop.span
            rest: str | int = index
            f = inner.f
            for number, loop in reversed(list(enumerate(loops))):
                position: str | int = rest
                if number:
                    trips = inner.integer(trips_of(loop.loop))
                    position = f.op("urem", "i64", rest, trips)
                    rest = f.op("udiv", "i64", rest, trips)
                scaled = f.op("mul", "i64", position, inner.integer(loop.loop.step))
                inner.define(loop.loop.index, "i64", f.op("add", "i64", inner.integer(loop.loop.start), scaled))
            self.emit_items(inner, loops[-1].body)

        self.outlined(
            context, "loop", item, product([trips_of(loop.loop) for loop in loops]), nanoseconds_of(loops[-1].body), body
        )


SEGMENT = 48  # items of a long block that become one function


def _defines_symbols(item: Item) -> bool:
    return isinstance(item, ReadItem) or (isinstance(item, (LoopItem, IfItem)) and bool(item.symbols))


STREAMED_BYTES = 32 << 20  # outputs from here on bypass the caches: smaller ones lose by it (design notes, section 5)


def streams(nest: Nest, target: Target) -> bool:
    """Whether a nest's stores should bypass the caches: large, contiguous along the lanes, every row aligned when the first is."""
    elements = product(nest.sizes)
    if isinstance(elements, Expression) or int(elements) * 8 < STREAMED_BYTES or target.isa not in ("avx2", "avx512"):
        return False
    read = {load.access.buffer for load in nest.loads()}
    for store in nest.stores:
        *outer, inner = store.access.strides
        size = store.access.dtype.size
        if (
            not same(inner, 1)
            or int(elements) * size < STREAMED_BYTES
            or store.access.buffer in read
            or len(store.axes) < nest.rank
        ):
            return False
        if size not in (2, 4) or any(isinstance(s, Expression) or int(s) * size % 64 for s in outer):
            return False
    return True


def f_nonzero(context: Context, scalar: Expression) -> str:
    return context.f.icmp("ne", "i64", context.value(scalar, "int"), 0)


_EMIT: dict[type, Callable[..., None]] = {
    AllocateItem: ProgramEmitter._allocate,
    NestItem: ProgramEmitter._nest,
    MatmulItem: emit_matmul,
    ProductItem: emit_product,
    BandItem: emit_band,
    CallItem: emit_call,
    ReadItem: emit_read,
    WriteItem: emit_write,
    CheckItem: ProgramEmitter._check,
    EvaluateItem: ProgramEmitter._evaluate,
    IndexCheckItem: emit_check,
    WrittenItem: emit_written,
    ScatterItem: emit_scatter,
    TopkItem: emit_topk,
    LoopItem: ProgramEmitter._loop,
    IfItem: ProgramEmitter._if,
}
