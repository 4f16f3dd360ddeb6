"""What a chip is: memories, paths, identifiers, pipes, rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.cores.enums import CoreType, MemorySpace, PipeType


@dataclass(frozen=True)
class Memory:
    """One on-chip memory: ``bytes`` in all, tiles start at multiples of ``alignment``."""

    space: MemorySpace
    name: str
    bytes: int
    alignment: int
    source: str = ""


@dataclass(frozen=True)
class Rate:
    """Price of one kind of work: ``start + amount / per_cycle`` cycles on the pipe, the result ``latency`` cycles later.

    ``types`` holds other rates for some element types (by label); ``first`` that of bytes which come from DDR, not from L2.
    """

    name: str
    start: float
    per_cycle: float
    latency: float = 0.0
    first: float | None = None
    types: Mapping[str, float] = field(default_factory=dict)
    unit: str = "bytes"
    source: str = ""

    def cycles(self, amount: float, element: str = "", *, first: bool = False) -> float:
        """Cycles on the pipe for ``amount`` (``unit``), without the latency.

        >>> Rate("ADD", start=40, per_cycle=160).cycles(1600)
        50.0
        """
        if first and self.first is not None:
            return self.start + amount / self.first
        return self.start + amount / self.types.get(element, self.per_cycle)


@dataclass(frozen=True)
class Chip:
    """A chip file, read. ``identifiers``: how many of ``mutex``, ``flags``, ``cross_core`` there are, and ``outstanding`` sets.

    ``cycles``: fixed prices ``issue``, ``scalar``, ``cross_core``, ``barrier``.
    """

    name: str
    architecture: str
    aliases: tuple[str, ...]
    clock_hertz: float
    queue_depth: int
    cube_cores: int
    vector_cores: int
    vector_per_cube: int
    identifiers: Mapping[str, int]
    cycles: Mapping[str, float]
    memories: Mapping[MemorySpace, Memory]
    paths: frozenset[tuple[MemorySpace, MemorySpace]]
    pipes: Mapping[CoreType, tuple[PipeType, ...]]
    rates: Mapping[str, Rate]
    file: str = ""

    def memory(self, space: MemorySpace) -> Memory | None:
        """The memory behind a space, None where the chip has none (and for global memory)."""
        return self.memories.get(space)

    def has_path(self, source: MemorySpace, destination: MemorySpace) -> bool:
        """Whether data can go from one space to the other in one instruction."""
        return (source, destination) in self.paths

    def rate(self, name: str) -> Rate:
        """The rate of that name, the default one where the file has none (``name in chip.rates`` tells)."""
        return self.rates.get(name) or self.rates["default"]

    def microseconds(self, cycles: float) -> float:
        """Cycles over the clock."""
        return cycles / self.clock_hertz * 1e6
