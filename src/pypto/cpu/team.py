"""The Python side of ``threads.py``: which team runs tasks, how many workers, fork and exit.

``ensure(library)`` is cheap and called whenever a kernel is built or takes the slow path of its launch. It decides:

* torch is loaded and brought libgomp → its team, with torch's number of threads (asked at each region, so that
  ``torch.set_num_threads`` counts at once): a team of another size would be rebuilt between torch's operations and ours.
  The library is looked up among those already loaded, never loaded a second time.
* otherwise, or with the option ``cpu.team`` = ``own`` → our pool: daemon threads that enter compiled code once and stay
  there, without the interpreter's lock.

Number of workers: option ``cpu.threads`` (``PYPTO_THREADS``), else torch's, else the processors this process may use.
A forked child inherits no thread, and libgomp hangs in one: there it runs serially until ``ensure`` makes a pool of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from typing import Any

from pypto import options
from pypto.cpu.link import Library
from pypto.cpu.team_state import DEFAULT_SPINS, GOMP, OMP_THREADS, POOLED, SPINS, STATE_BYTES, STOP, WORKERS

EXIT_SECONDS = 1.0  # how long exit waits for a worker that is still inside a kernel


class Team:
    """State of the workers of one loaded runtime library, which stays loaded as long as this: workers and exit go into its code."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.addresses = addresses = library.addresses
        self.state = (ctypes.c_char * STATE_BYTES).from_address(addresses["pypto_team"])
        self.threads: list[threading.Thread] = []
        self.forked = False
        self.gomp: int | None = None  # None until torch was seen
        self.omp_threads = 0
        self.lock = threading.Lock()
        self._initialise()
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def field(self, offset: int) -> ctypes.c_int64:
        return ctypes.c_int64.from_buffer(self.state, offset)

    @property
    def workers(self) -> int:
        """How many workers a region started now in this thread may have."""
        return ctypes.CFUNCTYPE(ctypes.c_int64)(self.addresses["pypto_workers"])()

    @property
    def kind(self) -> str:
        """``torch`` (its OpenMP team), ``pool`` or ``serial``; for ``pypto doctor``."""
        if self.workers <= 1:
            return "serial"
        return "torch" if self.field(GOMP).value else "pool" if self.threads else "serial"

    def ensure(self) -> None:
        """Choose team and number of workers for now; start pool threads that are missing."""
        torch = sys.modules.get("torch")
        asked = int(options.current().get("cpu.threads"))
        workers = asked or _default_workers(torch)
        own = self.forked or options.current().get("cpu.team") == "own" or not hasattr(torch, "get_num_threads")
        gomp = 0 if own else self._torch_team()
        follow = self.omp_threads if gomp and not asked else 0
        wanted = (workers, gomp, follow)
        now = tuple(self.field(offset).value for offset in (WORKERS, GOMP, OMP_THREADS))
        if wanted == now and (gomp or len(self.threads) >= workers - 1):
            return
        with self.lock:
            if not gomp:
                self._start_missing(workers - 1)
            for offset, value in zip((WORKERS, GOMP, OMP_THREADS), wanted, strict=True):
                self.field(offset).value = value

    def stop(self) -> None:
        """End the pool's threads; at exit and in tests. A worker inside a kernel finishes its chunk first."""
        with self.lock:
            self.field(POOLED).value = 0
            ctypes.c_int32.from_buffer(self.state, STOP).value = 1
            self._call("pypto_pool_wake")
            for thread in self.threads:
                thread.join(EXIT_SECONDS)
            self.threads = [thread for thread in self.threads if thread.is_alive()]
            if not self.threads:
                ctypes.c_int32.from_buffer(self.state, STOP).value = 0

    def _torch_team(self) -> int:
        if self.gomp is None:
            self.gomp, self.omp_threads = gomp_symbols()
        return self.gomp

    def _start_missing(self, wanted: int) -> None:
        enter = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.addresses["pypto_pool_worker"])
        for worker in range(len(self.threads) + 1, wanted + 1):
            thread = threading.Thread(target=enter, args=(worker,), name=f"pypto-worker-{worker}", daemon=True)
            thread.start()
            self.threads.append(thread)
        self.field(POOLED).value = len(self.threads)

    def _initialise(self) -> None:
        ctypes.memset(self.state, 0, STATE_BYTES)
        self.field(SPINS).value = DEFAULT_SPINS
        self.field(WORKERS).value = 1
        self._call("pypto_pool_prepare")

    def _after_fork(self) -> None:
        """The child has one thread: forget the others, and open what they may have held."""
        workers = self.field(WORKERS).value
        self.forked = True
        self.threads = []
        self.lock = threading.Lock()
        self._initialise()
        self.field(WORKERS).value = workers
        self._call("pypto_scratch_reset")

    def _call(self, name: str) -> None:
        ctypes.CFUNCTYPE(None)(self.addresses[name])()


def _default_workers(torch: Any) -> int:
    if hasattr(torch, "get_num_threads"):
        return int(torch.get_num_threads())
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def gomp_symbols() -> tuple[int, int]:
    """Addresses of ``GOMP_parallel`` and ``omp_get_max_threads`` in the libgomp already loaded (torch's, if several), or zeros."""
    if not sys.platform.startswith("linux"):
        return 0, 0
    for path in sorted(_loaded_libraries("libgomp"), key=lambda path: "torch" not in path):
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            parallel, threads = library.GOMP_parallel, library.omp_get_max_threads
        except (OSError, AttributeError):
            continue
        return ctypes.cast(parallel, ctypes.c_void_p).value or 0, ctypes.cast(threads, ctypes.c_void_p).value or 0
    return 0, 0


def _loaded_libraries(stem: str) -> tuple[str, ...]:
    """Paths of shared libraries in this process whose file name starts with ``stem``."""
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.split(maxsplit=5)[-1].strip() for line in maps if stem in line]
    except OSError:
        return ()
    return tuple(sorted({path for path in lines if os.path.basename(path).startswith(stem)}))
