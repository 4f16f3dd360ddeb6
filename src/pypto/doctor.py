"""``pypto doctor``: what this machine has, and what will be used."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator

from pypto import options
from pypto.options.table import TABLE
from pypto.version import __version__

Fact = tuple[str, str]


def report() -> str:
    """The report as text; a part that fails says why instead of stopping the rest."""
    lines = [f"openpypto {__version__}"]
    for title, part in _PARTS.items():
        lines += ["", title]
        try:
            lines += [f"  {name:22s} {value}" for name, value in part()]
        except Exception as error:  # a report must come out whole whatever is broken; that is when it is needed
            lines.append(f"  failed: {type(error).__name__}: {error}")
    return "\n".join(lines)


def _python() -> Iterator[Fact]:
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}) {sys.executable}"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    for name in ("numpy", "llvmlite", "ml_dtypes", "torch"):
        yield name, _version(name)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed" if importlib.util.find_spec(name) is None else "installed, version unknown"


def _processor() -> Iterator[Fact]:
    import llvmlite.binding as llvm

    from pypto.cpu import target

    chosen = target.host()
    yield "processor", llvm.get_host_cpu_name()
    yield (
        "instruction set",
        chosen.isa + (f" (asked for: {options.current().get('cpu.isa')})" if options.current().get("cpu.isa") else ""),
    )
    yield (
        "matrix instructions",
        ", ".join(f for f in sorted(chosen.features) if f.startswith(("amx", "avx512bf16", "avx512vnni", "bf16", "i8mm")))
        or "none",
    )
    yield "engine", str(options.current().get("run.engine")) + ("" if chosen.compiled else " (no compiled code for this machine)")


def _threads() -> Iterator[Fact]:
    asked = options.current().get("cpu.threads")
    yield "processors", f"{usable_processors()} usable of {os.cpu_count()}"
    yield "worker threads", str(asked) if asked else f"{usable_processors()} (as many as processors, or as torch uses)"
    yield "OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "not set")


def usable_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cache() -> Iterator[Fact]:
    from pypto.runtime.cache import cache

    kept = cache()
    if kept.directory is None:
        yield "cache", "in memory only"
        return
    entries = kept.entries()
    yield "cache", str(kept.directory)
    yield "entries", f"{len(entries)}, {sum(e.bytes for e in entries) / 1e6:.1f} MB of at most {kept.limit / 1e6:.0f} MB"


def _neighbours() -> Iterator[Fact]:
    from pypto.beside import reference_distribution
    from pypto.compat.install import real_torch_npu

    found = reference_distribution()
    yield (
        "reference pypto",
        str(found) + (" (MIXED with this one: reinstall)" if found.same_folder else "") if found else "not installed",
    )
    yield "torch_npu", "installed" if real_torch_npu() else "not installed; `pypto run` provides a stand-in"
    yield "ASCEND_HOME_PATH", os.environ.get("ASCEND_HOME_PATH", "not set")


def _settings() -> Iterator[Fact]:
    """Environment variables that are set, and what they set."""
    names = {option.environment: option.key for option in TABLE.values() if option.environment in os.environ}
    for variable, key in names.items():
        yield variable, f"{os.environ[variable]} -> {key} = {options.current().get(key)}"
    if not names:
        yield "none", ""


_PARTS: dict[str, Callable[[], Iterator[Fact]]] = {
    "Software": _python,
    "Processor": _processor,
    "Threads": _threads,
    "Cache": _cache,
    "Neighbours": _neighbours,
    "Environment variables": _settings,
}
