"""Our own worker pool in LLVM text, for processes without torch's team.

*Optional join*: the caller never waits for a worker that has not started, so a sleeping or descheduled worker costs nothing::

    run:    lock or serial; job fields; next = 0; gate.epoch += 1 (odd: open); wake sleepers
            take chunks; gate.epoch += 1 (even: closed); wait until gate.active == 0
    worker: wait for an open epoch; gate.active += 1 only while that epoch is still open; take chunks; gate.active -= 1

Every gate and sleeper access is sequentially consistent; job fields are plain and protected by the gate. Threads sleep by futex
(Linux), ``WaitOnAddress`` (Windows) or a condition variable.
"""

from __future__ import annotations

import sys

from pypto.cpu.scratch import pause
from pypto.cpu.target import Target
from pypto.cpu.team_state import (
    CONDITION,
    GATE,
    JOB_ARGUMENT,
    JOB_CHUNKS,
    JOB_CPU,
    JOB_LIMIT,
    JOB_TASK,
    LOCK,
    MUTEX,
    NEXT,
    OPEN,
    POOLED,
    SLEEPERS,
    SPINS,
    STOP,
    WAITING,
    field,
)
from pypto.cpu.text import Function, Module

_FUTEX = {"linux-x86": 202, "linux-arm": 98}  # number of the futex system call


def waiting_kind(target: Target) -> str:
    """How threads sleep here: ``linux-x86``, ``linux-arm``, ``windows`` or ``posix``."""
    if sys.platform == "linux" and "linux" in target.triple:
        return "linux-arm" if target.isa == "neon" else "linux-x86"
    return "windows" if "windows" in target.triple else "posix"


def system_symbols(kind: str) -> list[str]:
    """What the pool imports from the system libraries."""
    if kind == "windows":
        return ["WaitOnAddress", "WakeByAddressAll"]
    if kind == "posix":
        return [
            *(f"pthread_mutex_{name}" for name in ("init", "lock", "unlock")),
            *(f"pthread_cond_{name}" for name in ("init", "wait", "broadcast")),
        ]
    return ["syscall", "sched_getcpu", "sched_getaffinity", "sched_setaffinity"]


def add_pool(module: Module, target: Target, kind: str) -> None:
    """Add the pool to the runtime library; ``kind`` is how threads sleep. Uses ``pypto_take_chunks`` and ``pypto_serial``."""
    _wait_and_wake(module, kind)
    _pool_run(module, target, kind)
    _pool_worker(module, target, kind)
    _pool_control(module, kind)


def _wait_and_wake(module: Module, kind: str) -> None:
    """``pypto_wait(address, seen)`` sleeps while ``*address == seen``; ``pypto_wake(address, count)`` wakes sleepers."""
    wait = module.function("void", "pypto_wait", [("ptr", "address"), ("i32", "seen")], linkage="internal", attributes="noinline")
    wake = module.function(
        "void", "pypto_wake", [("ptr", "address"), ("i64", "count")], linkage="internal", attributes="noinline"
    )
    if kind == "windows":
        _windows_bodies(module, wait, wake)
    elif kind == "posix":
        _posix_bodies(module, wait, wake)
    else:
        _futex_bodies(module, wait, wake, _FUTEX[kind])
    wait.ret()
    wake.ret()


def _futex_bodies(module: Module, wait: Function, wake: Function, number: int) -> None:
    module.declare("i64", "syscall", "i64, ...")
    signature = "i64 (i64, ...)"
    address, seen = wait.arguments
    wait.call(
        signature, "@syscall", ("i64", number), ("ptr", address), ("i64", 128), ("i32", seen), ("ptr", "null"), ("ptr", "null")
    )
    address, count = wake.arguments
    wake.call(
        signature, "@syscall", ("i64", number), ("ptr", address), ("i64", 129), ("i64", count), ("ptr", "null"), ("ptr", "null")
    )


def _windows_bodies(module: Module, wait: Function, wake: Function) -> None:
    module.declare("i32", "WaitOnAddress", "ptr, ptr, i64, i32")
    module.declare("void", "WakeByAddressAll", "ptr")
    seen = wait.scratch("i32", 1, align=4)
    wait.store("i32", wait.arguments[1], seen)
    wait.call("i32", "@WaitOnAddress", ("ptr", wait.arguments[0]), ("ptr", seen), ("i64", 4), ("i32", -1))
    wake.call("void", "@WakeByAddressAll", ("ptr", wake.arguments[0]))


