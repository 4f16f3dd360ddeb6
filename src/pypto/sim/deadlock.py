"""Nothing can run any more: who waits for whom, round the circle or to somebody who is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pypto.errors.simulation import Deadlock
from pypto.sim.calls import Call
from pypto.sim.pipes import Pipe
from pypto.sim.signals import Barrier, Counter, Mutex, UnitFlag
from pypto.sim.steps import set_cross_core, set_flag, unlock
from pypto.sim.units import DRAIN, Unit


@dataclass
class Wait:
    """A queue that stands still: its head (``call``), what that needs, and the queues that could bring it (none: nobody will)."""

    queue: Any
    call: Call | None
    need: str
    suppliers: list[Any]

    @property
    def text(self) -> str:
        turns = self.call.turns if self.call else ""
        line = f" at {self.call.line}" if self.call else ""
        if not self.suppliers:
            return f"{self.queue.name}{turns} waits for {self.need}, which nothing gives any more;{line}"
        names = " or ".join(dict.fromkeys(one.name for one in self.suppliers))
        return f"{self.queue.name}{turns} waits for {self.need}, which {names} must give;{line}"


def explain(machine: Any, units: list[Unit]) -> Deadlock:
    """The error for a machine that stands still."""
    waits = {id(wait.queue): wait for wait in _waits(units)}
    chain, circle = _follow(waits)
    shown = chain + [wait for wait in waits.values() if wait not in chain]
    names = ", ".join(dict.fromkeys(wait.queue.name for wait in chain))
    first = chain[0]
    summary = f"{names} wait for each other in a circle" if circle and len(chain) > 1 else _end_of_chain(chain)
    return Deadlock(
        span=first.call.site.place if first.call else None,
        summary=summary,
        notes=tuple(wait.text for wait in shown),
        advice=_advice(circle),
    )


def _end_of_chain(chain: list[Wait]) -> str:
    last = chain[-1]
    if last.suppliers:
        return f"{last.queue.name} waits for {last.need} that it must give itself"
    return f"{last.queue.name} waits for {last.need}, and nothing gives it any more"


def _advice(circle: bool) -> str:
    if circle:
        return "change the order in which one of them waits and sets, or give the first turn away before the loop"
    return "add the missing set or unlock, on every path that reaches it, or drop the wait"


def _follow(waits: dict[int, Wait]) -> tuple[list[Wait], bool]:
    """A circle of waits where there is one, else a chain to somebody whom nobody serves."""
    ends: list[list[Wait]] = []
    for start in waits.values():
        chain = [start]
        while True:
            following = [waits[id(one)] for one in chain[-1].suppliers if id(one) in waits]
            if not following:
                ends.append(chain)
                break
            if following[0] in chain:
                return chain[chain.index(following[0]) :], True
            chain.append(following[0])
    return min(ends, key=lambda chain: len(chain[-1].suppliers) * 100 + len(chain))[-1:], False


# -- who waits ----------------------------------------------------------------------------------------------------------------


def _waits(units: list[Unit]) -> Iterable[Wait]:
    queues = [pipe for unit in units for pipe in unit.pipes.values()]
    for pipe in queues:
        if pipe.queue:
            yield Wait(pipe, pipe.queue[0], *_need(pipe.stuck, pipe, units))
    for unit in units:
        if not unit.finished:
            yield _scalar_wait(unit, units)


def _scalar_wait(unit: Unit, units: list[Unit]) -> Wait:
    scalar = unit.scalar
    call = scalar.queue[0] if scalar.queue else None
    if unit.paused is scalar:
        return Wait(scalar, call, *_need(scalar.stuck, scalar, units))
    if unit.paused is DRAIN:
        return Wait(scalar, call, "its pipes to finish", [pipe for pipe in unit.pipes.values() if pipe.queue])
    if isinstance(unit.paused, Barrier):
        here = {scalar for scalar, _ in unit.paused.arrived}
        missing = [other.scalar for other in units if other.scalar not in here and not other.finished]
        return Wait(scalar, call, f"all cores to reach {unit.paused.name}", missing)
    last = unit.paused.queue[-1] if isinstance(unit.paused, Pipe) and unit.paused.queue else None
    return Wait(scalar, last, "room in the full queue", [unit.paused] if isinstance(unit.paused, Pipe) else [])


def _need(stuck: Any, pipe: Pipe, units: list[Unit]) -> tuple[str, list[Any]]:
    if isinstance(stuck, Counter):
        return stuck.label, _suppliers(units, stuck, _setters(units, stuck))
    if isinstance(stuck, Mutex):
        return _mutex_need(stuck, units)
    if isinstance(stuck, UnitFlag):
        state = "an empty" if stuck.full else "a finished"
        others = [one for one in stuck.unit.pipes.values() if one is not pipe and one.queue]
        needed = f"{state} accumulator at 0x{stuck.address:X} (phase)"
        return needed, others or ([] if stuck.unit.finished else [stuck.unit.scalar])
    return "something", []


def _mutex_need(mutex: Mutex, units: list[Unit]) -> tuple[str, list[Any]]:
    holder = mutex.holder
    held = f", held since {holder.short}" if holder is not None and mutex.held is not None else ""
    return f"buffer token {mutex.number}{held}", _suppliers(units, mutex, [mutex.unit])


def _setters(units: list[Unit], counter: Counter) -> list[Unit]:
    return [unit for unit in units if counter.setter.split(" of ", 1)[-1] == unit.name or counter.setter == unit.name]


def _suppliers(units: list[Unit], stuck: Any, setters: list[Unit]) -> list[Any]:
    """Queues in which the missing set or unlock stands; else the scalar units that might still issue it."""
    found = [pipe for unit in setters for pipe in unit.pipes.values() if any(_gives(call, stuck) for call in pipe.queue)]
    return found or [unit.scalar for unit in setters if not unit.finished]


def _gives(call: Call, stuck: Any) -> bool:
    if call.site.step is set_flag:
        return call.unit.flag(call) is stuck
    if call.site.step is set_cross_core:
        return stuck in call.unit.posted_to(call)
    return call.site.step is unlock and stuck in (call.tickets or ())
