"""The runtime library: everything compiled kernels call, compiled once and kept in the object cache.

Five objects: ``core`` (threads, scratch, launch), and one per kind of matrix, compiled and loaded when a kernel first needs it.

    runtime = runtime_library()            # for this machine; made on first use
    runtime.symbols                        # name → address, what kernels import
    runtime.team.ensure()                  # choose the threads for the next launch
    library = load(kernel_object, exports=["kernel"], imports=runtime.symbols, keep=(runtime,))

What it exports is listed in ARCHITECTURE.md, "Contracts between rooms".
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pypto.cpu import pool, scratch, threads
from pypto.cpu.gemm_symbols import KIND_OF, symbols_of
from pypto.cpu.link import Library, load
from pypto.cpu.target import Target, host
from pypto.cpu.team import Team
from pypto.cpu.text import Module
from pypto.identity import identity
from pypto.runtime.cache import Metadata, cache, fingerprints, key_of

CONTROL = (
    "pypto_team",
    "pypto_pool_worker",
    "pypto_pool_prepare",
    "pypto_pool_wake",
    "pypto_scratch_reset",
    "pypto_scratch_trim",
)
CORE_SYMBOLS = (
    "pypto_parallel",
    "pypto_parallel_within",
    "pypto_workers",
    "pypto_launch",
    "pypto_acquire",
    "pypto_release",
)


class Runtime(Mapping[str, int]):
    """The runtime library of one target: name → address, parts loaded on demand. Kept for the life of the process."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lock = _making
        core = load(library_object(target, "core"), exports=[*CONTROL, *CORE_SYMBOLS], imports=system_symbols(target))
        self.parts: dict[str, Library] = {"core": core}
        self.addresses = {name: core[name] for name in CORE_SYMBOLS}
        self.team = Team(core)

    @property
    def symbols(self) -> Mapping[str, int]:
        """What kernels may import."""
        return self

    def __getitem__(self, name: str) -> int:
        if name not in self.addresses:
            self._load_part(KIND_OF[name])
        return self.addresses[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*CORE_SYMBOLS, *KIND_OF])

    def __len__(self) -> int:
        return len(CORE_SYMBOLS) + len(KIND_OF)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A ctypes function for a symbol; for tests and tools."""
        return ctypes.CFUNCTYPE(result, *arguments)(self[name])

    def _load_part(self, kind: str) -> None:
        with self.lock:
            if kind not in self.parts:
                names = symbols_of(kind)
                part = load(library_object(self.target, kind), exports=names, imports=self.addresses)
                self.parts[kind] = part
                self.addresses.update(part.addresses)


def library_module(target: Target, part: str, sleeping: str | None = None) -> Module:
    """One part (``core``, ``f32``, ``bf16``, ``f16``, ``i8``) as LLVM text. ``sleeping``: how idle threads wait (for tests)."""
    module = Module()
    if part == "core":
        scratch.add_scratch(module, target)
        threads.add_threads(module, target, sleeping)
    else:
        from pypto.cpu import gemm  # a large part of the package, and needed only where the object is not in the cache

        gemm.add_gemm(module, target, part)
    return module


def library_object(target: Target, part: str) -> bytes:
    """Object bytes of one part for a target, from the cache or compiled."""
    return part_object(target, f"runtime library, {part}", lambda target: library_module(target, part))


def part_object(target: Target, name: str, make: Callable[[Target], Module]) -> bytes:
    """Object bytes of ``make(target)``, from the cache or compiled; ``name`` is what ``pypto cache ls`` shows."""
    parts = {"part": name, "target": target.key, "package": identity()}  # the text follows from these
    key = key_of(parts)
    code = cache().get(key)
    if code is None:
        start = time.perf_counter()
        code = target.compile(make(target).text())
        seconds = time.perf_counter() - start
        about = Metadata(name, target=target.key, parts=fingerprints(parts), compile_seconds=seconds)
        cache().put(key, code, about)
    return code


def system_symbols(target: Target) -> dict[str, int]:
    """Addresses of what the library imports from the operating system."""
    names = [*scratch.system_symbols(), *pool.system_symbols(pool.waiting_kind(target))]
    libraries = _system_libraries()
    return {name: address for name in names for address in [_first_address(libraries, name)] if address}


def _system_libraries() -> list[ctypes.CDLL]:
    if sys.platform != "win32":
        return [ctypes.CDLL(None)]
    found = []
    for name in ("msvcrt", "kernelbase", "api-ms-win-core-synch-l1-2-0"):
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return found


def _first_address(libraries: list[ctypes.CDLL], name: str) -> int:
    for library in libraries:
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    return 0


_making = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)


def runtime_library(target: Target | None = None) -> Runtime:
    """The runtime library of this machine (or of a ``target`` this machine can run), with its threads chosen.

    The first call compiles it (or reads it from the cache) and starts workers; later calls cost a microsecond.
    """
    with _making:
        runtime = _loaded(target or host())
    runtime.team.ensure()
    return runtime


@lru_cache(maxsize=8)
def _loaded(target: Target) -> Runtime:
    runtime = Runtime(target)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(runtime))  # never unloaded: threads may still be inside at exit
    return runtime
