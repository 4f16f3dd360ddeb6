"""Pipes: in-order queues of one core, and the scalar unit, which is a pipe that issues to the others.

A call is stepped as soon as it is at the head and what it waits for is there. Time rides along: when a call starts follows from
when the queue is free, when it was issued and when what it waited for happened, so the order in which the simulator steps does not
matter to it. ``done`` is when all work so far has taken effect, ``free`` when the next call may start (a transfer that is on its way
does not hold its queue).
"""

from __future__ import annotations

from collections import deque
from typing import Any

from pypto.cores.enums import PipeType
from pypto.sim.calls import Call, Site
from pypto.sim.clocks import ALWAYS, Clock, Release, joined, new_clock


class Lane:
    """What the trace keeps of a queue: whose it is, and the cycles it worked. Holds nothing of the machine."""

    __slots__ = ("busy", "core", "pipe")

    def __init__(self, core: str, pipe: str) -> None:
        self.core, self.pipe, self.busy = core, pipe, 0.0


class Pipe:
    """A queue of one core. ``stuck`` is what its head waits for; ``cause`` the call that ``after`` (the earliest start) is due to."""

    __slots__ = (
        "after",
        "cause",
        "clock",
        "depth",
        "done",
        "epoch",
        "free",
        "index",
        "kind",
        "known",
        "lane",
        "machine",
        "queue",
        "starts",
        "stuck",
        "timed",
        "unit",
    )

    def __init__(self, unit: Any, kind: PipeType, index: int, queues: int) -> None:
        self.unit, self.kind, self.index, self.machine = unit, kind, index, unit.machine
        self.queue: deque[Call] = deque()
        self.stuck: Any = None
        self.timed: bool = self.machine.timed
        self.depth: int = self.machine.chip.queue_depth
        self.starts: deque[float] = deque(maxlen=self.depth)
        self.free = self.done = self.after = self.machine.now
        self.cause: Call | None = None
        self.lane = Lane(unit.name, kind.name)
        self.epoch = 1
        self.clock = new_clock(queues)
        if kind is not PipeType.MTE2:
            self.clock[index] = ALWAYS
        self.known: Any = None

    @property
    def name(self) -> str:
        return f"{self.kind.name} of {self.unit.name}"

    # -- issue and step -------------------------------------------------------------------------------------------------------

    def issue(self, site: Site, operands: Any, attributes: Any, iteration: tuple, tickets: Any = None) -> bool:
        """Takes a call from the scalar unit, and steps it at once where nothing is before it. True: the scalar unit pauses."""
        unit, machine, queue = self.unit, self.machine, self.queue
        unit.turns = 0
        call = Call(site, operands, attributes, unit, iteration, unit.scalar.told)
        call.tickets = tickets
        if self.timed:
            starts = self.starts
            if len(starts) == self.depth and starts[len(queue)] > unit.now:
                unit.now = starts[len(queue)]
            unit.now = call.issued = unit.now + machine.issue_cycles
        if machine.shuffled:
            queue.append(call)
            machine.ready[self] = True
            return unit.pause(self if len(queue) >= self.depth else None)
        if queue or not site.step(self, call):
            queue.append(call)
            if len(queue) >= self.depth:
                return unit.pause(self)
        if machine.woken:
            machine.settle()
        return False

    def drain(self) -> None:
        """Steps from the head on until something is not there yet."""
        queue = self.queue
        while queue and queue[0].site.step(self, queue[0]):
            queue.popleft()
        self.unit.drained(self)

    def one_step(self) -> bool:
        """Steps the head only; False when it is stuck."""
        queue = self.queue
        if not queue[0].site.step(self, queue[0]):
            return False
        queue.popleft()
        self.unit.drained(self)
        return True

    def wait_for(self, what: Any) -> bool:
        """Notes what the head waits for. Always False: it did not happen."""
        self.stuck = what
        return False

    def wake(self) -> None:
        """What the head waits for is there now."""
        self.stuck = None
        if self.machine.shuffled:
            self.machine.ready[self] = True
        else:
            self.machine.woken.append(self)

    # -- order ----------------------------------------------------------------------------------------------------------------

    def begin(self, call: Call) -> None:
        """The call has its turn: all that the scalar unit knew when it issued it is known now."""
        if call.known is not self.known:
            self.known = call.known
            self.clock = joined(self.clock, *call.known)
        if self.timed:
            self.starts.append(max(self.free, self.after, call.issued))

    def release(self, call: Call) -> Release:
        """All before is over when the release happens."""
        found = Release(max(self.done, self.after, call.issued), self.index, self.epoch, self.clock, call)
        self.epoch += 1
        return found

    def acquire(self, release: Release) -> None:
        """Later calls start behind the release, and know what it knew."""
        if release.time > self.after:
            self.after, self.cause = release.time, release.call  # type: ignore[assignment]
        self.clock = joined(self.clock, release.queue, release.epoch, release.clock)

    def barrier(self) -> None:
        """Later calls start when all before is done; for MTE2 that is news to its own clock."""
        if self.done > self.after:
            self.after, self.cause = self.done, None
        if self.kind is PipeType.MTE2:
            self.clock = self.clock.copy()
            self.clock[self.index] = self.epoch
            self.epoch += 1

    # -- time -----------------------------------------------------------------------------------------------------------------

    def spend(self, call: Call, cycles: float, latency: float) -> None:
        """Books a call: it holds the queue for ``cycles`` and has its effect ``latency`` later."""
        start: float = self.free
        cause: Any = None
        if call.issued > start:
            start, cause = call.issued, "issue"
        if self.after > start:
            start, cause = self.after, self.cause
        if start > self.free and cause is not None:
            told = cause if isinstance(cause, str) else (cause.site, cause.unit.name, cause.iteration)
            self.machine.gaps.append((self.free, start, self.lane, told))
        self.free = end = start + cycles
        self.lane.busy += cycles
        if end + latency > self.done:
            self.done = end + latency
        if self.kind is PipeType.MTE2:  # the bar shows when the bytes arrive
            self.machine.trace.append((start + latency, end + latency, self.lane, call.site, call.iteration))
        else:
            self.machine.trace.append((start, end, self.lane, call.site, call.iteration))


