"""What a call touches and costs, found once per place in the program and operands, and kept while their extents stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.ops.tile.table import Touch
from pypto.sim.calls import Call
from pypto.sim.footprint import Footprint, piece, tile_pieces
from pypto.sim.hazards import ADD, READ, SCRATCH, WRITE
from pypto.sim.memory import TensorMemory, TileMemory

MOST_PLANS = 20_000  # of one instruction
ROLES = {"R": (READ,), "W": (WRITE,), "RW": (READ, WRITE), "A": (ADD,), "T": (SCRATCH,)}
ORDER = {READ: 0, SCRATCH: 1, WRITE: 2, ADD: 3}  # what a call writes where it also had scratch is defined afterwards


class Plan:
    """``accesses`` for the race check, ``cycles`` and ``latency`` for time; ``fresh`` bytes cost more when nobody read them before."""

    __slots__ = ("accesses", "cycles", "first_cycles", "fresh", "latency", "shapes")

    def __init__(self, call: Call) -> None:
        machine = call.unit.machine
        tiles = [operand for operand in call.operands if isinstance(operand, TileMemory)]
        touches = touches_of(call) if machine.watched else []
        self.accesses = sorted(_accesses(touches), key=lambda access: ORDER[access[2]])
        self.cycles = self.first_cycles = self.latency = 0.0
        self.fresh: list[Footprint] = []
        if machine.timed:
            self.fresh = _fresh(call, touches)
            self.cycles, self.first_cycles, self.latency = machine.prices.of(call)
        self.shapes = [(tile, tile.rows, tile.columns) for tile in tiles]  # as the row left them: some round them up

    def holds(self) -> bool:
        """Whether the tiles still have the extents this was made for."""
        for tile, rows, columns in self.shapes:  # noqa: SIM110  (a generator would be half of the cost of a call)
            if tile.rows != rows or tile.columns != columns:
                return False
        return True

    def price(self) -> float:
        """Cycles this time: bytes that nobody has read before come from further away."""
        if not self.fresh:
            return self.cycles
        new = [one for one in self.fresh if not one.seen]
        self.fresh = []
        for one in new:
            one.seen = True
        return self.first_cycles if new else self.cycles


def plan_of(call: Call, plans: dict[Any, Plan]) -> Plan:
    """The plan of a call; ``plans`` are those of its place and core."""
    if call.site.row.dependent:
        return Plan(call)
    key: Any = call.operands
    if call.site.varying:
        key = (key, tuple(call.attributes.values()))
    if len(plans) > MOST_PLANS:
        plans.clear()
    found = plans.get(key)
    if found is not None and found.holds():
        return found
    extents = tuple((one.rows, one.columns) for one in call.operands if isinstance(one, TileMemory))
    exact = plans.get((key, extents))
    if exact is None or not exact.holds():
        exact = plans[(key, extents)] = Plan(call)
    plans[key] = exact
    return exact


def touches_of(call: Call) -> list[Touch]:
    """Those of the row, or the valid region of every tile operand in the role it has."""
    if call.site.row.touches is not None:
        return list(call.site.row.touches(call))  # type: ignore[arg-type]
    pairs = zip(call.operands, call.site.roles, strict=True)
    return [Touch(one, role, 0, 0, one.rows, one.columns) for one, role in pairs if role != "-" and isinstance(one, TileMemory)]


def _accesses(touches: Sequence[Touch]) -> list[tuple[Any, Footprint, int, Any]]:
    found = []
    for touch in touches:
        target = touch.target
        if not (touch.rows and touch.columns) or target.domain is None:
            continue
        where = footprint_of(touch)
        found += [(target.domain, where, role, target) for role in ROLES[touch.role]]
    return found


def footprint_of(touch: Touch) -> Footprint:
    """The bytes of a touch, in the memory of its target."""
    target = touch.target
    if isinstance(target, TensorMemory):
        start, down, across = target.span(touch.offsets, touch.axes, touch.rows, touch.columns)
        size = target.numpy_dtype.itemsize
        steps = [(down * size, touch.rows), (across * size, touch.columns)]
        return target.domain.footprint((piece(target.origin + start * size, size, steps),))
    rectangle = (touch.row, touch.column, touch.rows, touch.columns)
    whole = rectangle == (0, 0, target.rows, target.columns)
    if whole and target.footprint is not None:
        return target.footprint
    pieces = tile_pieces(target.placement, target.address, target.type.dtype.facts.bits, rectangle)
    found = target.domain.footprint(pieces)
    if whole:
        target.footprint = found
    return found


def _fresh(call: Call, touches: Sequence[Touch]) -> list[Footprint]:
    """Global memory that the call reads."""
    if not touches and call.site.row.touches is not None and any(isinstance(one, TensorMemory) for one in call.operands):
        touches = list(call.site.row.touches(call))  # type: ignore[arg-type]
    return [
        footprint_of(one)
        for one in touches
        if one.role == "R" and isinstance(one.target, TensorMemory) and one.target.domain is not None and one.rows and one.columns
    ]
