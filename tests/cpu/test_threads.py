"""Worker teams and scratch memory: every chunk once, whoever calls, and safe ends."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pypto import options
from pypto.cpu.library import Runtime, library_module, runtime_library, system_symbols
from pypto.cpu.link import load
from pypto.cpu.pool import system_symbols as thread_symbols
from pypto.cpu.target import host, named
from pypto.cpu.team import Team

P, I = ctypes.c_void_p, ctypes.c_int64

# Adds chunk + 1 to out[chunk], and keeps the chunk busy for `argument[1]` rounds; counts per worker behind it.
TASKS = """
declare void @pypto_parallel(ptr, ptr, i64)
define void @mark(ptr %argument, i64 %chunk, i64 %worker) {
entry:
  %out = load ptr, ptr %argument
  %roundsp = getelementptr i64, ptr %argument, i64 1
  %rounds = load i64, ptr %roundsp
  br label %spin
spin:
  %i = phi i64 [0, %entry], [%n, %spin]
  %n = add i64 %i, 1
  call void asm sideeffect "", ""()
  %more = icmp slt i64 %n, %rounds
  br i1 %more, label %spin, label %done
done:
  %p = getelementptr i64, ptr %out, i64 %chunk
  %v = load i64, ptr %p
  %w = add i64 %v, 1
  store i64 %w, ptr %p
  %seenp = getelementptr i64, ptr %argument, i64 2
  %bit = shl i64 1, %worker
  %x = atomicrmw or ptr %seenp, i64 %bit monotonic
  ret void
}
define void @nest(ptr %argument, i64 %chunk, i64 %worker) {
  %p = getelementptr ptr, ptr %argument, i64 %chunk
  %inner = load ptr, ptr %p
  call void @pypto_parallel(ptr @mark, ptr %inner, i64 50)
  ret void
}
define void @halve(ptr %argument, i64 %chunk, i64 %worker) {
  %p = getelementptr float, ptr %argument, i64 %chunk
  %v = load volatile float, ptr %p
  %h = fmul float %v, 0.5
  store float %h, ptr %p
  ret void
}
"""


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return runtime_library()


@pytest.fixture(scope="module")
def tasks(runtime):
    return load(host().compile(TASKS, verify=True), exports=["mark", "nest", "halve"], imports=runtime.symbols, keep=(runtime,))


@pytest.fixture(params=["pool", "torch"])
def team(request, runtime, monkeypatch):
    """Each test runs on our pool and on torch's OpenMP team."""
    if request.param == "torch":
        pytest.importorskip("torch")
    else:
        monkeypatch.setattr(runtime.team, "_torch_team", lambda: 0)
    with options.scope("test", {"cpu.threads": 4}):
        runtime.team.ensure()
        yield runtime.team
    monkeypatch.undo()
    runtime.team.ensure()


class Work:
    def __init__(self, chunks: int, rounds: int = 1) -> None:
        self.out = np.zeros(chunks, np.int64)
        self.argument = np.array([self.out.ctypes.data, rounds, 0], np.int64)

    @property
    def address(self) -> int:
        return self.argument.ctypes.data

    @property
    def workers(self) -> set[int]:
        return {worker for worker in range(64) if int(self.argument[2]) >> worker & 1}


def parallel(runtime: Runtime, task: int, argument: int, chunks: int, workers: int | None = None) -> None:
    if workers is None:
        runtime.function("pypto_parallel", None, P, P, I)(task, argument, chunks)
    else:
        runtime.function("pypto_parallel_within", None, P, P, I, I)(task, argument, chunks, workers)


def test_every_chunk_runs_once(runtime, tasks, team) -> None:
    for chunks in [0, 1, 2, 3, 7, 100, 1000]:
        for _ in range(20):
            work = Work(chunks, 20)
            parallel(runtime, tasks["mark"], work.address, chunks)
            assert (work.out == 1).all()


def test_worker_ids_stay_below_the_limit(runtime, tasks, team) -> None:
    assert team.workers == 4
    for workers in (1, 2, 3, 4, 9):
        for _ in range(20):
            work = Work(64, 3000)
            parallel(runtime, tasks["mark"], work.address, 64, workers)
            assert (work.out == 1).all() and work.workers <= set(range(min(workers, 4)))


