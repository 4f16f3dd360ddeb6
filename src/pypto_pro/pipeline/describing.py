"""A pipelined loop in words: schedule and events, for the comment in the generated module and for reports."""

from __future__ import annotations

from pypto_pro.pipeline.events import Events
from pypto_pro.pipeline.graph import Edge, Graph
from pypto_pro.pipeline.structure import PipelineLoop


def describe(loop: PipelineLoop, graph: Graph, events: Events) -> str:
    """One line for the loop, one per stage, one per edge with its events or the reason why it needs none.

    ``t - 2`` behind a stage: while the first stage works on iteration t, this one works on t - 2.
    """
    ring = f"ring of {loop.depth} iterations" if loop.preload else "serial, with synchronisation"
    lines = [f"loop over {loop.variable}, preload {loop.preload}: {ring}"]
    width = max(len(stage.name) for stage in loop.stages)
    for stage in loop.stages:
        lines.append(f"  {stage.name:<{width}}  {stage.core:<6}  t{f' - {stage.delay}' if stage.delay else ''}")
    carried = {signal.edge: f"{signal.name} {list(signal.ids)}" for signal in events.signals}
    edges = [(_text(edge), carried.get(edge) or f"no event: {events.silent[edge]}") for edge in graph.edges]
    width = max((len(text) for text, _ in edges), default=0)
    lines += [f"  {text:<{width}}  {how}" for text, how in edges]
    return "\n".join(lines)


def _text(edge: Edge) -> str:
    later = f" of t + {edge.offset}" if edge.offset else ""
    return f"{edge.kind} {edge.source.label} -> {edge.target.label}{later}"
