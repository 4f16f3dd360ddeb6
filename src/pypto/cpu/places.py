"""Where a nest's code stands: parameters, positions along the lanes, values known at a depth of the loops, loops over lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Union

from pypto.cpu.nests import Nest
from pypto.cpu.vectors import LANES, Tail, Vector
from pypto.cpu.views import Buffer, product
from pypto.cpu.work import INSTRUCTION
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar

if TYPE_CHECKING:
    from pypto.cpu.nest_terms import TermWriter
    from pypto.cpu.running import RunningSum

Value = Union[str, int]


class Pointer(NamedTuple):
    """A pointer parameter: the element ``offset`` of ``buffer``, counted in ``dtype``."""

    buffer: Buffer
    dtype: DataType
    offset: Scalar


@dataclass
class NestCode:
    """A written nest: what the caller passes, and how its work may be divided."""

    function: str
    pointers: list[Pointer]
    scalars: list[Expression]
    split: str  # "rows": by the flattened outer axes; "lanes": in multiples of 64; "": not at all
    total: Scalar  # how many rows or lanes there are
    bound: Scalar  # the same from the allocated extents
    row_bytes: Scalar  # scratch the caller must provide (0: none)
    nest: Nest
    cost: int  # instructions per vector of 16 elements

    @property
    def nanoseconds(self) -> float:
        """Estimated time of one unit (row or lane)."""
        inner = product([s for a, s in enumerate(self.nest.sizes)])
        if isinstance(inner, Expression) or isinstance(self.bound, Expression):
            return self.cost * INSTRUCTION
        return int(inner) / max(1, int(self.bound)) / LANES * self.cost * INSTRUCTION


class Place(NamedTuple):
    """One vector's position along the lanes; ``tail`` when only part of it exists."""

    lane: Value
    tail: Tail | None


Memo = dict[tuple[int, int], Vector]


@dataclass
class Scope:
    """Values known at some depth of the loops, by term and vector number; ``index`` maps axes to positions."""

    memo: Memo
    index: dict[int, Value]
    places: Sequence[Place]
    bases: dict[int, str] = field(default_factory=dict)
    running: dict[int, RunningSum] = field(default_factory=dict)


class LaneLoop:
    """A loop over lanes, entered with ``with``; yields itself with ``places`` and carried vectors."""

    def __init__(self, emitter: TermWriter, low: Value, high: Value, unroll: int, end: Value | None) -> None:
        self.emitter = emitter
        self.bounds = (low, high)
        self.unroll = unroll
        self.end = end  # not None: single vectors, the last one cut off here
        self.places: list[Place] = []
        self.carried: list[Vector] = []
        self.next: Sequence[Vector] = ()
        self.results: list[Vector] = []

    def __enter__(self) -> LaneLoop:
        self._context = self.carrying([])
        return self._context.__enter__()

    def __exit__(self, *details: object) -> None:
        self._context.__exit__(*details)  # type: ignore[arg-type]

    @contextmanager
    def carrying(self, parts: Sequence[Vector]) -> Iterator[LaneLoop]:
        f = self.emitter.f
        low, high = self.bounds
        if isinstance(low, int) and isinstance(high, int) and high - low <= self.unroll * LANES:
            yield from self._once(low, parts)
            return
        with f.loop(low, high, self.unroll * LANES, [(p.type, p.name) for p in parts], hint="lanes") as loop:
            self.places = self._places(loop.index)
            self.carried = [p._replace(name=n) for p, n in zip(parts, loop.carried, strict=True)]
            yield self
            loop.next = [p.name for p in self.next]
        self.results = [p._replace(name=n) for p, n in zip(parts, loop.results, strict=True)]

    def _once(self, low: int, parts: Sequence[Vector]) -> Iterator[LaneLoop]:
        self.places = self._places(low)
        self.carried = list(parts)
        yield self
        self.results = list(self.next)

    def _places(self, lane: Value) -> list[Place]:
        emitter = self.emitter
        if self.end is None:
            return [Place(emitter.sum(lane, u * LANES), None) for u in range(self.unroll)]
        b = emitter.vectors(DataType.DT_FP32)
        if isinstance(lane, int) and isinstance(self.end, int):
            rest = self.end - lane
            return [Place(lane, None if rest >= LANES else b.tail(rest))]
        left = emitter.f.op("sub", "i64", self.end, lane)
        count = emitter.f.intrinsic("i64", "llvm.smin.i64", ("i64", left), ("i64", LANES))
        return [Place(lane, b.tail(count))]
