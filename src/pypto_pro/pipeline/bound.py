"""How fast a pipelined kernel could be: the time of its slower core if it never waited for the other one.

The core programs are simulated without their cross-core events; the data is then nonsense, the times are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pypto.cores.program import CoreProgram, If, Instruction, Loop, Repeat, Statement, TileProgram
from pypto.sim.arguments import copied
from pypto.sim.run import simulate

EVENTS = frozenset(("set_cross_core", "wait_cross_core"))


@dataclass(frozen=True)
class Bound:
    """Cycles of the two kinds of core, each without waits for the other."""

    cube: float
    vector: float

    @property
    def cycles(self) -> float:
        return max(self.cube, self.vector)

    @property
    def side(self) -> str:
        """The slower core, which sets the pace."""
        return "cube" if self.cube >= self.vector else "vector"


def without_events(program: TileProgram) -> TileProgram:
    """The program with every cross-core set and wait left out."""
    return replace(program, cube=_core(program.cube), vector=_core(program.vector))


def _core(core: CoreProgram | None) -> CoreProgram | None:
    return None if core is None else replace(core, body=_body(core.body))


def _body(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, (Loop, Repeat)):
            found.append(replace(statement, body=_body(statement.body)))
        elif isinstance(statement, If):
            found.append(replace(statement, then=_body(statement.then), otherwise=_body(statement.otherwise)))
        elif not (isinstance(statement, Instruction) and statement.operation in EVENTS):
            found.append(statement)
    return tuple(found)


def bound(program: TileProgram, values: Mapping[str, Any], block_dim: int = 1) -> Bound:
    """The bound of a launch, on copies of its arguments."""
    result = simulate(without_events(program), copied(values), block_dim=block_dim, check=False)
    ends = {"cube": 0.0, "vector": 0.0}
    for event in result.trace:
        side = "cube" if "AIC" in event.core else "vector"
        ends[side] = max(ends[side], event.end)
    return Bound(ends["cube"], ends["vector"])