def _posix_bodies(module: Module, wait: Function, wake: Function) -> None:
    for name in ("pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_broadcast"):
        module.declare("i32", name, "ptr")
    module.declare("i32", "pthread_cond_wait", "ptr, ptr")
    mutex, condition = field(wait, MUTEX), field(wait, CONDITION)
    wait.call("i32", "@pthread_mutex_lock", ("ptr", mutex))
    now = wait.define(f"load atomic i32, ptr {wait.arguments[0]} seq_cst, align 4")
    with wait.when(wait.icmp("eq", "i32", now, wait.arguments[1])):
        wait.call("i32", "@pthread_cond_wait", ("ptr", condition), ("ptr", mutex))
    wait.call("i32", "@pthread_mutex_unlock", ("ptr", mutex))
    mutex, condition = field(wake, MUTEX), field(wake, CONDITION)
    wake.call("i32", "@pthread_mutex_lock", ("ptr", mutex))
    wake.call("i32", "@pthread_cond_broadcast", ("ptr", condition))
    wake.call("i32", "@pthread_mutex_unlock", ("ptr", mutex))


# -- regions -------------------------------------------------------------------------------------------------------------------


def _current_cpu(f: Function, kind: str) -> str:
    if not kind.startswith("linux"):
        return "-1"
    f.module.declare("i32", "sched_getcpu")
    return f.call("i32", "@sched_getcpu")


def _gate(f: Function) -> str:
    return f.define(f"load atomic i64, ptr {field(f, GATE)} seq_cst, align 8")


def _pool_run(module: Module, target: Target, kind: str) -> None:
    parameters = [("ptr", "task"), ("ptr", "argument"), ("i64", "chunks"), ("i64", "workers")]
    f = module.function("void", "pypto_pool_run", parameters, linkage="internal", attributes="noinline")
    task, argument, chunks, workers = f.arguments
    taken, busy, ready = f.new_label("taken"), f.new_label("busy"), f.new_label("ready")
    pooled = f.define(f"load atomic i64, ptr {field(f, POOLED)} seq_cst, align 8")
    f.branch(f.icmp("sgt", "i64", pooled, 0), taken, busy)
    f.block(taken)
    pair = f.define(f"cmpxchg ptr {field(f, LOCK)}, i32 0, i32 1 seq_cst seq_cst")
    f.branch(f.define(f"extractvalue {{ i32, i1 }} {pair}, 1"), ready, busy)
    f.block(busy)
    f.call("void", "@pypto_serial", ("ptr", task), ("ptr", argument), ("i64", chunks))
    f.ret()
    f.block(ready)
    _publish(f, kind)
    following = field(f, NEXT)
    f.call("void", "@pypto_take_chunks", ("ptr", task), ("ptr", argument), ("i64", chunks), ("ptr", following), ("i64", 0))
    f.define(f"atomicrmw add ptr {field(f, GATE)}, i64 {OPEN} seq_cst")
    _wait_for_active(f, target)
    f.line(f"store atomic i32 0, ptr {field(f, LOCK)} release, align 4")
    f.ret()


def _publish(f: Function, kind: str) -> None:
    """Write the job, open the gate, wake whoever sleeps."""
    task, argument, chunks, workers = f.arguments
    f.store("ptr", task, field(f, JOB_TASK))
    f.store("ptr", argument, field(f, JOB_ARGUMENT))
    f.store("i64", chunks, field(f, JOB_CHUNKS))
    f.store("i64", workers, field(f, JOB_LIMIT))
    f.store("i32", _current_cpu(f, kind), field(f, JOB_CPU))
    f.line(f"store atomic i64 0, ptr {field(f, NEXT)} seq_cst, align 8")
    f.define(f"atomicrmw add ptr {field(f, GATE)}, i64 {OPEN} seq_cst")
    sleepers = f.define(f"load atomic i32, ptr {field(f, SLEEPERS)} seq_cst, align 4")
    with f.when(f.icmp("sgt", "i32", sleepers, 0), "wake"):
        # Worker ids are fixed: when fewer than all may join, the one that is woken might be the wrong one, so wake all.
        f.call("void", "@pypto_wake", ("ptr", field(f, GATE + 4)), ("i64", 1 << 30))


