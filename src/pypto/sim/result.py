"""What a run leaves: times, what was printed, findings."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pypto.chips.model import Chip
from pypto.cores.program import TileProgram
from pypto.errors.base import UserError
from pypto.sim.calls import where


class Event(NamedTuple):
    """An instruction on its pipe, ``start`` to ``end`` in cycles; ``iteration`` are the loop variables around it, by name."""

    start: float
    end: float
    core: str
    pipe: str
    operation: str
    text: str
    line: int
    iteration: dict[str, int]


class Gap(NamedTuple):
    """Cycles in which a pipe had work and stood still. ``reason`` says for what, ``line`` where that is in the source (0: nowhere)."""

    start: float
    end: float
    core: str
    pipe: str
    reason: str
    line: int


@dataclass
class Simulation:
    """Result of ``simulate``. ``trace`` and ``waits`` are made from compact records when they are first asked for.

    ``cycles``: until the last effect of the last block. ``printed``: what the kernel printed, in order of simulated time.
    ``unpriced``: rates that the chip file does not have (the default rate stood in). ``findings``: what ``check="collect"`` found.
    """

    program: TileProgram = field(repr=False)
    chip: Chip = field(repr=False)
    cycles: float = 0.0
    blocks: int = 1
    printed: str = ""
    unpriced: dict[str, int] = field(default_factory=dict)
    findings: list[UserError] = field(default_factory=list)
    records: list[tuple] = field(default_factory=list, repr=False)
    gaps: list[tuple] = field(default_factory=list, repr=False)
    lanes: list[Any] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        """The text report: cycles, busy share of every pipe, bubbles and what they wait for."""
        from pypto.sim.summary import summary  # reads this module

        return summary(self)

    def save(self, path: str | Path) -> Path:
        """Writes the run: ``.html`` is the timeline page (opens offline), ``.json`` for Perfetto, ``.svg`` a picture, else text."""
        from pypto.sim.picture import picture  # reads this module
        from pypto.sim.timeline import page, perfetto

        target = Path(path)
        writers = {".html": page, ".svg": picture, ".json": lambda run: json.dumps(perfetto(run))}
        target.write_text(writers.get(target.suffix, str)(self), encoding="utf-8")
        return target

    @property
    def microseconds(self) -> float:
        return self.chip.microseconds(self.cycles)

    @cached_property
    def trace(self) -> list[Event]:
        """Every instruction that took time, in order of start."""
        found = [_event(*record) for record in self.records]
        return sorted(found, key=lambda event: event.start)

    @cached_property
    def waits(self) -> list[Gap]:
        """Every bubble, in order of start."""
        return sorted((_gap(*record) for record in self.gaps), key=lambda gap: gap.start)

    @property
    def utilisation(self) -> dict[tuple[str, str], float]:
        """Busy share of every pipe that worked, by (core, pipe)."""
        return {lane: cycles / self.cycles for lane, cycles in self.busy.items() if self.cycles}

    @property
    def busy(self) -> dict[tuple[str, str], float]:
        """Busy cycles of every pipe that worked, by (core, pipe)."""
        return {(lane.core, lane.pipe): lane.busy for lane in self.lanes if lane.busy}


def _event(start: float, end: float, lane: Any, site: Any, iteration: tuple) -> Event:
    named = dict(zip(site.loops, iteration, strict=True))
    line = site.place.line if site.place else 0
    return Event(start, end, lane.core, lane.pipe, site.operation, repr(site), line, named)


def _gap(start: float, end: float, lane: Any, cause: Any) -> Gap:
    if isinstance(cause, str):
        return Gap(start, end, lane.core, lane.pipe, "the scalar unit to issue", 0)
    site, core, iteration = cause
    line = site.place.line if site.place else 0
    return Gap(start, end, lane.core, lane.pipe, f"{site.operation} of {where(site, core, iteration)}", line)
