"""Worker threads: ``pypto_parallel`` in LLVM text. The Python side (which team, how many, fork, exit) is ``team.py``.

    void pypto_parallel(ptr task, ptr argument, i64 chunks)
    void pypto_parallel_within(ptr task, ptr argument, i64 chunks, i64 workers)   at most so many; workers ids are below it
    i64  pypto_workers()                                                          how many ``pypto_parallel`` may use now
    void pypto_launch(ptr kernel, ptr block)                                      a kernel under default floating-point rules
    void task(ptr argument, i64 chunk, i64 worker)

A kernel that sizes scratch by ``pypto_workers()`` passes the same number to ``pypto_parallel_within``: the setting may change
between the two calls. Chunks are handed out in order by an atomic counter. A call from inside a task, or while another
thread holds the team, runs its chunks where it stands, as worker 0.

Two teams. torch's own OpenMP team when torch is loaded (``gomp``, set by ``team.py``): a second team would fight its spinning
workers for the cores. Else our pool (``pool.py``).
"""

from __future__ import annotations

from pypto.cpu.pool import add_pool, waiting_kind
from pypto.cpu.target import Target
from pypto.cpu.team_state import GOMP, OMP_THREADS, STATE, STATE_BYTES, WORKERS, field
from pypto.cpu.text import Function, Module

DEFAULT_FLOATING_POINT = 0x1F80  # MXCSR: all exceptions masked, round to nearest, denormals kept (Intel SDM 10.2.3)


def add_threads(module: Module, target: Target, kind: str | None = None) -> None:
    """Add the teams to the runtime library. ``kind`` overrides how threads sleep (for tests)."""
    kind = kind or waiting_kind(target)
    module.variable(STATE[1:], f"[{STATE_BYTES} x i8]", linkage="")
    add_floating_point(module, target)
    _workers(module)
    _launch(module)
    _take_chunks(module)
    _region(module)
    _serial(module)
    add_pool(module, target, kind)
    _parallel(module)


# -- floating-point rules ------------------------------------------------------------------------------------------------------


def add_floating_point(module: Module, target: Target) -> None:
    """``pypto_float_enter`` sets this thread's default rules and returns the ones before, ``pypto_float_leave`` restores them.

    Flushing of denormals belongs to the thread (``torch.set_flush_denormal``): without this, results depend on who runs a chunk.
    """
    enter = module.function("i64", "pypto_float_enter", linkage="internal")
    leave = module.function("void", "pypto_float_leave", [("i64", "before")], linkage="internal")
    if target.isa == "neon":
        before = enter.intrinsic("i64", "llvm.aarch64.get.fpcr")
        enter.intrinsic("void", "llvm.aarch64.set.fpcr", ("i64", 0))
        enter.ret("i64", before)
        leave.intrinsic("void", "llvm.aarch64.set.fpcr", ("i64", leave.arguments[0]))
    elif target.has("sse2"):
        _mxcsr_bodies(enter, leave)
    else:
        enter.ret("i64", 0)
    leave.ret()


def _mxcsr_bodies(enter: Function, leave: Function) -> None:
    place = enter.scratch("i32", 1, align=4)
    enter.intrinsic("void", "llvm.x86.sse.stmxcsr", ("ptr", place))
    before = enter.load("i32", place)
    with enter.when(enter.icmp("ne", "i32", before, DEFAULT_FLOATING_POINT)):
        enter.store("i32", DEFAULT_FLOATING_POINT, place)
        enter.intrinsic("void", "llvm.x86.sse.ldmxcsr", ("ptr", place))
    enter.ret("i64", enter.cast("zext", "i32", before, "i64"))
    wanted = leave.cast("trunc", "i64", leave.arguments[0], "i32")
    with leave.when(leave.icmp("ne", "i32", wanted, DEFAULT_FLOATING_POINT)):
        place = leave.scratch("i32", 1, align=4)
        leave.store("i32", wanted, place)
        leave.intrinsic("void", "llvm.x86.sse.ldmxcsr", ("ptr", place))


def _launch(module: Module) -> None:
    f = module.function("void", "pypto_launch", [("ptr", "kernel"), ("ptr", "block")])
    before = f.call("i64", "@pypto_float_enter")
    f.call("void", f.arguments[0], ("ptr", f.arguments[1]))
    f.call("void", "@pypto_float_leave", ("i64", before))
    f.ret()


# -- handing out chunks --------------------------------------------------------------------------------------------------------


def _workers(module: Module) -> None:
    """The setting; on torch's team without a setting of ours, what ``torch.set_num_threads`` said last in this thread."""
    f = module.function("i64", "pypto_workers")
    ask = f.define(f"load atomic ptr, ptr {field(f, OMP_THREADS)} acquire, align 8")
    torchs, ours = f.new_label("torchs"), f.new_label("ours")
    f.branch(f.icmp("ne", "ptr", ask, "null"), torchs, ours)
    f.block(torchs)
    f.ret("i64", f.cast("sext", "i32", f.call("i32", ask), "i64"))
    f.block(ours)
    f.ret("i64", f.define(f"load atomic i64, ptr {field(f, WORKERS)} monotonic, align 8"))


