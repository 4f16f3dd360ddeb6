"""Cases: self-contained programs that define ``attempt()``, which calls a kernel and returns what it wrote.

The printed source of a finding is a script: running it with ``attempt()`` at the end shows the finding.
"""

from __future__ import annotations

import importlib.util
import random
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pypto.fuzz import calls, graphs, mistakes, standin, typed
from pypto.fuzz.grammar import LOG, ROWS, TABLE, WIDTH, kernel_source

ATTEMPT = f"""

def attempt(seed={{seed}}, n={{n}}):
    generator = np.random.default_rng(seed)
    x = generator.integers(-8, 9, ({ROWS}, {WIDTH})).astype(np.float32)
    table = generator.integers(-5, 10, {TABLE}).astype(np.int32)
    out = np.arange({ROWS * WIDTH}, dtype=np.float32).reshape({ROWS}, {WIDTH}) - 7
    log = -np.arange({LOG}, dtype=np.int32) - 1000
    kernel(x, table, out, log, n)
    return out, log
"""


@dataclass(frozen=True)
class Case:
    """``kind`` names the generator; ``located``: an error must show a source line; ``exact``: plain Python knows the result;
    ``valid``: there must be no error at all."""

    kind: str
    source: str
    located: bool = True
    exact: bool = False
    valid: bool = False


def nest(choose: random.Random) -> Case:
    """A valid loop nest, judged by plain Python."""
    tail = ATTEMPT.format(seed=choose.randint(0, 2**31), n=choose.randint(-3, 9))
    return Case("nest", "import numpy as np\n" + kernel_source(choose) + tail, exact=True, valid=True)


def graph(choose: random.Random) -> Case:
    """A valid graph of operations: it must run, and engines agree."""
    return Case("graph", graphs.graph(choose), valid=True)


def types(choose: random.Random) -> Case:
    """A valid graph over every element type: it must run, and engines agree to the bit. Some operations refuse empty tensors."""
    source = typed.typed(choose)
    return Case("types", source, valid=re.search(r"Tensor\(\[[^]]*\b0\b", source) is None)


def broken(choose: random.Random) -> Case:
    """A loop nest with one to three mistakes in it."""
    return Case("broken", mistakes.broken(choose, nest(choose).source))


def statement(choose: random.Random) -> Case:
    """A small kernel around an unusual statement."""
    return Case("statement", mistakes.statement(choose))


def indexing(choose: random.Random) -> Case:
    """Reading and writing with random keys."""
    return Case("indexing", mistakes.indexing(choose))


def operation(choose: random.Random) -> Case:
    """An operation with random operands, some of them wrong."""
    return Case("operation", calls.operation(choose))


def argument(choose: random.Random) -> Case:
    """A kernel called with random arguments."""
    return Case("argument", calls.argument(choose), located=False)


def option(choose: random.Random) -> Case:
    """Options and tile shapes with random names and values."""
    return Case("option", calls.option(choose), located=False)


KINDS: dict[str, tuple[Callable[[random.Random], Case], int]] = {
    "nest": (nest, 4),
    "graph": (graph, 5),
    "types": (types, 4),
    "broken": (broken, 4),
    "statement": (statement, 3),
    "indexing": (indexing, 3),
    "operation": (operation, 6),
    "argument": (argument, 3),
    "option": (option, 2),
}


def case(seed: int, number: int, kinds: tuple[str, ...] = ()) -> Case:
    """The case with this number of a run with this seed."""
    choose = random.Random(f"{seed}:{number}")
    named = kinds or tuple(KINDS)
    kind = choose.choices(named, [KINDS[k][1] for k in named])[0]
    return KINDS[kind][0](choose)


def load(source: str, directory: str | Path | None = None) -> ModuleType:
    """Import ``source`` from a file of its own, so that its lines can be found."""
    folder = Path(directory or tempfile.mkdtemp(prefix="pypto_fuzz_"))
    file = folder / f"case_{len(list(folder.iterdir()))}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_plain(source: str, **keywords: Any) -> Any:
    """What ``attempt`` returns when plain Python runs the kernel."""
    names: dict[str, Any] = {"__name__": "case"}
    with _standing_in():
        exec(compile(source, "<plain>", "exec"), names)
        return names["attempt"](**keywords)


class _standing_in:
    """``import pypto`` finds the stand-in inside the block."""

    def __enter__(self) -> None:
        self.real = sys.modules["pypto"]
        sys.modules["pypto"] = standin  # type: ignore[assignment]

    def __exit__(self, *error: object) -> None:
        sys.modules["pypto"] = self.real
