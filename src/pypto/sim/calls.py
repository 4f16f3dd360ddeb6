"""Instructions: the place in the program (``Site``) and one execution of it (``Call``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.cores.enums import CoreType, PipeType
from pypto.cores.program import Instruction
from pypto.diagnostics import Span
from pypto.ops.tile.table import TileOperation

Step = Callable[[Any, "Call"], bool]


class Site:
    """An instruction of a core program: its row, how it is stepped, the loops around it, the text of its operands."""

    __slots__ = ("index", "instruction", "loops", "operation", "pipe", "place", "roles", "row", "run", "step", "texts", "varying")

    def __init__(
        self, index: int, instruction: Instruction, row: TileOperation, step: Step, loops: Sequence[str], texts: Sequence[str]
    ) -> None:
        self.index, self.instruction, self.row, self.step = index, instruction, row, step
        self.operation: str = instruction.operation
        self.pipe: PipeType = instruction.pipe
        self.place: Span | None = instruction.place
        self.run = row.run
        self.roles = _spread(row.roles, len(instruction.operands))
        self.loops, self.texts = tuple(loops), tuple(texts)
        self.varying = False  # attributes that are not constants

    def __repr__(self) -> str:
        return f"{self.operation}({', '.join(self.texts)})"


def _spread(roles: Sequence[str], count: int) -> tuple[str, ...]:
    """A role with a star repeats; operands without a role are not tiles."""
    if roles and roles[-1].endswith("*"):
        roles = [*roles[:-1], *[roles[-1][:-1]] * (count - len(roles) + 1)]
    return tuple(roles[:count]) + ("-",) * (count - len(roles))


class Call:
    """One execution. What a row's ``run``, ``touches`` and ``work`` see (``ops.tile.table.Running``), and what its queue notes."""

    __slots__ = ("attributes", "issued", "iteration", "known", "operands", "progress", "site", "tickets", "unit", "value")

    def __init__(
        self, site: Site, operands: Sequence[Any], attributes: Mapping[str, Any], unit: Any, iteration: tuple, known: Any
    ) -> None:
        self.site = site
        self.operands = operands
        self.attributes = attributes
        self.unit = unit
        self.iteration = iteration
        self.known = known  # clock of the scalar unit when it issued this
        self.issued = 0.0
        self.value: Any = None
        self.tickets: Any = None
        self.progress = 0

    @property
    def operation(self) -> str:
        return self.site.operation

    @property
    def chip(self) -> Any:
        return self.unit.machine.chip

    @property
    def core(self) -> CoreType:
        return self.unit.kind

    @property
    def subblock(self) -> int:
        return self.unit.subblock

    def on_vector_core(self, tile: Any, subblock: int) -> Any:
        return self.unit.on_vector_core(tile, subblock)

    def print(self, text: str) -> None:
        self.unit.machine.print(self, text)

    # -- for reports ----------------------------------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        """Core, pipe and iterations: ``V of AIV0, ki=3``."""
        return where(self.site, self.unit.name, self.iteration)

    @property
    def turns(self) -> str:
        """Iterations of the loops around it, outer first: ``, i=0, k=3``."""
        return turns(self.site, self.iteration)

    @property
    def line(self) -> str:
        """File, line and source text."""
        place = self.site.place
        if place is None:
            return f"{self.site!r}"
        text = place.text.strip()
        return f"{place.file}:{place.line}" + (f": {text}" if text else "")

    @property
    def short(self) -> str:
        """What and where in a few words: ``store on MTE3 of AIV0, i=2 (line 7)``."""
        place = self.site.place
        return f"{self.site.operation} on {self.where}" + (f" (line {place.line})" if place else "")


def where(site: Site, core: str, iteration: tuple) -> str:
    """``V of AIV0, ki=3``; the core alone for what concerns all its pipes."""
    return f"{core if site.pipe is PipeType.ALL else f'{site.pipe.name} of {core}'}{turns(site, iteration)}"


def turns(site: Site, iteration: tuple) -> str:
    return "".join(f", {name}={value}" for name, value in zip(site.loops, iteration, strict=True))