def test_several_workers_take_part(runtime, tasks, team) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    seen: set[int] = set()
    for _ in range(2000):  # on a machine with other work to do, one may take all chunks many times
        work = Work(32, 100_000)
        parallel(runtime, tasks["mark"], work.address, 32)
        seen |= work.workers
        if len(seen) >= 2:
            break
    assert len(seen) >= 2


def test_sleeping_workers_wake_up(runtime, tasks, team) -> None:
    for _ in range(10):
        time.sleep(0.003)
        work = Work(16, 50_000)
        parallel(runtime, tasks["mark"], work.address, 16)
        assert (work.out == 1).all()


def test_regions_inside_tasks(runtime, tasks, team) -> None:
    for _ in range(20):
        inner = [Work(50, 100) for _ in range(8)]
        pointers = np.array([work.address for work in inner], np.int64)
        parallel(runtime, tasks["nest"], pointers.ctypes.data, 8)
        assert all((work.out == 1).all() for work in inner)


def test_python_threads_call_at_once(runtime, tasks, team) -> None:
    failures = []

    def many() -> None:
        for _ in range(100):
            work = Work(40, 500)
            parallel(runtime, tasks["mark"], work.address, 40)
            if not (work.out == 1).all():
                failures.append(work.out)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures and not any(thread.is_alive() for thread in threads)


def test_denormals_are_kept_whatever_the_caller_set(runtime, tasks, team) -> None:
    torch = pytest.importorskip("torch")
    values = np.full(256, 1e-38, np.float32)
    torch.set_flush_denormal(True)
    try:
        parallel(runtime, tasks["halve"], values.ctypes.data, 256)
    finally:
        torch.set_flush_denormal(False)
    assert (values > 0).all()


def test_the_number_of_workers_can_change(runtime, tasks, monkeypatch) -> None:
    monkeypatch.setattr(runtime.team, "_torch_team", lambda: 0)
    for workers in (1, 4, 2, 6, 1):
        with options.scope("test", {"cpu.threads": workers}):
            runtime.team.ensure()
            assert runtime.team.workers == workers
            work = Work(100, 100)
            parallel(runtime, tasks["mark"], work.address, 100)
            assert (work.out == 1).all()
    monkeypatch.undo()
    runtime.team.ensure()


def test_torchs_number_of_threads_counts_at_once(runtime) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    runtime.team.ensure()
    if runtime.team.kind != "torch" and before > 1:
        pytest.skip("torch without libgomp")
    try:
        for threads in (1, 3, 2):
            torch.set_num_threads(threads)
            assert runtime.team.workers == threads
    finally:
        torch.set_num_threads(before)


def test_our_own_team_beside_torch(runtime, tasks) -> None:
    pytest.importorskip("torch")
    with options.scope("test", {"cpu.team": "own", "cpu.threads": 3}):
        runtime.team.ensure()
        assert runtime.team.kind == "pool"
        work = Work(50, 100)
        parallel(runtime, tasks["mark"], work.address, 50)
        assert (work.out == 1).all()
    runtime.team.ensure()


def test_threads_stop_and_start_again(runtime, tasks, monkeypatch) -> None:
    monkeypatch.setattr(runtime.team, "_torch_team", lambda: 0)
    with options.scope("test", {"cpu.threads": 3}):
        for _ in range(3):
            runtime.team.ensure()
            assert len(runtime.team.threads) >= 2
            runtime.team.stop()
            assert runtime.team.threads == []
            work = Work(10)
            parallel(runtime, tasks["mark"], work.address, 10)
            assert (work.out == 1).all()
    monkeypatch.undo()
    runtime.team.ensure()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX threads")
