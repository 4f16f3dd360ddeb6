"""Cores × pipes: who runs next, until nothing can.

By default a call is stepped as soon as it can be, which is fast; time does not depend on that order (``pipes``). With a seed the machine
waits with every call and picks by priorities that change at random, so that queues run far ahead of one another.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from pypto.chips.model import Chip
from pypto.cores.enums import CoreType, CrossCoreSyncMode, MemorySpace, SyncCoreType
from pypto.cores.program import CoreProgram, Instruction, TileProgram, walk
from pypto.cores.types import Struct
from pypto.errors.base import InternalError
from pypto.errors.simulation import TooManyBlocks
from pypto.sim.arguments import GlobalMemory
from pypto.sim.calls import Call
from pypto.sim.deadlock import explain
from pypto.sim.groups import Group, Spare
from pypto.sim.pipes import Lane
from pypto.sim.prices import Prices
from pypto.sim.report import Report
from pypto.sim.scalar import Compiled, compiled
from pypto.sim.signals import Barrier, Counter
from pypto.sim.units import Unit

SHUFFLE = 0.05  # how often priorities change
STRETCHES = (0.25, 4.0)  # durations under a seed


class Machine:
    """One run of a program."""

    def __init__(self, program: TileProgram, chip: Chip, blocks: int, report: Report, **switches: Any) -> None:
        self.program, self.chip, self.blocks, self.report = program, chip, blocks, report
        self.watched: bool = switches["check"]
        self.timed: bool = switches["timing"]
        self.planned = self.watched or self.timed
        self.observer = switches["observer"]
        self.assertions_continue: bool = switches["assertions_continue"]
        seed = switches["seed"]
        self.shuffled = seed is not None
        self.random = random.Random(seed)
        self.stretch: Callable[[], float] | None = (lambda: self.random.uniform(*STRETCHES)) if self.shuffled else None
        self.priorities: dict[Any, float] = {}
        self.issue_cycles = chip.cycles["issue"]
        self.prices = Prices(chip)
        self.codes: dict[CoreType, Compiled] = {core.core: compiled(core) for core in program.cores}
        self.needed: Mapping[MemorySpace, int] = switches["needed"]
        self.now = 0.0
        self.trace: list[tuple] = []  # start, end, lane, site, iteration
        self.gaps: list[tuple] = []  # start, end, lane, what it waited for
        self.output: list[tuple[float, int, str]] = []
        self.lanes: list[Lane] = []
        self.memory: GlobalMemory
        self.runnable: deque[Unit] = deque()
        self.woken: deque[Any] = deque()
        self.ready: dict[Any, bool] = {}
        self.groups: list[Group] = []
        self.spare = Spare()
        self.counters: dict[tuple, Counter] = {}
        self.barriers: dict[SyncCoreType, Barrier] = {}
        self.settling = False
        self.end = 0.0

    # -- blocks ---------------------------------------------------------------------------------------------------------------

    def run(self, arguments: Mapping[str, Any]) -> None:
        """All blocks: together where they meet, else one after the other, as if on cores of their own."""
        self.memory = GlobalMemory(self.program, arguments, self.report, watched=self.planned)
        limit = self.chip.cube_cores if self.program.cube is not None else self.chip.vector_cores
        if any(_across_blocks(core) for core in self.program.cores):
            if self.blocks > limit:
                raise TooManyBlocks(blocks=self.blocks, chip=self.chip.name, limit=limit)
            self._run_blocks(range(self.blocks))
            return
        free = [0.0] * min(limit, self.blocks)
        for index in range(self.blocks):
            for group in self.groups:
                group.leave()
            self.now = heapq.heappop(free)
            self._run_blocks(range(index, index + 1))
            heapq.heappush(free, max(pipe.done for group in self.groups for unit in group.units for pipe in self._queues(unit)))
            self.memory.end_block()

    def _queues(self, unit: Unit) -> list[Any]:
        return [unit.scalar, *unit.pipes.values()]

    def _run_blocks(self, indices: range) -> None:
        self.groups = [Group(self, index) for index in indices]
        self.counters, self.barriers = {}, {}
        units = [unit for group in self.groups for unit in group.units]
        names = {kind: sorted({site.pipe.name for site in code.sites} - {"S", "ALL"}) for kind, code in self.codes.items()}
        queues = sum(1 + len(names[unit.kind]) for unit in units)
        first = 0
        for unit in units:
            unit.start(first, names[unit.kind], queues)
            first += 1 + len(names[unit.kind])
            unit.generator = self.codes[unit.kind].start(unit, self.memory.values())
            self.lanes += [queue.lane for queue in self._queues(unit)]
        self.runnable.extend(units)
        self._loop()
        self._finish(units)

    def _finish(self, units: list[Unit]) -> None:
        for unit in units:
            for pipe in self._queues(unit):
                pipe.done = max(pipe.done, unit.now)
                self.end = max(self.end, pipe.done)
        if any(not unit.finished or any(pipe.queue for pipe in unit.pipes.values()) for unit in units):
            raise explain(units)
        if self.watched:
            self.report.leftovers(units, self.groups, self.counters)

    # -- the loop -------------------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        if self.shuffled:
            self._loop_shuffled()
            return
        while self.runnable:
            unit = self.runnable.popleft()
            if not unit.finished:
                self._advance(unit)
                self.settle()

    def _advance(self, unit: Unit) -> None:
        """One stretch of a scalar unit; it goes on later unless it waits for something."""
        unit.advance()
        if unit.paused is None and not unit.finished:
            self.runnable.append(unit)

    def settle(self) -> None:
        """Steps the queues whose heads may go on."""
        if self.settling:
            return
        self.settling = True
        try:
            while self.woken:
                self.woken.popleft().drain()
        finally:
            self.settling = False

    def _loop_shuffled(self) -> None:
        while True:
            candidates = [unit for unit in dict.fromkeys(self.runnable) if not unit.finished] + list(self.ready)
            if not candidates:
                return
            if self.random.random() < SHUFFLE:
                self.priorities.clear()
            chosen = max(candidates, key=self._priority)
            if isinstance(chosen, Unit):
                self.runnable = deque(unit for unit in dict.fromkeys(self.runnable) if unit is not chosen)
                self._advance(chosen)
            elif not chosen.one_step() or not chosen.queue:
                self.ready.pop(chosen, None)

    def _priority(self, one: Any) -> float:
        found = self.priorities.get(one)
        if found is None:
            found = self.priorities[one] = self.random.random()
        return found

    # -- what units ask -------------------------------------------------------------------------------------------------------

    def alike(self, unit: Unit) -> list[Unit]:
        """All cores of the same kind, in all blocks."""
        return [other for group in self.groups for other in group.units if other.kind is unit.kind]

    def counter(
        self, receiver: Unit | str, setter: Unit | str, kind: str, event: int, counters: dict[tuple, Counter] | None = None
    ) -> Counter:
        """The cross-core counter at ``receiver`` that ``setter`` raises."""
        counters = self.counters if counters is None else counters
        key = (receiver, setter, kind, event)
        found = counters.get(key)
        if found is None:
            names = [one if isinstance(one, str) else one.name for one in (receiver, setter)]
            label = f"cross-core event {event} from {names[1]} to {names[0]}{f' ({kind})' if kind else ''}"
            found = counters[key] = Counter(label, names[1], self.chip.identifiers["outstanding"], self.report)
        return found

    def barrier(self, kind: SyncCoreType) -> Barrier:
        found = self.barriers.get(kind)
        if found is None:
            kinds = {SyncCoreType.AIC_ONLY: (CoreType.CUBE,), SyncCoreType.AIV_ONLY: (CoreType.VECTOR,)}.get(
                kind, tuple(CoreType)
            )
            expected = sum(unit.kind in kinds for group in self.groups for unit in group.units)
            found = self.barriers[kind] = Barrier(f"sync_all({kind.name})", expected, self.chip.cycles["barrier"])
        return found

    def struct_type(self, kind: CoreType, name: str, call: Call) -> Struct:
        core = self.program.cube if kind is CoreType.CUBE else self.program.vector
        found = core.types.get(name) if core is not None else None
        if not isinstance(found, Struct):
            found = next((one.type for one in self.program.parameters if one.name == name and isinstance(one.type, Struct)), None)
        if found is None:
            raise InternalError(f"{call.site!r}: the type of {name} is not known", step="simulator")
        return found

    # -- output ---------------------------------------------------------------------------------------------------------------

    def print(self, call: Call, text: str) -> None:
        self.output.append((call.unit.now if self.timed else 0.0, len(self.output), text))
        printed = getattr(self.observer, "printed", None)
        if printed is not None:
            printed(text)

    def observed(self, pipe: Any, call: Call) -> None:
        """Tells an observer of a call that has just happened."""
        told = getattr(self.observer, "called", None)
        if told is not None:
            told(pipe, call)

    def stop_at(self, call: Call, names: dict[str, Any]) -> None:
        """``breakpoint()`` in a kernel: the observer's, or Python's own."""
        stop = getattr(self.observer, "breakpoint", None)
        if stop is not None:
            stop(call, names)
            return
        from pypto.sim.stopping import stop_here

        stop_here(call, names)


def _across_blocks(core: CoreProgram) -> bool:
    """Whether blocks wait for each other."""
    for one in walk(core.body):
        if isinstance(one, Instruction) and (
            one.operation == "sync_all" or one.attributes.get("sync_mode") is CrossCoreSyncMode.INTER_BLOCK
        ):
            return True
    return False
