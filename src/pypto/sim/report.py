"""Findings of a run: hazards as catalogue errors with both places, the bytes, and the order that is missing.

The first race stops the run, or findings are collected. Other findings wait until the end: a read of undefined bytes is a race
where the write is merely late, a flag that may be set twice mostly lacks the same edge as a race; the race says more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto.cores.enums import PipeType
from pypto.errors.base import UserError
from pypto.errors.simulation import DataRace, Deadlock, FlagSetTwice, TooManySets, UndefinedRead, UnlockNotHeld, UnpairedSync
from pypto.sim.calls import Call
from pypto.sim.clocks import FOREIGN
from pypto.sim.footprint import Footprint, common
from pypto.sim.hazards import READ, WRITE, Domain
from pypto.sim.memory import TensorMemory, TileMemory
from pypto.sim.signals import Counter, Mutex

KINDS = {(WRITE, READ): "read after write", (READ, WRITE): "write after read", (WRITE, WRITE): "write after write"}
VERBS = ("reads", "writes", "adds to")


class Report:
    """Collects (``collect``) or raises findings."""

    def __init__(self, *, collect: bool = False) -> None:
        self.collect = collect
        self.findings: list[UserError] = []
        self.late: list[UserError] = []
        self.seen: set[tuple] = set()

    def add(self, error: UserError, key: tuple, *, late: bool = False) -> None:
        """A finding, once per pair of places."""
        if key in self.seen:
            return
        self.seen.add(key)
        error.located = True  # type: ignore[attr-defined]
        if late:
            self.late.append(error)
        elif self.collect:
            self.findings.append(error)
        else:
            raise error

    def finish(self, stopped_by: UserError | None = None) -> None:
        """Findings that waited for the end; where something else ends the run, it mentions them."""
        late, self.late = self.late, []
        self.findings += late if self.collect else []
        if isinstance(stopped_by, Deadlock):
            stopped_by.notes = (*stopped_by.notes, *(f"before that, {one.message.format_map(one.facts)}" for one in late))
        elif late and not self.collect and stopped_by is None:
            raise late[0]

    # -- races ----------------------------------------------------------------------------------------------------------------

    def race(self, domain: Domain, earlier: tuple[Footprint, tuple, int], later: tuple[Footprint, Any, Call, Any, int]) -> None:
        """``earlier`` is the record that was there, ``later`` the access that met it."""
        where, record, role = earlier
        here, queue, call, target, my_role = later
        if role == READ and record[4] and record[4][1] > queue.clock[record[0]]:
            record = record[4]
        first = _Access(where, record[2], record[3], role, record[1] == FOREIGN)
        second = _Access(here, call, target, my_role, False)
        early = role == WRITE and my_role == READ and not first.foreign and _turns_ahead(record[2], call)
        if early or _comes_too_early(where, queue, role, my_role) or _came_too_early(where, role, my_role):
            first, second = second, first
        key = ("race", *sorted((first.call.site.index, second.call.site.index)), domain.label)
        alone = queue.index == record[0] and record[1] != FOREIGN  # two loads: a reader between them says more
        self.add(_race(domain, first, second), key, late=alone)

    # -- undefined bytes ------------------------------------------------------------------------------------------------------

    def undefined(self, domain: Domain, call: Call, target: Any, count: int, total: int, address: int) -> None:
        error = UndefinedRead(
            span=call.site.place,
            call=call.short,
            count=count,
            total=total,
            name=target.name,
            memory=domain.label,
            address=address,
            element=_element(target, address),
        )
        self.add(error, ("undefined", call.site.index, domain.label), late=True)

    # -- flags and tokens -----------------------------------------------------------------------------------------------------

    def too_many(self, call: Call, counter: Counter) -> None:
        key = ("sets", call.site.index, counter.label)
        if counter.limit == 1:
            self.add(FlagSetTwice(span=call.site.place, call=call.short, event=counter.label), key, late=True)
            return
        self.add(
            TooManySets(span=call.site.place, call=call.short, count=counter.posted, event=counter.label, limit=counter.limit),
            key,
            late=True,
        )

    def not_held(self, call: Call, mutex: Mutex) -> None:
        error = UnlockNotHeld(span=call.site.place, call=call.short, token=mutex.number)
        self.add(error, ("unlock", call.site.index, mutex.number), late=True)

    def leftovers(self, units: Iterable[Any], groups: Iterable[Any], counters: dict[Any, Counter]) -> None:
        """Sets that nobody waited for, tokens that nobody gave back, products that nobody took."""
        found: list[tuple[str, Call]] = []
        shared = [counter for group in groups for counter in group.counters.values()]
        for unit in units:
            for counter in unit.flags.values():
                found += [(f"{counter.label} was set and not waited for", token.call) for token in counter.tokens]
            for mutex in unit.mutexes.values():
                if mutex.held is not None:
                    found.append((f"buffer token {mutex.number} of {unit.name} is still held", mutex.holder))
            for flag in unit.unit_flags.values():
                if flag.full:
                    found.append((f"the product at 0x{flag.address:X} of L0C of {unit.name} was not taken", flag.last.call))
        for counter in [*shared, *counters.values()]:
            found += [(f"{counter.label} was set and not waited for", token.call) for token in counter.tokens]
        if found:
            self.add(_unpaired(found), ("unpaired", *dict.fromkeys(call.site.index for _, call in found)), late=True)


def _unpaired(found: list[tuple[str, Call]]) -> UnpairedSync:
    summary, call = found[0]
    several: dict[tuple[str, Any], list[Call]] = {}
    for text, one in found:
        several.setdefault((text, one.site), []).append(one)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    notes = tuple(f"{text}: {_times(calls)}" for (text, _), calls in several.items())
    return UnpairedSync(span=call.site.place, summary=summary + more, notes=notes)


def _times(calls: list[Call]) -> str:
    return calls[0].short if len(calls) == 1 else f"{len(calls)} times, last {calls[-1].short}"


class _Access:
    """One side of a race."""

    def __init__(self, where: Footprint, call: Call, target: Any, role: int, foreign: bool) -> None:
        self.where, self.call, self.target, self.role, self.foreign = where, call, target, role, foreign

    @property
    def text(self) -> str:
        call = self.call
        return f"`{call.site.operation}` on {call.where}, which {VERBS[self.role]} '{self.target.name}'"


def _turns_ahead(write: Call, read: Call) -> bool:
    """The write belongs to a later turn of the loops around both: what the read was to see is gone."""
    return bool(write.site.loops) and write.site.loops == read.site.loops and write.iteration > read.iteration


def _comes_too_early(where: Footprint, queue: Any, role: int, my_role: int) -> bool:
    """A reader that was told of the write before the one it meets was to read that: the other write came too early."""
    rival = where.rival
    return role == WRITE and my_role == READ and rival is not None and rival[1] <= queue.clock[rival[0]]


def _came_too_early(where: Footprint, role: int, my_role: int) -> bool:
    """A read of bytes that nothing had written was to come after this write."""
    return role == READ and my_role == WRITE and not where.defined


def _race(domain: Domain, first: _Access, second: _Access) -> DataRace:
    kind = KINDS.get((first.role, second.role), "atomic addition beside another access")
    return DataRace(
        span=second.call.site.place,
        kind=kind,
        first=first.text,
        second=second.text,
        memory=domain.label,
        notes=(_shared(domain, first.where, second.where), f"the other access: {first.call.line}"),
        advice=_advice(first, second),
    )


def _shared(domain: Domain, one: Footprint, other: Footprint) -> str:
    starts, ends = common(one, other)
    return f"{int((ends - starts).sum())} bytes are common, from 0x{int(starts.min()):X} to 0x{int(ends.max()) - 1:X} of {domain.label}"


def _advice(first: _Access, second: _Access) -> str:
    """The edge that is missing, in the words of the language."""
    one, other = first.call, second.call
    source, sink = _queue(one), _queue(other)
    if first.foreign or second.foreign or one.unit.group is not other.unit.group:
        return (
            f"blocks run at the same time: let each work on a part of its own (pl.get_block_idx()), or add with "
            f"AtomicType.AtomicAdd; nothing leads from {source} to {sink}"
        )
    after = f"after {_line(one)}" if one.site.place else "after the first"
    if one.unit is other.unit:
        return _inside_core(first, second, source, sink, after)
    return _between_cores(first, second, source, sink, after)


def _inside_core(first: _Access, second: _Access, source: str, sink: str, after: str) -> str:
    one, other = first.call, second.call
    if one.site.pipe is other.site.pipe:
        return f"{source} does not order its own loads: call pl.system.bar_mte2() between them"
    set_pipe, wait_pipe = one.site.pipe.name, other.site.pipe.name
    if set_pipe == PipeType.ALL.name or wait_pipe == PipeType.ALL.name:
        return f"nothing leads from {source} to {sink}: pl.system.bar_all() between them"
    return (
        f"nothing leads from {source} to {sink}: {after} add sync_src(set_pipe={set_pipe}, wait_pipe={wait_pipe}, event_id=…) "
        f"and before {_line(other)} sync_dst(…) of the same, or give the tile mutex_ids"
    )


def _between_cores(first: _Access, second: _Access, source: str, sink: str, after: str) -> str:
    """The pipeline inserts these for groups with ids: forward from the writer, backward from the reader."""
    if first.call.unit.kind is second.call.unit.kind:
        return (
            f"nothing leads from {source} to {sink}: let each vector core write a part of its own (pl.get_subblock_idx()), or set and wait "
            f"for an event with sync_mode=INTER_SUBBLOCK between {_line(first.call)} and {_line(second.call)}"
        )
    name = "bwd_ids" if first.role == READ else "fwd_ids"
    target = second.target if first.role == READ else first.target
    group = target.name.partition("[")[0]
    return (
        f"no set_cross_core/wait_cross_core leads from {source} to {sink}: {after} set an event on {first.call.site.pipe.name} and wait "
        f"for it on {second.call.site.pipe.name} before {_line(second.call)}, or add {name} to the group '{group}'"
    )


def _queue(call: Call) -> str:
    return f"{call.site.pipe.name} of {call.unit.name}"


def _line(call: Call) -> str:
    return f"line {call.site.place.line}" if call.site.place else f"`{call.site!r}`"


def _element(target: Any, address: int) -> str:
    """Row and column of a byte of a tile."""
    if isinstance(target, TensorMemory) or not isinstance(target, TileMemory) or target.type.dtype.facts.bits < 8:
        return ""
    offsets = target.placement.offsets()
    index = (address - target.address) // target.numpy_dtype.itemsize
    found = (offsets == index).nonzero()
    return f", element [{int(found[0][0])}, {int(found[1][0])}]" if len(found[0]) else ""
