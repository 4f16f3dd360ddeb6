"""Which edges follow from others: then they need no event of their own.

Inside a stage, operation a certainly comes before operation b when both sit on one pipe, when one of them writes a tile that the
other touches, or when both lock the same tile. An edge adds: everything on the pipe of its source, up to the end of that stage, comes
before everything on the pipe of its target in that stage. An edge is implied when a chain of these leads from its source to its target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.graph import Edge
from pypto_pro.pipeline.structure import StageCall
from pypto_pro.pipeline.traces import Trace
from pypto_pro.pipeline.values import Access, Step

Point = tuple[StageCall, int, int]  # stage, number of the step in it, iterations later


class Order:
    """Order of operations in one loop. ``locks``: tiles with ``mutex_ids`` are locked around every operation."""

    def __init__(self, traces: Mapping[StageCall, Trace], buffers: Mapping[str, Buffer], locks: bool) -> None:
        self.traces = traces
        self.buffers = buffers
        self.locks = locks

    def implied(self, edge: Edge, others: Sequence[Edge]) -> bool:
        """Whether ``others`` already keep the order that ``edge`` asks for."""
        start, goal = (edge.source.stage, edge.source.step, 0), (edge.target.stage, edge.target.step, edge.offset)
        seen: set[Point] = {start}
        pending: list[Point] = [start]
        while pending:
            point = pending.pop()
            for following in self._after(point, others, goal):
                if following == goal and following != start:
                    return True
                if following not in seen and following[2] <= edge.offset:
                    seen.add(following)
                    pending.append(following)
        return False

    def _after(self, point: Point, edges: Sequence[Edge], goal: Point) -> Iterable[Point]:
        """Operations that certainly run, and the goal, as far as they come after ``point``."""
        stage, number, later = point
        steps = self.traces[stage].steps
        step = steps[number]
        for position in range(number + 1, len(steps)):
            if self._ordered(step, steps[position]):
                yield from self._counted(stage, position, later, goal)
        for edge in edges:
            if edge.source.stage is stage and edge.source.pipe == step.pipe:
                target = edge.target.stage
                for position, other in enumerate(self.traces[target].steps):
                    if other.pipe == edge.target.pipe:
                        yield from self._counted(target, position, later + edge.offset, goal)

    def _counted(self, stage: StageCall, position: int, later: int, goal: Point) -> Iterable[Point]:
        point = (stage, position, later)
        if point == goal or self.traces[stage].steps[position].sure:
            yield point

    def _ordered(self, first: Step, second: Step) -> bool:
        if first.pipe is not None and first.pipe == second.pipe:
            return True
        return any(self._meet(a, b) for a in first.accesses for b in second.accesses)

    def _meet(self, first: Access, second: Access) -> bool:
        if first.buffer != second.buffer or not (first.certain and second.certain):
            return False
        buffer = self.buffers[first.buffer]
        if buffer.slots != 1 and first.slot != second.slot:
            return False
        return "W" in (first.role, second.role) or (self.locks and bool(buffer.tokens))
