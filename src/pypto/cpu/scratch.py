"""Scratch memory of running kernels: ``pypto_acquire`` and ``pypto_release`` in LLVM text.

    ptr  pypto_acquire(i64 bytes)         64-byte aligned, contents undefined; null when the system has no more memory
    void pypto_release(ptr, i64 bytes)    the same number of bytes as acquired
    void pypto_scratch_reset()            forget every pooled block and open every lock: for the child after a fork
    i64  pypto_scratch_trim()             give pooled blocks back to the system; bytes given back

Blocks come in powers of two from 256 bytes to 64 MiB, one list and one spin lock per size (a few instructions are spent
inside; a lock is never held across a system call). Released blocks wait in their list for the next kernel, because memory
fresh from the system costs a page fault per 4 KiB; when more than ``KEPT_BYTES`` wait, blocks go back to the system.
"""

from __future__ import annotations

import sys

from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module

SMALLEST = 8  # exponent of the smallest size
LARGEST = 26
KEPT_BYTES = 256 << 20
_SIZES = LARGEST - SMALLEST + 1
_SLOT = 64  # bytes per list: lock i32 at 0, first block at 8
_WINDOWS = sys.platform == "win32"


def add_scratch(module: Module, target: Target) -> None:
    """Add the allocator to the runtime library."""
    module.variable("pypto_scratch_lists", f"[{_SIZES * _SLOT} x i8]")
    module.variable("pypto_scratch_kept", "[8 x i64]")
    _size_class(module)
    _system(module)
    _acquire(module, target)
    _release(module, target)
    _reset(module)
    _trim(module, target)


def system_symbols() -> list[str]:
    """What the allocator imports from the C library."""
    return ["_aligned_malloc", "_aligned_free"] if _WINDOWS else ["posix_memalign", "free"]


def pause(function: Function, target: Target) -> None:
    """Tell the processor that this is a waiting loop."""
    if target.isa == "neon":
        function.intrinsic("void", "llvm.aarch64.hint", ("immarg i32", 1))
    elif target.has("sse2"):
        function.intrinsic("void", "llvm.x86.sse2.pause")


def _system(module: Module) -> None:
    f = module.function("ptr", "pypto_system_acquire", [("i64", "bytes")], linkage="internal", attributes="noinline")
    if _WINDOWS:
        module.declare("ptr", "_aligned_malloc", "i64, i64")
        f.ret("ptr", f.call("ptr", "@_aligned_malloc", ("i64", f.arguments[0]), ("i64", 64)))
    else:
        module.declare("i32", "posix_memalign", "ptr, i64, i64")
        place = f.scratch("ptr", 1, align=8)
        f.store("ptr", "null", place)
        failed = f.call("i32", "@posix_memalign", ("ptr", place), ("i64", 64), ("i64", f.arguments[0]))
        f.ret("ptr", f.select(f.icmp("eq", "i32", failed, 0), "ptr", f.load("ptr", place), "null"))
    f = module.function("void", "pypto_system_release", [("ptr", "block")], linkage="internal", attributes="noinline")
    name = "_aligned_free" if _WINDOWS else "free"
    module.declare("void", name, "ptr")
    f.call("void", f"@{name}", ("ptr", f.arguments[0]))
    f.ret()


def _size_class(module: Module) -> None:
    """Exponent of the block that holds so many bytes."""
    f = module.function("i64", "pypto_size_class", [("i64", "bytes")], linkage="internal")
    positive = f.intrinsic("i64", "llvm.smax.i64", ("i64", f.arguments[0]), ("i64", 1 << SMALLEST))
    zeros = f.intrinsic("i64", "llvm.ctlz.i64", ("i64", f.op("sub", "i64", positive, 1)), ("immarg i1", "false"))
    f.ret("i64", f.op("sub", "i64", 64, zeros))


def _list_of(f: Function, size_class: str) -> str:
    index = f.op("mul", "i64", f.op("sub", "i64", size_class, SMALLEST), _SLOT)
    return f.gep("i8", "@pypto_scratch_lists", index)


def _lock(f: Function, target: Target, lock: str) -> None:
    attempt, wait, taken = f.new_label("attempt"), f.new_label("wait"), f.new_label("taken")
    f.jump(attempt)
    f.block(attempt)
    before = f.define(f"atomicrmw xchg ptr {lock}, i32 1 acquire")
    f.branch(f.icmp("eq", "i32", before, 0), taken, wait)
    f.block(wait)
    pause(f, target)
    f.jump(attempt)
    f.block(taken)


def _unlock(f: Function, lock: str) -> None:
    f.line(f"store atomic i32 0, ptr {lock} release, align 4")


