"""The synchronisation graph of one loop: which access of a tile must come before which.

In: what every stage does with the tiles that count (channels, and buffers on their addresses). Out: ``Edge``s, the checks done.

A *lane* is one tile's worth of memory: tile ``t % slots`` of every buffer of a region belongs to iteration ``t``. In serial order a lane
sees the accesses of iteration t, then those of t + slots, and so on; edges are read off that order:

* ``RAW``: a read waits for the latest write before it.
* ``WAR``: a write waits for the reads since the write before it (of the lane, and of the same buffer).
* ``WAW``: a write waits for the write before it where nothing was read in between.

An edge from iteration t to iteration t + offset has the distance ``offset + delay of its end - delay of its start`` in beats.
The schedule is possible when every edge points forward (a positive distance, or zero within a beat) and no stages of one beat wait for
each other in a circle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.cores.enums import PipeType
from pypto.diagnostics import Span
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.overlaps import Region
from pypto_pro.pipeline.structure import PipelineLoop, StageCall
from pypto_pro.pipeline.traces import Trace


@dataclass(frozen=True)
class Node:
    """An access of a tile. ``step`` numbers the operations of the stage."""

    sequence: int
    stage: StageCall
    step: int
    buffer: str
    role: str
    pipe: PipeType | None
    sure: bool
    place: Span

    @property
    def label(self) -> str:
        pipe = self.pipe.name if self.pipe is not None else "?"
        return f"{self.stage.name}[{self.buffer} {self.role} {pipe}]"


@dataclass(frozen=True)
class Edge:
    """``source`` of iteration t comes before ``target`` of iteration t + ``offset``. ``slots`` is how many tiles the region has."""

    kind: str
    source: Node
    target: Node
    offset: int
    slots: int

    @property
    def distance(self) -> int:
        """Beats from source to target in the schedule."""
        return self.offset + self.target.stage.delay - self.source.stage.delay

    @property
    def forward(self) -> bool:
        """Whether the schedule keeps the order of the two.

        In one beat a stage may wait for a later one only where both cores and two buffers take part (address reuse).
        """
        in_order = self.target.sequence > self.source.sequence
        return self.distance > 0 or (self.distance == 0 and (in_order or (self.crosses and not self.same_buffer)))

    @property
    def crosses(self) -> bool:
        """Whether it runs from one core to the other; on one core, locks and queues keep the order."""
        return self.source.stage.core != self.target.stage.core

    @property
    def same_buffer(self) -> bool:
        return self.source.buffer == self.target.buffer

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two edges one for the hardware: stages, pipes, buffers, offset."""
        ends = (self.source.stage.order, self.source.pipe, self.source.buffer, self.target.stage.order, self.target.pipe)
        return (*ends, self.target.buffer, self.offset)


@dataclass
class Graph:
    """All accesses that count, in program order, and the edges between them, ordered by source of the read data."""

    loop: PipelineLoop
    nodes: list[Node]
    edges: list[Edge]
    regions: dict[str, Region]
    buffers: dict[str, Buffer] = field(default_factory=dict)


def waits_in_circle(graph: Graph) -> Edge | None:
    """An edge of a circle of stages that wait for each other within one beat, or None."""
    stages = graph.loop.stages
    after: dict[int, set[int]] = {stage.order: set() for stage in stages}
    for first in stages:
        after[first.order] |= {s.order for s in stages if s.core == first.core and s.order > first.order}
    within = [edge for edge in graph.edges if edge.distance == 0 and edge.crosses]
    for edge in within:
        after[edge.source.stage.order].add(edge.target.stage.order)
    return next((edge for edge in within if _reaches(after, edge.target.stage.order, edge.source.stage.order)), None)


def _reaches(after: dict[int, set[int]], start: int, goal: int) -> bool:
    seen, pending = {start}, [start]
    while pending:
        for following in after[pending.pop()] - seen:
            seen.add(following)
            pending.append(following)
    return goal in seen


def nodes_of(loop: PipelineLoop, traces: dict[StageCall, Trace], counted: set[str]) -> list[Node]:
    """The accesses of counted buffers, in program order."""
    found: list[Node] = []
    for stage in loop.stages:
        for number, step in enumerate(traces[stage].steps):
            for access in step.accesses:
                if access.buffer in counted:
                    node = Node(len(found), stage, number, access.buffer, access.role, step.pipe, step.sure, step.place)
                    found.append(node)
    return found


def edges_of(nodes: list[Node], regions: dict[str, Region]) -> list[Edge]:
    """The edges of every region, one for each distinct key, in the order of the buffers' first use."""
    found: dict[tuple[object, ...], Edge] = {}
    for region in dict.fromkeys(regions[node.buffer] for node in nodes):
        lane = [node for node in nodes if regions[node.buffer] == region]
        for name in (None, *dict.fromkeys(node.buffer for node in lane)):
            visits = [node for node in lane if name in (None, node.buffer)]
            for edge in _lane_edges(visits, region.slots):
                if edge.source.stage is not edge.target.stage or edge.offset or not edge.same_buffer:
                    found.setdefault(edge.key, edge)
    return sorted(found.values(), key=_order)


def _order(edge: Edge) -> tuple[int, int, int]:
    """Data before its release, channel by channel."""
    producer = edge.source if edge.offset == 0 else edge.target
    return (producer.sequence, edge.offset, edge.source.sequence)


def _lane_edges(visit: list[Node], slots: int) -> list[Edge]:
    """Edges into one visit of a lane, from the same visit and the one before."""
    line = [(node, slots) for node in visit] + [(node, 0) for node in visit]
    found: list[Edge] = []
    for position in range(len(visit), len(line)):
        node = line[position][0]
        earlier = line[:position]
        last_write = next((i for i in range(position - 1, -1, -1) if earlier[i][0].role == "W"), None)
        if last_write is None:
            continue
        if node.role == "R":
            source, offset = earlier[last_write]
            found.append(Edge("RAW", source, node, offset, slots))
            continue
        readers = _last_readers(earlier[last_write + 1 :])
        found += [Edge("WAR", source, node, offset, slots) for source, offset in readers]
        if not readers:
            source, offset = earlier[last_write]
            found.append(Edge("WAW", source, node, offset, slots))
    return found


def _last_readers(since: list[tuple[Node, int]]) -> list[tuple[Node, int]]:
    """The last read of every stage and pipe."""
    found: dict[tuple[int, object, int], tuple[Node, int]] = {}
    for node, offset in since:
        found[(node.stage.order, node.pipe, offset)] = (node, offset)
    return list(found.values())
