"""Whether the graph of a loop can work: who uses a channel, whether data survives, whether the schedule keeps the order."""

from __future__ import annotations

from typing import Any

from pypto.errors.base import UserError
from pypto.errors.pipeline import (
    ChannelNotProduced,
    ChannelOnOneCore,
    ChannelShared,
    ChannelUnused,
    PreloadTooDeep,
    ReuseOverwrites,
    ReuseTooDeep,
    StagesInCircle,
)
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.graph import Edge, Graph, Node, waits_in_circle
from pypto_pro.pipeline.structure import Kernel, StageCall, set_delays


def check_users(kernel: Kernel, channels: list[Buffer], nodes: list[Node]) -> None:
    """A channel has one producer and one consumer, on different cores."""
    for buffer in channels:
        uses = [node for node in nodes if node.buffer == buffer.name]
        stages: list[StageCall] = list(dict.fromkeys(node.stage for node in uses))
        names = " and ".join(stage.name for stage in stages)
        if len(stages) < 2:
            raise kernel.fail(ChannelUnused, buffer.node, group=buffer.name, count=len(stages))
        if len(stages) > 2:
            names = ", ".join(stage.name for stage in stages)
            raise kernel.fail(ChannelShared, stages[2].call, group=buffer.name, count=len(stages), stages=names)
        if stages[0].core == stages[1].core:
            raise kernel.fail(ChannelOnOneCore, stages[1].call, group=buffer.name, core=stages[0].core, stages=names)
        for role, missing, does in (("W", "written", "read"), ("R", "read", "write")):
            if not any(node.role == role for node in uses):
                raise kernel.fail(ChannelNotProduced, buffer.node, group=buffer.name, missing=missing, does=does, stages=names)


def check_edges(kernel: Kernel, graph: Graph) -> None:
    """Raises where data cannot survive until it is read, or where the schedule turns an edge round."""
    for edge in graph.edges:
        if edge.kind == "RAW" and not edge.same_buffer:
            raise _overwritten(kernel, graph, edge)
        if edge.kind == "RAW" and edge.offset and edge.crosses:
            raise _circle(kernel, graph, edge)
    backward = [edge for edge in graph.edges if not edge.forward]
    if backward:
        raise _too_deep(kernel, graph, min(backward, key=lambda edge: (not edge.same_buffer, edge.distance)))
    circular = waits_in_circle(graph)
    if circular is not None:
        raise _too_deep(kernel, graph, circular)


def deepest_preload(graph: Graph) -> int:
    """The largest preload up to the present one for which every edge points forward; the schedule is left as it is."""
    loop, wanted = graph.loop, graph.loop.preload
    possible = 0
    for preload in range(wanted):
        set_delays(loop, preload)
        if all(edge.forward for edge in graph.edges) and waits_in_circle(graph) is None:
            possible = preload
    set_delays(loop, wanted)
    return possible


def _overwritten(kernel: Kernel, graph: Graph, edge: Edge) -> UserError:
    reader, writer = edge.target, edge.source
    facts: dict[str, Any] = {
        "reader": reader.stage.name,
        "writer": writer.stage.name,
        "first": reader.buffer,
        "second": writer.buffer,
    }
    return ReuseOverwrites(span=reader.place, chain=(kernel.span(reader.stage.call),), **facts)


def _circle(kernel: Kernel, graph: Graph, edge: Edge) -> UserError:
    reader, writer = edge.target, edge.source
    cycle = f"{reader.label} -> {writer.label} -> {reader.label}"
    facts: dict[str, Any] = {"reader": reader.stage.name, "writer": writer.stage.name, "group": reader.buffer, "cycle": cycle}
    return StagesInCircle(span=reader.place, chain=(kernel.span(reader.stage.call),), **facts)


def needed_slots(edge: Edge) -> int:
    """Tiles with which the schedule would keep the order of ``edge``: one turn of the ring more per missing beat."""
    relaxed = edge.target.sequence > edge.source.sequence or (edge.crosses and not edge.same_buffer)
    missing = edge.source.stage.delay - edge.target.stage.delay + (0 if relaxed else 1)
    return max(missing, 1) if edge.offset else edge.slots


def _too_deep(kernel: Kernel, graph: Graph, edge: Edge) -> UserError:
    first, second = edge.source, edge.target
    facts: dict[str, Any] = {"preload": graph.loop.preload, "distance": edge.distance, "possible": deepest_preload(graph)}
    if edge.same_buffer:
        needed = max(needed_slots(one) for one in graph.edges if one.source.buffer == first.buffer and one.same_buffer)
        cycle = f"{second.label} -> {first.label} -> {second.label}"
        place = kernel.span(graph.buffers[first.buffer].node)
        return PreloadTooDeep(span=place, group=first.buffer, slots=edge.slots, needed=needed, cycle=cycle, **facts)
    pair = {first.buffer, second.buffer}
    needed = max(needed_slots(one) for one in graph.edges if {one.source.buffer, one.target.buffer} <= pair)
    facts |= {"reader": first.stage.name, "writer": second.stage.name, "first": first.buffer, "second": second.buffer}
    return kernel.fail(ReuseTooDeep, second.stage.call, needed=needed, **facts)
