"""Which events carry the edges of a graph: the ids that the user declared, ids from the free pool, or none at all.

Every *signal* is one edge with its ids; iteration t of its source uses ``ids[t % len(ids)]``. Ids are declared by the user for the data
of a channel (``fwd_ids``) and for its release (``bwd_ids``). Edges that nobody declared ids for (address reuse, a second pipe of the
consumer) take free ids, unless other signals imply them. Where the pool is too small, groups share one id for all of their tiles,
the largest groups first.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from pypto.errors.pipeline import EventIdTwice, TooFewEventIds
from pypto_pro.pipeline.buffers import EVENTS, Buffer, EventIds
from pypto_pro.pipeline.graph import Edge, Graph
from pypto_pro.pipeline.implied import Order
from pypto_pro.pipeline.structure import Kernel


@dataclass(frozen=True)
class Signal:
    """An edge and its events. ``name`` is the variable that holds the ids, ``declared`` says where they come from."""

    edge: Edge
    name: str
    ids: tuple[int, ...]
    declared: EventIds | None = None


@dataclass
class Events:
    """The signals of a loop in the order of its edges, the edges that need none and why, and what the user should know."""

    signals: list[Signal] = field(default_factory=list)
    silent: dict[Edge, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


SAME_CORE = "same core"
NOT_DECLARED = "no ids declared"
IMPLIED = "implied"


def assign_events(kernel: Kernel, graph: Graph, order: Order, channels: Sequence[Buffer]) -> Events:
    """Ids for every edge that needs them; raises when there are too few, or when one id would mean two things."""
    events = Events()
    wanted: dict[Edge, EventIds | None] = {}  # None: nobody declared ids, they come from the pool
    for edge in graph.edges:
        ids = _declared(graph, edge) if edge.same_buffer else None
        if not edge.crosses:
            events.silent[edge] = SAME_CORE
        elif edge.same_buffer and ids is None:
            events.silent[edge] = NOT_DECLARED
        else:
            wanted[edge] = ids
    for edge in _implied(order, wanted):
        events.silent[edge] = IMPLIED
        del wanted[edge]
    signals: dict[Edge, Signal] = {}
    for edge, ids in wanted.items():
        if ids is not None and all(signal.declared is not ids for signal in signals.values()):
            signals[edge] = _declared_signal(edge, ids, graph.loop.suffix)
    extra = [edge for edge in wanted if edge not in signals]
    signals |= _allocate(kernel, graph, extra, channels, events)
    events.signals = [signals[edge] for edge in wanted]
    _check_distinct(kernel, graph, events.signals, channels)
    return events


def _implied(order: Order, wanted: dict[Edge, EventIds | None]) -> list[Edge]:
    """Edges that follow from the rest. Ids that the user declared carry one edge in any case."""
    kept = list(wanted)
    for edge in reversed(list(wanted)):
        ids = wanted[edge]
        others = [other for other in kept if other is not edge]
        alone = ids is not None and all(wanted[other] is not ids for other in others)
        if not alone and order.implied(edge, others):
            kept = others
    return [edge for edge in wanted if edge not in kept]


def _declared(graph: Graph, edge: Edge) -> EventIds | None:
    buffer = graph.buffers[edge.source.buffer]
    return buffer.backward if edge.offset else buffer.forward


def _declared_signal(edge: Edge, ids: EventIds, suffix: str) -> Signal:
    way = "bwd" if edge.offset else "fwd"
    name = ids.expression.id if isinstance(ids.expression, ast.Name) else f"_pl_{way}_ids_{edge.source.buffer}{suffix}"
    return Signal(edge, name, ids.values, ids)


# -- the pool ---------------------------------------------------------------------------------------------------------------


def _used(channels: Sequence[Buffer]) -> set[int]:
    return {event for buffer in channels for ids in (buffer.forward, buffer.backward) if ids for event in ids.values}


def _allocate(kernel: Kernel, graph: Graph, edges: list[Edge], channels: Sequence[Buffer], events: Events) -> dict[Edge, Signal]:
    free = [event for event in range(EVENTS) if event not in _used(channels)]
    wanted = [edge.slots for edge in edges]
    for position in sorted(range(len(edges)), key=lambda i: -edges[i].slots):
        if sum(wanted) > len(free) and wanted[position] > 1:
            wanted[position] = 1
            events.warnings.append(_degraded(edges[position]))
    if sum(wanted) > len(free):
        total = EVENTS - len(free) + sum(wanted)
        error = kernel.fail(TooFewEventIds, edges[-1].target.stage.call, total=total, needed=sum(wanted), free=len(free))
        error.notes = ("who needs them:\n" + budget(channels, edges),)
        raise error
    found, start = {}, 0
    for number, (edge, count) in enumerate(zip(edges, wanted, strict=True)):
        ids = tuple(free[start : start + count])
        start += count
        found[edge] = Signal(edge, f"_pl_overlap_ids_{number}{graph.loop.suffix}", ids)
    return found


def _degraded(edge: Edge) -> str:
    ends = f"{edge.source.label} -> {edge.target.label}"
    return f"pipeline: too few event ids: {ends} shares one id for its {edge.slots} tiles, the hand-over is serialised"


def budget(channels: Sequence[Buffer], edges: Sequence[Edge] = ()) -> str:
    """Who uses which of the 16 ids, one line each."""
    lines = []
    for buffer in channels:
        for which, ids in (("fwd_ids", buffer.forward), ("bwd_ids", buffer.backward)):
            if ids is not None:
                lines.append(f"        {buffer.name} {which}: {list(ids.values)}")
    lines += [f"        {edge.source.label} -> {edge.target.label}: {edge.slots}, at least 1" for edge in edges]
    return "\n".join(lines)


def _check_distinct(kernel: Kernel, graph: Graph, signals: Sequence[Signal], channels: Sequence[Buffer]) -> None:
    """A core that waits for an id must know what it stands for."""
    seen: dict[tuple[str, int], Signal] = {}
    for signal in signals:
        for event in set(signal.ids):
            other = seen.setdefault((signal.edge.target.stage.core, event), signal)
            if other is not signal:
                place = graph.buffers[signal.edge.source.buffer].node
                notes = ("the ids in use:\n" + budget(channels),)
                error = kernel.fail(EventIdTwice, place, event=event, first=_meaning(other), second=_meaning(signal))
                error.notes = notes
                raise error


def _meaning(signal: Signal) -> str:
    buffer = signal.edge.source.buffer
    return f"{'bwd_ids' if signal.edge.offset else 'fwd_ids'} of '{buffer}'"