def _pop(f: Function, target: Target, size_class: str) -> str:
    """First block of a list, removed; null when the list is empty."""
    slot = _list_of(f, size_class)
    first = f.gep("i8", slot, 8)
    _lock(f, target, slot)
    block = f.load("ptr", first)
    with f.when(f.icmp("ne", "ptr", block, "null")):
        f.store("ptr", f.load("ptr", block), first)
    _unlock(f, slot)
    return block


def _acquire(module: Module, target: Target) -> None:
    f = module.function("ptr", "pypto_acquire", [("i64", "bytes")])
    size_class = f.call("i64", "@pypto_size_class", ("i64", f.arguments[0]))
    pooled, direct, hit = f.new_label("pooled"), f.new_label("direct"), f.new_label("hit")
    f.branch(f.icmp("sle", "i64", size_class, LARGEST), pooled, direct)
    f.block(pooled)
    block = _pop(f, target, size_class)
    size = f.op("shl", "i64", 1, size_class)
    last = f.label
    f.branch(f.icmp("ne", "ptr", block, "null"), hit, direct)
    f.block(hit)
    f.define(f"atomicrmw sub ptr @pypto_scratch_kept, i64 {size} monotonic")
    f.ret("ptr", block)
    f.block(direct)
    bytes_needed = f.phi("i64", (f.arguments[0], "entry"), (size, last))
    f.ret("ptr", f.call("ptr", "@pypto_system_acquire", ("i64", bytes_needed)))


def _release(module: Module, target: Target) -> None:
    f = module.function("void", "pypto_release", [("ptr", "block"), ("i64", "bytes")])
    block = f.arguments[0]
    something, consider, pooled, back, direct = (f.new_label(n) for n in ("something", "consider", "pooled", "back", "direct"))
    done = f.new_label("done")
    f.branch(f.icmp("eq", "ptr", block, "null"), done, something)
    f.block(something)
    size_class = f.call("i64", "@pypto_size_class", ("i64", f.arguments[1]))
    f.branch(f.icmp("sle", "i64", size_class, LARGEST), consider, direct)
    f.block(consider)
    size = f.op("shl", "i64", 1, size_class)
    kept = f.define(f"atomicrmw add ptr @pypto_scratch_kept, i64 {size} monotonic")
    f.branch(f.icmp("sle", "i64", f.op("add", "i64", kept, size), KEPT_BYTES), pooled, back)
    f.block(back)
    f.define(f"atomicrmw sub ptr @pypto_scratch_kept, i64 {size} monotonic")
    f.jump(direct)
    f.block(pooled)
    slot = _list_of(f, size_class)
    first = f.gep("i8", slot, 8)
    _lock(f, target, slot)
    f.store("ptr", f.load("ptr", first), block)
    f.store("ptr", block, first)
    _unlock(f, slot)
    f.jump(done)
    f.block(direct)
    f.call("void", "@pypto_system_release", ("ptr", block))
    f.jump(done)
    f.block(done)
    f.ret()


def _reset(module: Module) -> None:
    """A lock may have been held by a thread that does not exist in the child; the few blocks in the lists are given up."""
    f = module.function("void", "pypto_scratch_reset")
    with f.loop(0, _SIZES, 1) as sizes:
        slot = f.gep("i8", "@pypto_scratch_lists", f.op("mul", "i64", sizes.index, _SLOT))
        f.store("ptr", "null", f.gep("i8", slot, 8))
        _unlock(f, slot)
    f.store("i64", 0, "@pypto_scratch_kept")
    f.ret()


def _trim(module: Module, target: Target) -> None:
    f = module.function("i64", "pypto_scratch_trim")
    with f.loop(SMALLEST, LARGEST + 1, 1, carried=[("i64", 0)]) as sizes:
        size = f.op("shl", "i64", 1, sizes.index)
        again, some, none = f.new_label("again"), f.new_label("some"), f.new_label("none")
        before = f.label
        f.jump(again)
        f.block(again)
        f.line(f"%total = phi i64 [{sizes.carried[0]}, %{before}], [%more, %{some}]")
        block = _pop(f, target, sizes.index)
        f.branch(f.icmp("ne", "ptr", block, "null"), some, none)
        f.block(some)
        f.call("void", "@pypto_system_release", ("ptr", block))
        f.define(f"atomicrmw sub ptr @pypto_scratch_kept, i64 {size} monotonic")
        f.line(f"%more = add i64 %total, {size}")
        f.jump(again)
        f.block(none)
        sizes.next = ["%total"]
    f.ret("i64", sizes.results[0])
