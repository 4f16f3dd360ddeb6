"""A run as pictures: Perfetto JSON for trace viewers, and one HTML page that opens without a network.

>>> from pypto.sim.timeline import lanes_of
>>> from pypto.sim.result import Gap
>>> lanes_of([], [Gap(0, 1, core, pipe, "", 0) for core, pipe in [("AIV1", "V"), ("AIC", "M"), ("AIC", "MTE2")]])
[('AIC', 'MTE2'), ('AIC', 'M'), ('AIV1', 'V')]
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

from pypto.sim.result import Event, Gap, Simulation
from pypto.sim.summary import summary

PIPE_ORDER = ("S", "MTE2", "MTE1", "M", "FIX", "V", "MTE3")  # the way data go
WAIT = 1


def lanes_of(events: Sequence[Event], gaps: Sequence[Gap]) -> list[tuple[str, str]]:
    """(core, pipe) once each: cores by number, pipes the way data go."""
    pairs = {(event.core, event.pipe) for event in events} | {(gap.core, gap.pipe) for gap in gaps}
    return sorted(pairs, key=lambda lane: (_numbers_apart(lane[0]), PIPE_ORDER.index(lane[1])))


def _numbers_apart(text: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _turns(event: Event) -> str:
    return ", ".join(f"{name}={value}" for name, value in event.iteration.items())


def _detail(event: Event) -> str:
    return "\n".join(part for part in (event.text, f"line {event.line}" if event.line else "", _turns(event)) if part)


# ------------------------------------------------------------------------------------------------------------- perfetto


def perfetto(simulation: Simulation) -> dict[str, Any]:
    """The run in the trace event format (open it at ui.perfetto.dev or chrome://tracing); times in microseconds of the chip's clock."""
    events, gaps = simulation.trace, simulation.waits
    lanes = lanes_of(events, gaps)
    cores = list(dict.fromkeys(core for core, _ in lanes))
    process = {core: number for number, core in enumerate(cores)}
    thread = {lane: number for number, lane in enumerate(lanes)}
    found: list[dict[str, Any]] = [_named("process_name", process[core], 0, core) for core in cores]
    found += [_named("thread_name", process[core], thread[core, pipe], pipe) for core, pipe in lanes]
    clock = simulation.chip.microseconds
    for event in events:
        place = {"pid": process[event.core], "tid": thread[event.core, event.pipe]}
        known = {"text": event.text, "line": event.line, **event.iteration}
        found.append({**place, **_span(event, clock), "name": event.operation, "cat": "instruction", "args": known})
    for gap in gaps:
        place = {"pid": process[gap.core], "tid": thread[gap.core, gap.pipe]}
        found.append({**place, **_span(gap, clock), "name": f"waits for {gap.reason}", "cat": "wait", "args": {"line": gap.line}})
    return {
        "traceEvents": found,
        "displayTimeUnit": "ns",
        "otherData": {"kernel": simulation.program.name, "chip": simulation.chip.name},
    }


def _span(one: Event | Gap, microseconds: Callable[[float], float]) -> dict[str, Any]:
    return {"ph": "X", "ts": microseconds(one.start), "dur": microseconds(one.end - one.start)}


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


# ----------------------------------------------------------------------------------------------------------------- page


class _Words:
    """Each text once; events carry numbers."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def page(simulation: Simulation) -> str:
    """One self-contained HTML page: a lane per pipe, instructions and bubbles with their reasons, the text report below."""
    events, gaps = simulation.trace, simulation.waits
    lanes = lanes_of(events, gaps)
    number = {lane: position for position, lane in enumerate(lanes)}
    names, details = _Words(), _Words()
    rows = [_row(number, names, details, one) for one in events]
    rows += [_row(number, names, details, one) for one in gaps]
    data = {
        "title": f"{simulation.program.name} on {simulation.chip.name}",
        "facts": f"{simulation.cycles:,.0f} cycles, {simulation.microseconds:,.2f} µs, {simulation.blocks} block(s)",
        "cycles": simulation.cycles,
        "lanes": [f"{core} {pipe}" for core, pipe in lanes],
        "names": list(names.numbers),
        "details": list(details.numbers),
        "events": rows,
        "report": summary(simulation),
    }
    text = files("pypto.sim").joinpath("page/timeline.html").read_text(encoding="utf-8")
    title = html.escape(data["title"])  # type: ignore[arg-type]
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no text of a kernel ends the script
    return text.replace("<title>timeline</title>", f"<title>{title}</title>").replace("__DATA__", embedded)


def _row(number: dict[tuple[str, str], int], names: _Words, details: _Words, one: Event | Gap) -> list[float]:
    if isinstance(one, Event):
        name, kind, detail = one.operation, 0, _detail(one)
    else:
        name, kind, detail = one.reason, WAIT, f"line {one.line}" if one.line else ""
    return [
        number[one.core, one.pipe],
        round(one.start, 1),
        round(one.end, 1),
        names.number(name),
        kind,
        details.number(detail),
    ]