class ScalarUnit(Pipe):
    """The scalar unit of a core as a pipe: it never queues, it stands still. ``told`` is what it hands to every call it issues."""

    __slots__ = ("told",)

    def __init__(self, unit: Any, index: int, queues: int) -> None:
        super().__init__(unit, PipeType.S, index, queues)
        self.told: tuple[int, int, Clock] = (index, 0, self.clock)

    def call(self, site: Site, operands: Any, attributes: Any, iteration: tuple, tickets: Any = None) -> Call:
        """A call on the scalar unit, not done yet."""
        call = Call(site, operands, attributes, self.unit, iteration, self.known)
        call.tickets = tickets
        call.issued = self.unit.now
        return call

    def pending(self, call: Call) -> bool:
        """Tries a call; True while it has to wait."""
        if not call.site.step(self, call):
            self.queue.clear()
            self.queue.append(call)
            return self.unit.pause(self)
        self.queue.clear()
        self.told = (self.index, self.epoch - 1, self.clock)
        if self.machine.woken:
            self.machine.settle()
        return False

    def wake(self) -> None:
        self.stuck = None
        self.unit.resume()

    def begin(self, call: Call) -> None:
        """It is the one that knows."""

    def touched(self) -> None:
        """The scalar unit accessed a memory: what it issues next is behind it."""
        self.epoch += 1

    def release(self, call: Call) -> Release:
        found = Release(self.unit.now, self.index, self.epoch, self.clock, call)
        self.epoch += 1
        return found

    def acquire(self, release: Release) -> None:
        unit = self.unit
        if release.time > unit.now:
            if self.timed:
                told = (release.call.site, release.call.unit.name, release.call.iteration)
                self.machine.gaps.append((unit.now, release.time, self.lane, told))
            unit.now = release.time
        self.epoch += 1  # what it issues from now on knows more
        self.clock = joined(self.clock, release.queue, release.epoch, release.clock)

    def spend(self, call: Call, cycles: float, latency: float) -> None:
        unit = self.unit
        start = unit.now
        if not cycles:
            return
        unit.now = self.free = self.done = start + cycles
        self.lane.busy += cycles
        self.machine.trace.append((start, unit.now, self.lane, call.site, call.iteration))
