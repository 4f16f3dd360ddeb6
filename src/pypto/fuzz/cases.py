"""Arguments of generated kernels, and running one on an engine or in plain Python."""

from __future__ import annotations

import importlib.util
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pypto.fuzz import standin
from pypto.fuzz.grammar import LOG, ROWS, TABLE, WIDTH

Arguments = tuple[Any, ...]


def arguments(choose: random.Random) -> Arguments:
    """``x, table, out, log, n`` of small integers; ``out`` and ``log`` hold recognisable values that a kernel may read back."""
    generator = np.random.default_rng(choose.randint(0, 2**31))
    x = generator.integers(-8, 9, (ROWS, WIDTH)).astype(np.float32)
    table = generator.integers(-5, 10, TABLE).astype(np.int32)
    out = np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH) - 7
    log = -np.arange(LOG, dtype=np.int32) - 1000
    return x, table, out, log, choose.randint(-3, 9)


def copied(values: Arguments) -> Arguments:
    return tuple(v.copy() if isinstance(v, np.ndarray) else v for v in values)


def load(source: str, directory: str | None = None) -> ModuleType:
    """Import ``source`` from a file of its own, so that its lines can be found."""
    folder = Path(directory or tempfile.mkdtemp(prefix="pypto_fuzz_"))
    file = folder / f"case_{abs(hash(source)):x}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_plain(source: str, values: Arguments) -> Arguments:
    """Arguments after plain Python ran the kernel."""
    names: dict[str, Any] = {}
    exec(compile(source.replace("import pypto\n", "import pypto.fuzz.standin as pypto\n"), "<standin>", "exec"), names)
    after = copied(values)
    names["kernel"](*(standin.Tensor(data=v) if isinstance(v, np.ndarray) else v for v in after))
    return after


def run_engine(kernel: Callable[..., None], values: Arguments, engine: str) -> Arguments:
    """Arguments after ``kernel`` ran on ``engine``."""
    from pypto.fuzz.engines import on_engine

    after = copied(values)
    with on_engine(engine):
        kernel(*after)
    return after


def differences(expected: Arguments, got: Arguments) -> str:
    """Empty when equal bit for bit, else what differs first."""
    for position, (a, b) in enumerate(zip(expected, got, strict=True)):
        if isinstance(a, np.ndarray) and not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            where = tuple(int(i) for i in np.argwhere(~((a == b) | ((a != a) & (b != b))))[0])
            return f"argument {position} at {where}: expected {a[where]}, got {b[where]}"
    return ""
