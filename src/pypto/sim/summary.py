"""A run in words: cycles, how busy every pipe was, what the bubbles waited for, which side bounds it."""

from __future__ import annotations

from collections import defaultdict

from pypto.sim.result import Simulation

SHOWN_WAITS = 8
CUBE_PIPES = frozenset({"MTE1", "M", "FIX"})


def summary(simulation: Simulation) -> str:
    """The text report of a run.

    Lines: total cycles and microseconds; a table of pipes (busy share, busy cycles, cycles spent waiting, instructions); the largest
    reasons of bubbles; the pipe that bounds the run; what the chip file could not price.
    """
    parts = [_headline(simulation), *_pipes(simulation), *_bubbles(simulation), *_bound(simulation), *_unpriced(simulation)]
    return "\n".join(parts)


def _headline(simulation: Simulation) -> str:
    blocks = "1 block" if simulation.blocks == 1 else f"{simulation.blocks} blocks"
    cycles, microseconds = f"{simulation.cycles:,.0f} cycles", f"{simulation.microseconds:,.2f} µs"
    return f"{simulation.program.name} on {simulation.chip.name}: {cycles} = {microseconds}, {blocks}"


def _pipes(simulation: Simulation) -> list[str]:
    waiting: dict[tuple[str, str], float] = defaultdict(float)
    count: dict[tuple[str, str], int] = defaultdict(int)
    for gap in simulation.waits:
        waiting[gap.core, gap.pipe] += gap.end - gap.start
    for event in simulation.trace:
        count[event.core, event.pipe] += 1
    lines = ["", f"{'pipe':<14}{'busy':>8}{'cycles':>14}{'waits':>14}{'instructions':>14}"]
    for (core, pipe), busy in simulation.busy.items():
        share = busy / simulation.cycles if simulation.cycles else 0.0
        lane = (core, pipe)
        lines.append(f"{core + ' ' + pipe:<14}{share:>8.1%}{busy:>14,.0f}{waiting[lane]:>14,.0f}{count[lane]:>14,}")
    return lines


def _bubbles(simulation: Simulation) -> list[str]:
    reasons: dict[tuple[str, str, str, int], float] = defaultdict(float)
    for gap in simulation.waits:
        reason = gap.reason.split(",")[0]  # of every iteration
        reasons[gap.core, gap.pipe, reason, gap.line] += gap.end - gap.start
    largest = sorted(reasons.items(), key=lambda item: -item[1])[:SHOWN_WAITS]
    if not largest:
        return []
    lines = ["", "bubbles, largest first"]
    for (core, pipe, reason, line), cycles in largest:
        where = f" (line {line})" if line else ""
        lines.append(f"{cycles:>12,.0f} cycles  {core} {pipe} waits for {reason}{where}")
    return lines


def _bound(simulation: Simulation) -> list[str]:
    if not simulation.busy or not simulation.cycles:
        return []
    (core, pipe), busy = max(simulation.busy.items(), key=lambda item: item[1])
    side = "cube" if pipe in CUBE_PIPES or core.startswith("AIC") else "vector"
    share = busy / simulation.cycles
    return ["", f"bound by the {side} side: {core} {pipe} is busy for {share:.1%} of the time"]


def _unpriced(simulation: Simulation) -> list[str]:
    if not simulation.unpriced:
        return []
    names = ", ".join(f"{name} ({times}x)" for name, times in sorted(simulation.unpriced.items()))
    return ["", f"priced by the default rate, the chip file has none: {names}"]
