"""What queues wait for: flags and cross-core counters, buffer tokens, unit flags, the barrier of all cores."""

from __future__ import annotations

from collections import deque
from typing import Any

from pypto.sim.calls import Call
from pypto.sim.clocks import Release


class Counter:
    """Sets that wait to be taken, oldest first: a flag inside a core (holds one), a cross-core event (holds fifteen).

    ``label`` names it in reports, ``setter`` who is expected to set it. Whether it may hold more than ``limit`` is judged by order,
    not by what happened this time: set number n must be behind the wait for number n - limit.
    """

    __slots__ = ("label", "limit", "posted", "report", "setter", "taken", "tokens", "waiter")

    def __init__(self, label: str, setter: str, limit: int, report: Any) -> None:
        self.label, self.setter, self.limit, self.report = label, setter, limit, report
        self.tokens: deque[Release] = deque()
        self.taken: deque[tuple[int, int]] = deque()  # queue and epoch of waits that no later set has relied on
        self.posted = 0
        self.waiter: Any = None

    def watch(self, pipe: Any, call: Call) -> None:
        """Checks that this set cannot come too early."""
        self.posted += 1
        if self.posted <= self.limit or not pipe.machine.watched:
            return
        if self.taken:
            index, epoch = self.taken.popleft()
            if pipe.clock[index] >= epoch:
                return
        self.report.too_many(call, self)

    def post(self, token: Release) -> None:
        self.tokens.append(token)
        if self.waiter is not None:
            waiter, self.waiter = self.waiter, None
            waiter.wake()

    def make_wait(self, pipe: Any) -> bool:
        self.waiter = pipe
        return pipe.wait_for(self)

    def take(self, pipe: Any) -> None:
        if pipe.machine.watched:
            self.taken.append((pipe.index, pipe.epoch))
        pipe.acquire(self.tokens.popleft())


class Mutex:
    """A buffer token. Locks take numbers when the scalar unit issues them, and get the token in that order.

    ``held`` is the pipe that has it (``holder`` the call that took it), ``last`` its last release.
    """

    __slots__ = ("held", "holder", "last", "next", "number", "serving", "unit", "waiters")

    def __init__(self, unit: Any, number: int) -> None:
        self.unit, self.number = unit, number
        self.next = self.serving = 0
        self.held: Any = None
        self.holder: Call | None = None
        self.last: Release | None = None
        self.waiters: dict[int, Any] = {}

    def ticket(self) -> tuple[Mutex, int]:
        """The next place in the row."""
        found = (self, self.next)
        self.next += 1
        return found

    def give_back(self, release: Release) -> None:
        self.last, self.held = release, None
        self.serving += 1
        waiter = self.waiters.pop(self.serving, None)
        if waiter is not None:
            waiter.wake()


class UnitFlag:
    """Whether the accumulator at ``address`` holds a finished product that nobody has taken."""

    __slots__ = ("address", "full", "last", "unit", "waiter", "waiting")

    def __init__(self, unit: Any, address: int) -> None:
        self.unit, self.address, self.full = unit, address, False
        self.last: Release | None = None
        self.waiter: Any = None
        self.waiting: Call | None = None

    def turn(self, full: bool, release: Release) -> None:
        self.full, self.last = full, release
        if self.waiter is not None:
            waiter, self.waiter = self.waiter, None
            waiter.wake()


class Barrier:
    """Where all cores of some kinds meet: ``expected`` of them, ``cycles`` after the last has come; all leave with what all knew."""

    def __init__(self, name: str, expected: int, cycles: float) -> None:
        self.name, self.expected, self.cycles = name, expected, cycles
        self.arrived: list[tuple[Any, Release]] = []

    def arrive(self, scalar: Any, call: Call) -> list[tuple[Any, Release]]:
        """All arrivals when this is the last one, else nothing. The calls then hold what their cores learn."""
        self.arrived.append((scalar, scalar.release(call)))
        if len(self.arrived) < self.expected:
            return []
        found, self.arrived = self.arrived, []
        last = max(release.time for _, release in found) + self.cycles
        learned = [release._replace(time=last) for _, release in found]
        for _, release in found:
            release.call.value = learned  # type: ignore[attr-defined]
        return found
