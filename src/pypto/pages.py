"""The documentation pages (and the stub) that follow from tables. ``scripts/pages.py`` writes them; a test keeps them current."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import tempfile
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

GENERATED = "<!-- Written by scripts/pages.py from the tables of the package; edit those. -->\n"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").replace("](", "]\\(")  # brackets of kernels are no links


def _table(head: tuple[str, ...], rows: Iterator[tuple[Any, ...]] | list[tuple[Any, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(map(_cell, row))} |" for row in rows])


# -- options -------------------------------------------------------------------------------------------------------------------

FAMILIES = {
    "run": "Who computes, and how careful it is. Ours.",
    "cpu": "The CPU engine. Ours.",
    "runtime": "Launching.",
    "host": "Compiling.",
    "pass": "Partitioning and scheduling of the NPU model.",
    "codegen": "NPU code generation.",
    "verify": "Comparison with golden data.",
    "debug": "Debugging aids of the NPU tool chain.",
    "operation": "Operations.",
    "global": "Global configuration, for `pypto.get_global_config(key)` and `pypto.set_global_config(key, value)`.",
}

_OPTIONS_HEAD = """# Options

Every option has a name `family.key`, and is set in any of these ways; the innermost wins:

```python
import pypto

pypto.set_run_options(engine="cpu")  # here and from now on, in this thread
with pypto.options(run_options={"engine": "reference"}, cpu_options={"threads": 1}):  # inside the block
    assert pypto.get_run_options()["engine"] == "reference"


@pypto.options(run_options={"strict": True})  # during every call
def careful():
    return pypto.get_run_options()["strict"]


assert careful() and not pypto.get_run_options()["strict"]
```

`@pypto.frontend.jit(run_options={...})` sets options of one kernel, an environment variable those of one process. Variables are
read when the first option is asked for, and again by `pypto.reset_options()`. Values are checked where they are set.

Settings made outside any `with` belong to their thread; a new thread starts with those of the main thread. Options marked *kept*
are checked and returned by their getters, and change nothing on the CPU.
"""


def options_page() -> str:
    from pypto.options.table import ACTIVE, TABLE

    parts = [GENERATED, _OPTIONS_HEAD]
    for family, text in FAMILIES.items():
        rows = [row for row in TABLE.values() if row.family == family]
        parts.append(f"\n## {family}\n\n{text}\n")
        parts.append(
            _table(
                ("key", "type", "default", "range", "environment", "meaning"),
                [
                    (
                        f"`{row.name}`",
                        row.kind,
                        f"`{row.default!r}`",
                        row.range,
                        f"`{row.environment}`" if row.environment else "",
                        row.meaning + ("" if row.effect == ACTIVE else " *(kept)*"),
                    )
                    for row in rows
                ],
            )
            + "\n"
        )
    return "\n".join(parts)


# -- errors --------------------------------------------------------------------------------------------------------------------

_ERRORS_HEAD = """# Errors

Every mistake that user code can make is one class. Its text begins with `ErrCode: F00002, ValueError: …`: the code that the
reference uses where it has one, and the builtin exception that the class also is, so that both `except ValueError` and
`except pypto.error.FeError` catch it. Then come your line with a caret, the calls that led there, and help.
`pypto explain F00002`, or `pypto explain` with a class's name, says more.

A defect of openpypto itself is `pypto.InternalError`. It names the step, and the file that the program was saved to.
"""


def errors_page() -> str:
    from pypto.errors.base import builtin_of
    from pypto.errors.explain import catalogue, family, plain
    from pypto.errors.explained import elsewhere, explanations

    parts = [GENERATED, _ERRORS_HEAD, "\n## The classics\n"]
    for one in explanations():
        parts.append(f"### {', '.join(one.classes)}\n\n{one.text}\n")
        parts.append(f"Wrong:\n\n```py\n{one.wrong}```\n\nRight:\n\n```py\n{one.right}```\n")
    parts.append("## Codes seen elsewhere\n\n" + "\n".join(f"* `{code}` {text}" for code, text in elsewhere().items()) + "\n")
    for name, classes in groupby(sorted(catalogue(), key=lambda c: (family(c), c.code, c.__name__)), key=family):
        rows = [(f"`{c.code:X}`", f"`{c.__name__}`", builtin_of(c), plain(c.message), plain(c.help or "")) for c in classes]
        parts.append(f"## {name}\n\n{_table(('code', 'class', 'is a', 'message', 'help'), rows)}\n")
    return "\n".join(parts)


# -- coverage ------------------------------------------------------------------------------------------------------------------

_COVERAGE_HEAD = """# Coverage

Which engine runs each operation: *native* operations are compiled, *reference* ones are computed by numpy when a compiled kernel
comes to them, *planned* ones are documented names that do not exist yet (asking for one says so).
"""


def coverage_page() -> str:
    from pypto.coverage import compiled_types, rows

    found = rows()
    counts = ", ".join(f"{sum(r.engine == e for r in found)} {e}" for e in ("native", "reference", "planned"))
    types = f"Native for the element types {', '.join(compiled_types())}; the reference computes with others.\n"
    table = _table(
        ("operation", "kind", "engine", "element types", "what it does"),
        [(f"`{r.name}`", r.kind, r.engine, " ".join(r.dtypes), r.summary) for r in found],
    )
    return "\n".join([GENERATED, _COVERAGE_HEAD, f"{counts}.\n", types, table, ""])


# -- the stub ------------------------------------------------------------------------------------------------------------------

_STUB_HEAD = """# Written by scripts/pages.py: names that pypto fetches from their rooms on demand, for editors and type checkers.
import enum as enum
from typing import Any

from pypto import error as error, experimental as experimental, frontend as frontend, logging as logging
from pypto import pypto_impl as pypto_impl, runtime as runtime, testing as testing
from pypto.scoping import options as options
from pypto.version import __version__ as __version__
"""


def stub() -> str:
    """``pypto/__init__.pyi``."""
    from pypto.dtypes import DataType
    from pypto.ops.table import OPERATIONS
    from pypto.public import ALIASES, HOME_OF, RENAMED

    homes = {name: (module, name) for name, module in HOME_OF.items()} | RENAMED
    homes |= {name: (row.function.__module__, row.function.__name__) for name, row in OPERATIONS.items() if name not in homes}
    lines = [
        f"from {module} import {original} as {name}"
        for name, (module, original) in sorted(homes.items(), key=lambda i: (i[1], i[0]))
    ]
    lines += ["", *(f"{alias} = {name}" for alias, name in ALIASES.items())]
    lines += [f"{name} = DataType.{name}" for name in DataType.__members__]
    return "\n".join([_STUB_HEAD, *lines, "", "def __getattr__(name: str) -> Any: ...", ""])


# -- pictures ------------------------------------------------------------------------------------------------------------------

TILES = Path(__file__).resolve().parents[2] / "docs" / "tiles.md"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def tiles_picture() -> str:
    """The timeline of the kernel on the page about tiles, run as the page runs it."""
    from pypto.sim.picture import picture

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tiles.py"
        file.write_text("\n".join(PYTHON.findall(TILES.read_text(encoding="utf-8"))[:2]), encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            names = runpy.run_path(str(file))
    return picture(names["kernel"].last_report)


PAGES: dict[str, Callable[[], str]] = {
    "docs/options.md": options_page,
    "docs/errors.md": errors_page,
    "docs/coverage.md": coverage_page,
    "docs/tiles_timeline.svg": tiles_picture,
    "src/pypto/__init__.pyi": stub,
}
