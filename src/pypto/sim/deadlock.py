"""Nothing can run any more: who waits for whom, round the circle or to somebody who is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pypto.errors.simulation import Deadlock
from pypto.sim.calls import Call
from pypto.sim.pipes import Pipe
from pypto.sim.signals import Barrier, Counter, Mutex, UnitFlag
from pypto.sim.steps import lock, phase_ends, set_cross_core, set_flag, unlock
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


def explain(units: list[Unit]) -> Deadlock:
    """The error for a machine that stands still."""
    waits = {id(wait.queue): wait for wait in _waits(units)}
    chain, circle = _follow(waits)
    shown = chain + [wait for wait in waits.values() if wait not in chain]
    names = ", ".join(dict.fromkeys(wait.queue.name for wait in chain))
    first = chain[0]
    summary = f"{names} wait for each other in a circle" if len(chain) > 1 else _alone(first)
    return Deadlock(
        span=first.call.site.place if first.call else None,
        summary=summary,
        notes=tuple(wait.text for wait in shown),
        advice=_advice(circle),
    )


def _alone(wait: Wait) -> str:
    if wait.suppliers:
        return f"{wait.queue.name} waits for {wait.need}, which it must give itself"
    return f"{wait.queue.name} waits for {wait.need}, and nothing gives it any more"


def _advice(circle: bool) -> str:
    if circle:
        return "change the order in which one of them waits and sets, or give the first turn away before the loop"
    return "add the missing set or unlock, on every path that reaches it, or drop the wait"


def _follow(waits: dict[int, Wait]) -> tuple[list[Wait], bool]:
    """Somebody whom nobody serves where there is one, else a circle of waits."""
    circle: list[Wait] = []
    for start in waits.values():
        chain = [start]
        while True:
            following = [waits[id(one)] for one in chain[-1].suppliers if id(one) in waits]
            if not following:
                return chain[-1:], False
            if following[0] in chain:
                circle = circle or chain[chain.index(following[0]) :]
                break
            chain.append(following[0])
    return circle, True


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
        final = "store with STPhase.Final" if stuck.full else "product with AccPhase.Final"
        return f"{state} accumulator at 0x{stuck.address:X} (a {final})", _turners(stuck, pipe)
    return "something", []


def _turners(stuck: UnitFlag, waiting: Pipe) -> list[Any]:
    """The queue in which the last phase of the accumulator stands; else the scalar unit, if that may still issue it."""
    unit = stuck.unit
    others = [one for one in unit.pipes.values() if one is not waiting]
    found = [one for one in others if any(phase_ends(call, stuck) for call in one.queue)]
    return found or ([] if unit.finished else [unit.scalar])


def _mutex_need(mutex: Mutex, units: list[Unit]) -> tuple[str, list[Any]]:
    holder = mutex.holder
    if holder is None or mutex.held is None:
        return f"buffer token {mutex.number}", _next_owner(mutex)
    return f"buffer token {mutex.number}, held since {holder.short}", _givers(mutex.held, mutex)


def _next_owner(mutex: Mutex) -> list[Any]:
    """The queue whose turn it is to take the token."""
    pipes = [*mutex.unit.pipes.values(), mutex.unit.scalar]
    turn = (mutex, mutex.serving)
    return [pipe for pipe in pipes for call in pipe.queue if call.site.step is lock and turn in call.tickets]


def _givers(pipe: Pipe, mutex: Mutex) -> list[Any]:
    """The holder, if it still gives the token back before any further lock; the scalar unit, if that may yet tell it to."""
    for call in pipe.queue:
        if call.site.step is unlock and mutex in call.tickets:
            return [pipe]
        if call.site.step is lock and any(one is mutex for one, _ in call.tickets):
            return []
    unit = pipe.unit
    return [] if unit.finished or isinstance(unit.paused, Pipe) and unit.paused is not unit.scalar else [unit.scalar]


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
    return False