def _wait_for_active(f: Function, target: Target) -> None:
    """Spin a little, then sleep, until no worker is inside the closed region."""
    spin, again, check, sleep, doze, done = (f.new_label(n) for n in ("spin", "again", "check", "sleep", "doze", "done"))
    spins = f.load("i64", field(f, SPINS))
    before = f.label
    f.jump(spin)
    f.block(spin)
    f.line(f"%spun = phi i64 [0, %{before}], [%following, %{again}]")
    active = f.cast("trunc", "i64", _gate(f), "i32")
    f.branch(f.icmp("eq", "i32", active, 0), done, again)
    f.block(again)
    pause(f, target)
    f.line("%following = add i64 %spun, 1")
    f.branch(f.icmp("slt", "i64", "%following", spins), spin, sleep)
    f.block(sleep)
    f.line(f"store atomic i32 1, ptr {field(f, WAITING)} seq_cst, align 4")
    f.jump(check)
    f.block(check)
    active = f.cast("trunc", "i64", _gate(f), "i32")
    f.branch(f.icmp("eq", "i32", active, 0), done, doze)
    f.block(doze)
    f.call("void", "@pypto_wait", ("ptr", field(f, GATE)), ("i32", active))
    f.jump(check)
    f.block(done)
    f.line(f"store atomic i32 0, ptr {field(f, WAITING)} seq_cst, align 4")


def _pool_worker(module: Module, target: Target, kind: str) -> None:
    """``void pypto_pool_worker(i64 worker)``: the life of one worker thread, from its start to ``stop``."""
    _join(module, kind)
    f = module.function("void", "pypto_pool_worker", [("i64", "worker")])
    worker = f.arguments[0]
    allowed = f.scratch("i64", _MASK_WORDS, align=8)
    if kind.startswith("linux"):
        module.declare("i32", "sched_getaffinity", "i32, i64, ptr")
        f.call("i32", "@sched_getaffinity", ("i32", 0), ("i64", _MASK_WORDS * 8), ("ptr", allowed))
    outer, spin, maybe, join, again, sleep, doze, awake, done = (
        f.new_label(n) for n in ("outer", "spin", "maybe", "join", "again", "sleep", "doze", "awake", "done")
    )
    last = f.scratch("i64", 1, align=8)
    f.store("i64", 0, last)
    spins = f.load("i64", field(f, SPINS))
    f.jump(outer)
    f.block(outer)
    f.jump(spin)
    f.block(spin)
    f.line(f"%spun = phi i64 [0, %{outer}], [%following, %{again}]")
    gate = _gate(f)
    epoch = f.op("lshr", "i64", gate, 32)
    stop = f.define(f"load atomic i32, ptr {field(f, STOP)} seq_cst, align 4")
    f.branch(f.icmp("ne", "i32", stop, 0), done, maybe)
    f.block(maybe)
    is_open = f.icmp("eq", "i64", f.op("and", "i64", epoch, 1), 1)
    is_new = f.icmp("ne", "i64", epoch, f.load("i64", last))
    f.branch(f.op("and", "i1", is_open, is_new), join, again)
    f.block(join)
    f.store("i64", epoch, last)
    f.call("void", "@pypto_pool_join", ("i64", worker), ("i64", gate), ("ptr", allowed))
    f.jump(outer)
    f.block(again)
    pause(f, target)
    f.line("%following = add i64 %spun, 1")
    f.branch(f.icmp("slt", "i64", "%following", spins), spin, sleep)
    f.block(sleep)
    f.define(f"atomicrmw add ptr {field(f, SLEEPERS)}, i32 1 seq_cst")
    now = f.op("lshr", "i64", _gate(f), 32)
    stop = f.define(f"load atomic i32, ptr {field(f, STOP)} seq_cst, align 4")
    f.branch(f.op("and", "i1", f.icmp("eq", "i64", now, epoch), f.icmp("eq", "i32", stop, 0)), doze, awake)
    f.block(doze)
    f.call("void", "@pypto_wait", ("ptr", field(f, GATE + 4)), ("i32", f.cast("trunc", "i64", epoch, "i32")))
    f.jump(awake)
    f.block(awake)
    f.define(f"atomicrmw sub ptr {field(f, SLEEPERS)}, i32 1 seq_cst")
    f.jump(outer)
    f.block(done)
    f.ret()


