"""One function being written, with what is known in it: symbols, pointers, and captures from the function around it.

The control function is the outermost context. The body of a parallel loop is a function of its own; whatever it uses from outside
becomes a parameter (a *capture*), so that the text of the body can be written before its parameters are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pypto.cpu.memory import Frame
from pypto.cpu.scalars import Scalars
from pypto.cpu.sites import Sites
from pypto.cpu.text import Function, Module
from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.ir.symbols import Expression, Scalar

Known = tuple[str, str]  # LLVM type, value


class Late(NamedTuple):
    """Pooled memory acquired on the way: stack slots with its address (null when given back) and its size, and the address."""

    slot: str
    size: str
    place: str


class Context:
    def __init__(self, module: Module, f: Function, sites: Sites, frame: Frame, parent: Context | None) -> None:
        self.module = module
        self.f = f
        self.sites = sites
        self.frame = frame
        self.parent = parent
        self.scopes: list[dict[Any, Known]] = [{}]
        self.captures: list[Known] = []
        self.scalars = Scalars(self)
        self.serial = parent is not None
        self.span: Span | None = None
        self.stop = f.new_label("stop")
        self.may_stop = False
        self.late: list[Late] = []

    # -- what is known ---------------------------------------------------------------------------------------------------------

    def lookup(self, key: Any) -> str | None:
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key][1]
        if self.parent is None:
            return None
        outer = self.parent._known(key)
        if outer is None:
            return None
        name = self.capture(*outer)
        self.scopes[0][key] = (outer[0], name)
        return name

    def _known(self, key: Any) -> Known | None:
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        if self.parent is None:
            return None
        name = self.lookup(key)
        return None if name is None else self.scopes[0][key]

    def define(self, key: Any, type: str, value: str) -> None:
        self.scopes[-1][key] = (type, value)

    def capture(self, type: str, value: str) -> str:
        """A parameter of this function that its caller fills with ``value``."""
        self.captures.append((type, value))
        return f"%c{len(self.captures) - 1}"

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is defined inside is forgotten at the end: its block does not dominate what follows."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    # -- values ----------------------------------------------------------------------------------------------------------------

    def value(self, scalar: Scalar, kind: str | None = None) -> str:
        return self.scalars.value(scalar, kind)

    def integer(self, scalar: Scalar) -> str | int:
        return self.value(scalar, "int") if isinstance(scalar, Expression) else int(scalar)

    # -- stopping --------------------------------------------------------------------------------------------------------------

    def require(self, fine: str, error: UserError) -> None:
        """Go on if ``fine``, else note the error and leave the function."""
        wrong, go_on = self.f.new_label("wrong"), self.f.new_label("fine")
        self.f.branch(fine, go_on, wrong)
        self.f.block(wrong)
        with self.scope():
            self.fail(error)
        self.f.block(go_on)

    def fail(self, error: UserError) -> None:
        site, facts = self.sites.site(error)
        count = max(1, len(facts))
        place = self.f.scratch("i64", count, 8)
        with self.scalars.silently():
            for number, (fact, kind) in enumerate(facts):
                value = self.value(fact, kind)
                target = self.f.gep("i64", place, number)
                self.f.store("double" if kind == "float" else "i64", value, target)
        record, sequence = self.lookup("record"), self.lookup("sequence")  # the iteration of a parallel loop
        assert record is not None
        arguments = (("ptr", record), ("i64", sequence or "0"), ("i64", site + 1), ("ptr", place), ("i64", len(facts)))
        self.f.call("void", self.module.require("fail", make_fail), *arguments)
        self.leave()

    def acquire(self, size: str | int) -> str:
        """Pooled memory, 64-byte aligned; without memory the kernel stops."""
        self.module.declare("ptr", "pypto_acquire", "i64")
        self.module.declare("void", "pypto_release", "ptr, i64")
        place = self.f.call("ptr", "@pypto_acquire", ("i64", size))
        self.out_of_memory_if(self.f.icmp("eq", "ptr", place, "null"))
        return place

    def release(self, place: str, size: str | int) -> None:
        self.f.call("void", "@pypto_release", ("ptr", place), ("i64", size))

    def acquire_late(self, size: str | int) -> Late:
        """Pooled memory until ``release_late``, or until the kernel stops in between."""
        place = self.acquire(size)
        late = Late(self.f.slot("ptr", "null"), self.f.slot("i64", 0), place)
        self.f.store("i64", size, late.size)
        self.f.store("ptr", place, late.slot)
        self.late.append(late)
        return late

    def release_late(self, late: Late) -> None:
        self.release(self.f.load("ptr", late.slot), self.f.load("i64", late.size))
        self.f.store("ptr", "null", late.slot)

    def stopped(self) -> None:
        """The way out of a kernel that stops: open its block, give back what was acquired late."""
        self.f.block(self.stop)
        for late in self.late:
            self.release(self.f.load("ptr", late.slot), self.f.load("i64", late.size))

    def out_of_memory_if(self, condition: str) -> None:
        wrong, go_on = self.f.new_label("wrong"), self.f.new_label("fine")
        self.f.branch(condition, wrong, go_on)
        self.f.block(wrong)
        record = self.lookup("record")
        assert record is not None
        self.f.store("i64", OUT_OF_MEMORY, record)
        self.leave()
        self.f.block(go_on)

    def leave(self) -> None:
        """Jump to the end of the function, where its arena is given back."""
        self.may_stop = True
        self.f.jump(self.stop)

    def leave_if(self, condition: str) -> None:
        go_on = self.f.new_label("fine")
        self.may_stop = True
        self.f.branch(condition, self.stop, go_on)
        self.f.block(go_on)


RECORD_WORDS = 16
CALL_FAILED, OUT_OF_MEMORY = -1, -2  # in place of a site number in word 0
_LOCK, _SEQUENCE = 14, 15  # words of the error record behind the facts
MOST_FACTS = 12


def make_fail(module: Module) -> None:
    """``fail(record, sequence, site, facts, count)`` keeps the failure with the smallest sequence number."""
    parameters = [("ptr", "record"), ("i64", "sequence"), ("i64", "site"), ("ptr", "facts"), ("i64", "count")]
    f = module.function("void", "fail", parameters, linkage="internal", attributes="noinline cold")
    record, sequence, site, facts, count = f.arguments
    lock, order = f.gep("i64", record, _LOCK), f.gep("i64", record, _SEQUENCE)
    spin, held, write, done = (f.new_label(n) for n in ("spin", "held", "write", "done"))
    f.jump(spin)
    f.block(spin)
    taken = f.define(f"atomicrmw xchg ptr {lock}, i64 1 seq_cst")
    f.branch(f.icmp("eq", "i64", taken, 0), held, spin)
    f.block(held)
    none = f.icmp("eq", "i64", f.load("i64", record), 0)
    earlier = f.icmp("slt", "i64", sequence, f.load("i64", order))
    f.branch(f.op("or", "i1", none, earlier), write, done)
    f.block(write)
    f.store("i64", sequence, order)
    f.store("i64", site, record)
    with f.loop(0, count) as loop:
        target = f.gep("i64", f.gep("i64", record, 1), loop.index)
        f.store("i64", f.load("i64", f.gep("i64", facts, loop.index)), target)
    f.jump(done)
    f.block(done)
    f.line(f"store atomic i64 0, ptr {lock} seq_cst, align 8")
    f.ret()