def _take_chunks(module: Module) -> None:
    """Run chunks from a shared counter until none is left."""
    parameters = [("ptr", "task"), ("ptr", "argument"), ("i64", "chunks"), ("ptr", "next"), ("i64", "worker")]
    f = module.function("void", "pypto_take_chunks", parameters, linkage="internal")
    task, argument, chunks, following, worker = f.arguments
    before = f.call("i64", "@pypto_float_enter")
    again, run, done = f.new_label("again"), f.new_label("run"), f.new_label("done")
    f.jump(again)
    f.block(again)
    chunk = f.define(f"atomicrmw add ptr {following}, i64 1 seq_cst")
    f.branch(f.icmp("slt", "i64", chunk, chunks), run, done)
    f.block(run)
    f.call("void", task, ("ptr", argument), ("i64", chunk), ("i64", worker))
    f.jump(again)
    f.block(done)
    f.call("void", "@pypto_float_leave", ("i64", before))
    f.ret()


def _serial(module: Module) -> None:
    f = module.function("void", "pypto_serial", [("ptr", "task"), ("ptr", "argument"), ("i64", "chunks")], linkage="internal")
    task, argument, chunks = f.arguments
    with f.loop(0, chunks, 1) as loop:
        f.call("void", task, ("ptr", argument), ("i64", loop.index), ("i64", 0))
    f.ret()


# A region on torch's team: {task, argument, chunks} and, each on its own cache line, the next chunk and the next worker id.
_REGION_BYTES, _REGION_NEXT, _REGION_IDS = 192, 64, 128


def _region(module: Module) -> None:
    f = module.function("void", "pypto_region", [("ptr", "job")], linkage="internal")
    job = f.arguments[0]
    task = f.load("ptr", job)
    argument = f.load("ptr", f.gep("ptr", job, 1))
    chunks = f.load("i64", f.gep("i64", job, 2))
    worker = f.define(f"atomicrmw add ptr {f.gep('i8', job, _REGION_IDS)}, i64 1 seq_cst")
    limit = f.load("i64", f.gep("i64", job, 3))
    with f.when(f.icmp("slt", "i64", worker, limit)):
        following = f.gep("i8", job, _REGION_NEXT)
        f.call(
            "void", "@pypto_take_chunks", ("ptr", task), ("ptr", argument), ("i64", chunks), ("ptr", following), ("i64", worker)
        )
    f.ret()


def _parallel(module: Module) -> None:
    within = module.function(
        "void", "pypto_parallel_within", [("ptr", "task"), ("ptr", "argument"), ("i64", "chunks"), ("i64", "workers")]
    )
    _choose_team(within)
    f = module.function("void", "pypto_parallel", [("ptr", "task"), ("ptr", "argument"), ("i64", "chunks")])
    task, argument, chunks = f.arguments
    workers = f.call("i64", "@pypto_workers")
    f.call("void", "@pypto_parallel_within", ("ptr", task), ("ptr", argument), ("i64", chunks), ("i64", workers))
    f.ret()


def _choose_team(f: Function) -> None:
    task, argument, chunks, asked = f.arguments
    workers = f.intrinsic("i64", "llvm.smin.i64", ("i64", asked), ("i64", f.call("i64", "@pypto_workers")))
    alone, several, gomp, pool, done = (f.new_label(n) for n in ("alone", "several", "gomp", "pool", "done"))
    few = f.op("or", "i1", f.icmp("sle", "i64", workers, 1), f.icmp("sle", "i64", chunks, 1))
    f.branch(few, alone, several)
    f.block(alone)
    f.call("void", "@pypto_serial", ("ptr", task), ("ptr", argument), ("i64", chunks))
    f.jump(done)
    f.block(several)
    entry = f.define(f"load atomic ptr, ptr {field(f, GOMP)} acquire, align 8")
    f.branch(f.icmp("ne", "ptr", entry, "null"), gomp, pool)
    f.block(gomp)
    job = f.scratch("i8", _REGION_BYTES)
    for index, (kind, value) in enumerate([("ptr", task), ("ptr", argument), ("i64", chunks), ("i64", workers)]):
        f.store(kind, value, f.gep("i64", job, index))
    f.store("i64", 0, f.gep("i8", job, _REGION_NEXT))
    f.store("i64", 0, f.gep("i8", job, _REGION_IDS))
    # The team keeps its size from region to region: rebuilding it costs more than an idle worker.
    size = f.cast("trunc", "i64", f.call("i64", "@pypto_workers"), "i32")
    f.call("void", entry, ("ptr", "@pypto_region"), ("ptr", job), ("i32", size), ("i32", 0))
    f.jump(done)
    f.block(pool)
    f.call("void", "@pypto_pool_run", ("ptr", task), ("ptr", argument), ("i64", chunks), ("i64", workers))
    f.jump(done)
    f.block(done)
    f.ret()
