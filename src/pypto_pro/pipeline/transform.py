"""The transform, step by step: a serial cube/vector loop in, a synchronised or pipelined one out.

prune → find loops → find buffers → read stages → for each loop: delays → graph → checks → events → placement → snapshot → write.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pypto.errors.pipeline import PreloadCount, ReservedName
from pypto_pro.pipeline.buffers import Buffer, find_buffers
from pypto_pro.pipeline.carried import check_carried
from pypto_pro.pipeline.checks import check_edges, check_users
from pypto_pro.pipeline.config import PipelineConfig
from pypto_pro.pipeline.constants import function_scope, prune
from pypto_pro.pipeline.delayed import keep
from pypto_pro.pipeline.describing import describe
from pypto_pro.pipeline.emission import write
from pypto_pro.pipeline.events import Events, assign_events
from pypto_pro.pipeline.graph import Graph, edges_of, nodes_of
from pypto_pro.pipeline.implied import Order
from pypto_pro.pipeline.overlaps import check_overlaps, overlapping, regions
from pypto_pro.pipeline.picks import rewrite_picks
from pypto_pro.pipeline.placement import Placement, place
from pypto_pro.pipeline.reading import read
from pypto_pro.pipeline.rotation import check_body, check_outside, check_partners, check_rotation
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall, find_loops, set_delays
from pypto_pro.pipeline.text import module_text, without_pipeline
from pypto_pro.pipeline.traces import Reading, Trace

RESERVED = "_pl_"


@dataclass(eq=False)
class LoopReport:
    """One pipelined loop: what was found, what was decided."""

    loop: PipelineLoop
    graph: Graph
    events: Events
    placement: Placement
    traces: Mapping[StageCall, Trace]

    @property
    def delays(self) -> tuple[int, ...]:
        return tuple(stage.delay for stage in self.loop.stages)

    @property
    def depth(self) -> int:
        """Slots of the ring of iterations in flight; 1 for a serial loop."""
        return self.loop.depth

    def __str__(self) -> str:
        """Which stage works on which iteration, and which events order what."""
        return describe(self.loop, self.graph, self.events)


@dataclass(eq=False)
class Transformed:
    """``node``: the new definition, with the places of the user's statements. ``text``: the module that runs by itself."""

    node: ast.FunctionDef
    text: str
    loops: tuple[LoopReport, ...]
    warnings: tuple[str, ...]


def transform_pipeline(
    function_node: ast.FunctionDef,
    config: PipelineConfig,
    namespace: Mapping[str, Any],
    *,
    constants: Mapping[str, Any] | None = None,
    file: str = "<kernel>",
    source: str | None = None,
    auto_mutex: bool = True,
) -> Transformed:
    """Pipelines the loops of stages of a kernel.

    ``namespace``: what the kernel's global and closure names mean. ``constants``: values known before anything runs, by name or by the
    text of an expression (``x.shape[0]``). ``file`` and ``source``: where the kernel stands, for messages and for the generated module.
    ``auto_mutex``: whether tiles with ``mutex_ids`` are locked around every operation. ``function_node`` is not changed.

    Raises a ``ValueError`` of the catalogue (``pypto.errors.pipeline``) for every kernel that cannot be pipelined.
    """
    kernel = _prepared(function_node, namespace, constants, file)
    loops = find_loops(kernel)
    _set_preloads(kernel, loops, config)
    buffers = find_buffers(kernel)
    check_overlaps(kernel, buffers)
    reading = read(kernel, loops, buffers)
    check_outside(reading, _counted(reading.buffers))
    check_partners(kernel, reading)
    reports = tuple(_pipeline(kernel, loop, reading, auto_mutex) for loop in loops)
    warnings = tuple(warning for report in reports for warning in report.events.warnings)
    node = without_pipeline(kernel.node)
    notes = [line for report in reports for line in str(report).splitlines()]
    return Transformed(node, module_text(function_node, node, source, notes), reports, warnings)


def _prepared(
    function_node: ast.FunctionDef, namespace: Mapping[str, Any], constants: Mapping[str, Any] | None, file: str
) -> Kernel:
    node = copy.deepcopy(function_node)
    kernel = Kernel(node, file, function_scope(node, namespace, constants))
    for inner in ast.walk(node):
        name = inner.id if isinstance(inner, ast.Name) else inner.arg if isinstance(inner, ast.arg) else ""
        if name.startswith(RESERVED):
            raise kernel.fail(ReservedName, inner, name=name, suggestion=name.removeprefix(RESERVED) or "name")
    prune(node, kernel.scope)
    return kernel


def _set_preloads(kernel: Kernel, loops: list[PipelineLoop], config: PipelineConfig) -> None:
    preload: Any = config.preload
    numbers = list(preload) if isinstance(preload, tuple) else [2 if config.automatic else preload] * len(loops)
    if len(numbers) != len(loops):
        suggestion = (numbers + [numbers[-1]] * len(loops))[: len(loops)]
        raise kernel.fail(PreloadCount, loops[-1].node, got=len(numbers), loops=len(loops), suggestion=suggestion)
    for loop, number in zip(loops, numbers, strict=True):
        loop.suffix = f"_{loop.index}" if len(loops) > 1 else ""
        set_delays(loop, number)


def _pipeline(kernel: Kernel, loop: PipelineLoop, reading: Reading, auto_mutex: bool) -> LoopReport:
    """Rewrites one loop in place."""
    traces = {stage: reading.stages[stage] for stage in loop.stages}
    channels = [buffer for buffer in reading.buffers.values() if buffer.channel]
    counted = _counted(reading.buffers)
    nodes = nodes_of(loop, traces, counted)
    used = list(dict.fromkeys(node.buffer for node in nodes))
    found = regions(reading.buffers, used)
    graph = Graph(loop, nodes, edges_of(nodes, found), found, reading.buffers)
    check_body(loop, reading, counted)
    check_rotation(kernel, loop, reading, counted)
    check_users(kernel, _of_loop(channels, used, reading), nodes)
    check_edges(kernel, graph)
    warnings = _notes(loop) + check_carried(kernel, loop, reading, counted)
    events = assign_events(kernel, graph, Order(traces, reading.buffers, auto_mutex), channels)
    events.warnings = warnings + events.warnings
    placement = place(events.signals)
    snapshot = keep(kernel, loop, reading)
    write(kernel, loop, placement, snapshot)
    rewrite_picks(kernel, reading, snapshot.picks)
    return LoopReport(loop, graph, events, placement, traces)


def _notes(loop: PipelineLoop) -> list[str]:
    if len(loop.stages) > 1:
        return []
    return [f"pipeline: the loop has only one stage, '{loop.stages[0].name}': there is nothing to overlap, it stays as it is"]


def _counted(buffers: dict[str, Buffer]) -> set[str]:
    """Channels, and what shares addresses with them."""
    found = {buffer.name for buffer in buffers.values() if buffer.channel}
    for first, second in overlapping(buffers):
        if first.channel or second.channel:
            found |= {first.name, second.name}
    return found


def _of_loop(channels: list[Buffer], used: list[str], reading: Reading) -> list[Buffer]:
    """The channels of this loop, and those that no loop uses."""
    elsewhere = {buffer for trace in reading.stages.values() for buffer in trace.touched()}
    return [buffer for buffer in channels if buffer.name in used or buffer.name not in elsewhere]
