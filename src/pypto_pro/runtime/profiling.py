"""``pypto profile``: every launch of a script with its report, and what other preloads would have taken.

``with profiling() as launches:`` collects a ``Launched`` per launch inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypto.errors.base import UserError
from pypto.sim.result import Simulation
from pypto_pro.pipeline.bound import bound
from pypto_pro.runtime.compilation import Compiled
from pypto_pro.runtime.running import CANDIDATES, cycles_of

_launches: ContextVar[list[Launched] | None] = ContextVar("pypto_pro_profile", default=None)


@dataclass
class Launched:
    """One launch. ``others``: simulated cycles by preload, for kernels with a pipeline, and their ``bound``: the slower core if it
    never waited for the other one. Preloads that are refused are left out."""

    kernel: str
    report: Simulation
    others: Mapping[int | str, float]

    def __str__(self) -> str:
        """The text report and, with a pipeline, a line per preload with its gain over the serial form."""
        if not self.others:
            return str(self.report)
        serial = self.others.get(0, self.report.cycles)
        lines = [f"{'preload':<10}{'cycles':>14}{'gain':>8}"]
        lines += [f"{preload:<10}{cycles:>14,.0f}{serial / cycles:>7.2f}x" for preload, cycles in self.others.items()]
        return str(self.report) + "\n\n" + "\n".join(lines)


@contextmanager
def profiling() -> Iterator[list[Launched]]:
    """Collects every launch inside the block."""
    found: list[Launched] = []
    token = _launches.set(found)
    try:
        yield found
    finally:
        _launches.reset(token)


def predictions(compile_for: Callable[[int], Compiled], values: Mapping[str, Any], block_dim: int) -> dict[int | str, float]:
    """Simulated cycles by preload on copies of the arguments, and the bound; nothing when no profile is being made."""
    found: dict[int | str, float] = {}
    if _launches.get() is None:
        return found
    for preload in CANDIDATES:
        with suppress(UserError):  # too deep for the slots, or too few event ids
            found[preload] = cycles_of(compile_for(preload), values, block_dim)
    with suppress(UserError):  # without events the data are nonsense; a kernel that branches on them may fail
        found["bound"] = bound(compile_for(0).program, values, block_dim).cycles
    return found


def note(kernel: str, report: Simulation, others: Mapping[int | str, float]) -> None:
    """Adds a launch to the profile that is being made."""
    launches = _launches.get()
    if launches is not None:
        launches.append(Launched(kernel, report, others))


def save(launches: list[Launched], folder: str | Path) -> list[Path]:
    """A timeline page and a Perfetto trace per launch: ``<number>_<kernel>.html`` and ``.json``."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    names = [f"{number:02d}_{one.kernel}" for number, one in enumerate(launches)]
    return [
        one.report.save(target / f"{name}{kind}")
        for name, one in zip(names, launches, strict=True)
        for kind in (".html", ".json")
    ]