def test_waiting_without_futexes(tasks) -> None:
    """The way of macOS and others: a condition variable."""
    names = thread_symbols("posix")
    imports = system_symbols(host()) | {name: ctypes.cast(getattr(ctypes.CDLL(None), name), P).value for name in names}
    exports = [
        "pypto_team",
        "pypto_pool_worker",
        "pypto_pool_prepare",
        "pypto_pool_wake",
        "pypto_parallel",
        "pypto_workers",
        "pypto_scratch_reset",
    ]
    core = load(host().compile(library_module(host(), "core", "posix").text(), verify=True), exports=exports, imports=imports)
    team = Team(core)
    with options.scope("test", {"cpu.threads": 3}):
        team._torch_team = lambda: 0
        team.ensure()
        for turn in range(200):
            if turn % 40 == 0:
                time.sleep(0.002)
            work = Work(30, 200)
            ctypes.CFUNCTYPE(None, P, P, I)(core["pypto_parallel"])(tasks["mark"], work.address, 30)
            assert (work.out == 1).all()
        team.stop()
        assert team.threads == []


@pytest.mark.parametrize("isa", ["neon", "avx2", "avx512", "generic"])
@pytest.mark.parametrize("sleeping", [None, "posix", "windows"])
def test_every_target_generates_code(isa: str, sleeping: str | None) -> None:
    target = named(isa)
    assert target.compile(library_module(target, "core", sleeping).text(), verify=True)


# -- scratch ---------------------------------------------------------------------------------------------------------------------


def test_scratch_is_aligned_and_reused(runtime) -> None:
    acquire = runtime.function("pypto_acquire", P, I)
    release = runtime.function("pypto_release", None, P, I)
    for size in [0, 1, 64, 100, 4096, 5000, 1 << 20, (1 << 26) + 1]:
        place = acquire(size)
        assert place and place % 64 == 0
        ctypes.memset(place, 1, size)
        release(place, size)
        if size <= 1 << 26:
            assert acquire(size) == place
            release(place, size)
    release(None, 100)
    assert not acquire(1 << 60)


def test_scratch_from_many_threads(runtime) -> None:
    acquire = runtime.function("pypto_acquire", P, I)
    release = runtime.function("pypto_release", None, P, I)
    wrong = []

    def many(mark: int) -> None:
        for turn in range(500):
            places = [acquire(1000) for _ in range(3)]
            for place in places:
                ctypes.memset(place, mark, 1000)
            if any(ctypes.string_at(place, 1000) != bytes([mark]) * 1000 for place in places):
                wrong.append(turn)
            for place in places:
                release(place, 1000)

    threads = [threading.Thread(target=many, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


# -- ends ------------------------------------------------------------------------------------------------------------------------

PROGRAM = """
import ctypes, os, sys, threading, time
{first}
from pypto import options
from pypto.cpu.library import runtime_library
from pypto.cpu.link import load
from pypto.cpu.target import host
sys.path.insert(0, {here!r})
from test_threads import TASKS, Work, parallel
runtime = runtime_library()
tasks = load(host().compile(TASKS), exports=["mark"], imports=runtime.symbols, keep=(runtime,))
def go(rounds=1000):
    work = Work(200, rounds)
    parallel(runtime, tasks["mark"], work.address, 200)
    assert (work.out == 1).all()
go()
{last}
print("fine", flush=True)
"""

FORK = """
child = os.fork()
if child == 0:
    for _ in range(20): go()
    runtime.team.ensure()
    assert runtime.team.kind == "pool", runtime.team.kind
    for _ in range(20): go()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
for _ in range(20): go()
"""
FORK_WHILE_RUNNING = """
stop = False
def busy():
    while not stop: go(20000)
thread = threading.Thread(target=busy); thread.start()
for _ in range(5):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        for _ in range(5): go()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop = True
thread.join()
"""
EXIT_WHILE_RUNNING = """
def busy():
    while True: go(50000)
threading.Thread(target=busy, daemon=True).start()
time.sleep(0.05)
"""
ENDS = {"exit": "", "fork": FORK, "fork while running": FORK_WHILE_RUNNING, "exit while running": EXIT_WHILE_RUNNING}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("first", ["", "import torch; torch.ones(1000, 1000) @ torch.ones(1000, 1000)"])
@pytest.mark.parametrize("case", ENDS)
def test_processes_end_well(case: str, first: str) -> None:
    program = PROGRAM.format(first=first, last=ENDS[case], here=os.path.dirname(__file__))
    environment = {**os.environ, "PYPTO_THREADS": "4", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "fine", done.stderr
