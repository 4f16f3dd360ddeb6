"""Functions inside functions: frames and arenas, segments of long blocks, bodies that tasks call on a part of a range.

What such a function uses from outside becomes a parameter (``context.Context``); equal functions are written once.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.cpu.context import Context
from pypto.cpu.items import Item, LoopItem
from pypto.cpu.memory import Frame, Memory
from pypto.cpu.plan import Planner
from pypto.cpu.sites import Sites
from pypto.cpu.split import RangedCall, emit_ranged
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module
from pypto.cpu.vectors import stored_element
from pypto.cpu.views import Buffer
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar


class Outliner:
    """The part of ``ProgramEmitter`` that makes functions."""

    module: Module
    target: Target
    planner: Planner
    memory: Memory
    sites: Sites
    codes: dict[str, str]  # text of a function, its name left out -> its name
    poison: bool

    def emit_items(self, context: Context, items: list[Item]) -> None:
        raise TypeError("only a ProgramEmitter writes items")

    def _segment(self, context: Context, items: list[Item]) -> None:
        """Some items as a function of their own; it returns whether the kernel must stop."""
        if not items:
            return
        inner = self._inner(context, "segment", context.frame)
        inner.serial, inner.span = context.serial, context.span
        f = inner.f
        self.emit_items(inner, items)
        f.ret("i1", "false")
        if inner.may_stop:
            inner.stopped()
            f.ret("i1", "true")
        parameters = ", ".join(f"{type} %c{i}" for i, (type, _) in enumerate(inner.captures))
        f.header = f"define internal i1 @{f.name}({parameters}) noinline #0"
        stopped = context.f.call("i1", f"@{f.name}", *inner.captures)
        if inner.may_stop:
            context.leave_if(stopped)

    def unique(self, f: Function) -> str:
        """The name of a finished function, or of an equal one written before; then this one is dropped."""
        text = f.text().replace(f"@{f.name}(", "@SAME(", 1)
        known = self.codes.setdefault(text, f.name)
        if known != f.name:
            del self.module.functions[f.name]
        return known

    def _inner(self, context: Context, hint: str, frame: Frame) -> Context:
        """The context of a function that is about to be written; its header follows when its captures are known."""
        name = f"{hint}_{self.planner.next_number()}"
        f = Function(self.module, "", name, [])
        self.module.functions[name] = f  # reserves the name
        return Context(self.module, f, self.sites, frame, context)

    def outlined(
        self,
        context: Context,
        hint: str,
        item: LoopItem | None,
        total: Scalar,
        nanoseconds: float,
        body: Callable[[Context, str], None],
    ) -> None:
        """Run ``body`` for every number below ``total``, in a function of its own that tasks can call on parts of the range."""
        inner = self._inner(context, hint, self.memory.frames[item] if item else Frame(None))
        f, name = inner.f, inner.f.name
        size = self._arena(inner, inner.frame)
        with f.loop("%first", "%last", 1, hint="iteration") as control, inner.scope():
            inner.define("sequence", "i64", control.index)
            body(inner, control.index)
        self._close(inner, size)
        f.ret()
        parameters = [f"{type} %c{i}" for i, (type, _) in enumerate(inner.captures)]
        f.header = f"define internal void @{name}({', '.join([*parameters, 'i64 %first', 'i64 %last'])}) noinline #0"
        call = RangedCall(self.unique(f), list(inner.captures), context.integer(total), 1, nanoseconds, 0, uneven=True)
        emit_ranged(self, context, call, None if isinstance(total, Expression) else int(total))
        if inner.may_stop:
            record = context.lookup("record")
            assert record is not None
            context.leave_if(context.f.icmp("ne", "i64", context.f.load("i64", record), 0))

    def _arena(self, context: Context, frame: Frame) -> str | int:
        f = context.f
        size: str | int = frame.size
        places: list[tuple[Buffer, str | int]] = []
        for buffer, amount in frame.dynamic:
            places.append((buffer, size))
            with context.scalars.silently():  # a size that cannot be stops the kernel at its own line
                wanted = f.intrinsic("i64", "llvm.smax.i64", ("i64", context.value(amount, "int")), ("i64", 0))
            rounded = f.op("and", "i64", f.op("add", "i64", wanted, 63), -64)
            size = f.op("add", "i64", size, rounded)
        if size == 0:
            return 0
        arena = context.acquire(size)
        if self.poison:
            self.fill(context, arena, size)
        context.define(("arena", id(frame)), "ptr", arena)
        for buffer, place in places:
            context.define(buffer, "ptr", f.gep("i8", arena, place))
        return size

    @staticmethod
    def fill(context: Context, place: str, size: str | int) -> None:
        """Poison memory: all bits set is NaN in every float type."""
        values = (("ptr", place), ("i8", 255), ("i64", size), ("immarg i1", "false"))
        context.f.intrinsic("void", "llvm.memset.p0.i64", *values)

    def _close(self, context: Context, size: str | int) -> None:
        f = context.f
        if context.may_stop:
            f.jump(context.stop)
            context.stopped()
        if size != 0:
            arena = context.scopes[0]["arena", id(context.frame)][1]
            with f.when(f.icmp("ne", "ptr", arena, "null")):
                context.release(arena, size)

    def base(self, context: Context, buffer: Buffer) -> str:
        found = context.lookup(buffer)
        if found is not None:
            return found
        frame = self.memory.owner[buffer]
        arena = context.lookup(("arena", id(frame)))
        assert arena is not None, buffer
        made = context.f.gep("i8", arena, frame.offsets[buffer])
        context.define(buffer, "ptr", made)
        return made

    def address(self, context: Context, buffer: Buffer, dtype: DataType, offset: Expression | int) -> str:
        base = self.base(context, buffer)
        return context.f.gep(stored_element(dtype), base, context.integer(offset))
