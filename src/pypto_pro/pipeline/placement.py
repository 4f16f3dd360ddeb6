"""Where every set and wait goes, with exactly as many waits as sets.

A signal without offset is set after the producing stage and waited for before the consuming one, once per iteration. A signal with an
offset of n iterations is also set n times before the loop, by the core that will set it later (the first n writers find their tiles
free), and waited for n times after the loop (nobody wants the last n releases any more).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto_pro.pipeline.events import Signal
from pypto_pro.pipeline.structure import StageCall


@dataclass
class Placement:
    """Signals by stage, and those before and after the loop by core, in the order in which they are written down."""

    waits: dict[StageCall, list[Signal]] = field(default_factory=dict)
    sets: dict[StageCall, list[Signal]] = field(default_factory=dict)
    prefire: dict[str, list[Signal]] = field(default_factory=dict)
    drain: dict[str, list[Signal]] = field(default_factory=dict)


def place(signals: list[Signal]) -> Placement:
    """The sites of all signals of a loop."""
    found = Placement()
    for signal in signals:
        source, target = signal.edge.source.stage, signal.edge.target.stage
        found.sets.setdefault(source, []).append(signal)
        found.waits.setdefault(target, []).append(signal)
        if signal.edge.offset:
            found.prefire.setdefault(source.core, []).append(signal)
            found.drain.setdefault(target.core, []).append(signal)
    return found