def _pool_control(module: Module, kind: str) -> None:
    """``pypto_pool_prepare`` before the first thread, ``pypto_pool_wake`` to let all threads see ``stop``."""
    f = module.function("void", "pypto_pool_prepare")
    if kind == "posix":
        module.declare("i32", "pthread_mutex_init", "ptr, ptr")
        module.declare("i32", "pthread_cond_init", "ptr, ptr")
        f.call("i32", "@pthread_mutex_init", ("ptr", field(f, MUTEX)), ("ptr", "null"))
        f.call("i32", "@pthread_cond_init", ("ptr", field(f, CONDITION)), ("ptr", "null"))
    f.ret()
    f = module.function("void", "pypto_pool_wake")
    f.define(f"atomicrmw add ptr {field(f, GATE)}, i64 {2 * OPEN} seq_cst")  # another epoch, not open
    f.call("void", "@pypto_wake", ("ptr", field(f, GATE + 4)), ("i64", 1 << 30))
    f.ret()


_MASK_WORDS = 16  # 1024 processors, the size of glibc's cpu_set_t


def _join(module: Module, kind: str) -> None:
    """Try to enter the region whose gate was seen; help with its chunks; leave."""
    parameters = [("i64", "worker"), ("i64", "gate"), ("ptr", "allowed")]
    f = module.function("void", "pypto_pool_join", parameters, linkage="internal", attributes="noinline")
    worker, seen, allowed = f.arguments
    attempt, inside, missed, retry, done = (f.new_label(n) for n in ("attempt", "inside", "missed", "retry", "done"))
    f.jump(attempt)
    f.block(attempt)
    gate = f.define(f"phi i64 [{seen}, %entry], [%observed, %{retry}]")
    more = f.op("add", "i64", gate, 1)
    pair = f.define(f"cmpxchg ptr {field(f, GATE)}, i64 {gate}, i64 {more} seq_cst seq_cst")
    f.branch(f.define(f"extractvalue {{ i64, i1 }} {pair}, 1"), inside, missed)
    f.block(missed)
    f.line(f"%observed = extractvalue {{ i64, i1 }} {pair}, 0")
    # Another worker joined or left: the epoch is the same, try again. The region closed: there is nothing to help with.
    changed = f.op("lshr", "i64", f.op("xor", "i64", "%observed", seen), 32)
    f.branch(f.icmp("eq", "i64", changed, 0), retry, done)
    f.block(retry)
    f.jump(attempt)
    f.block(inside)
    limit = f.load("i64", field(f, JOB_LIMIT))
    with f.when(f.icmp("slt", "i64", worker, limit)):
        _leave_callers_core(f, kind, allowed)
        task, argument = f.load("ptr", field(f, JOB_TASK)), f.load("ptr", field(f, JOB_ARGUMENT))
        chunks, following = f.load("i64", field(f, JOB_CHUNKS)), field(f, NEXT)
        f.call(
            "void", "@pypto_take_chunks", ("ptr", task), ("ptr", argument), ("i64", chunks), ("ptr", following), ("i64", worker)
        )
    before = f.define(f"atomicrmw sub ptr {field(f, GATE)}, i64 1 seq_cst")
    waiting = f.define(f"load atomic i32, ptr {field(f, WAITING)} seq_cst, align 4")
    last_one = f.icmp("eq", "i32", f.cast("trunc", "i64", before, "i32"), 1)
    with f.when(f.op("and", "i1", last_one, f.icmp("ne", "i32", waiting, 0)), "tell"):
        f.call("void", "@pypto_wake", ("ptr", field(f, GATE)), ("i64", 1))
    f.jump(done)
    f.block(done)
    f.ret()


def _leave_callers_core(f: Function, kind: str, allowed: str) -> None:
    """Linux often wakes a worker on the caller's own core and leaves it there for milliseconds: move away once."""
    if not kind.startswith("linux"):
        return
    f.module.declare("i32", "sched_setaffinity", "i32, i64, ptr")
    here, callers = _current_cpu(f, kind), f.load("i32", field(f, JOB_CPU))
    with f.when(f.icmp("eq", "i32", here, callers), "move"):
        known = f.icmp("ult", "i32", here, _MASK_WORDS * 64)
        with f.when(known):
            cpu = f.cast("zext", "i32", here, "i64")
            word = f.gep("i64", allowed, f.op("lshr", "i64", cpu, 6))
            before = f.load("i64", word)
            bit = f.op("shl", "i64", 1, f.op("and", "i64", cpu, 63))
            f.store("i64", f.op("and", "i64", before, f.op("xor", "i64", bit, -1)), word)
            # Fails, and changes nothing, when no other core is allowed.
            f.call("i32", "@sched_setaffinity", ("i32", 0), ("i64", _MASK_WORDS * 8), ("ptr", allowed))
            f.store("i64", before, word)
