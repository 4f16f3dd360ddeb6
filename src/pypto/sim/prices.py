"""Cycles of a call, from the rates of the chip file.

A row prices itself with pairs of rate and amount (``work``), or by rates each charged on the bytes of its largest tile (``cost``). Work
whose rate the file does not have costs the default rate, and is remembered for the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto.chips.model import Chip
from pypto.cores.enums import PipeType
from pypto.sim.calls import Call
from pypto.sim.memory import TileMemory


class Prices:
    """Price list of one run. ``unpriced``: rates that were asked for and do not exist, with how often a place in a program did."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.unpriced: dict[str, int] = {}

    def of(self, call: Call) -> tuple[float, float, float]:
        """Cycles on the pipe, the same when global memory has to be fetched from DDR, and the latency behind."""
        if call.site.pipe is PipeType.S and not call.site.row.cost:  # an access to a memory; the rest is part of issuing
            cycles = self.chip.cycles["scalar"] if set(call.site.roles) - {"-"} else 0.0
            return cycles, cycles, 0.0
        element = _element(call)
        cycles = first = latency = 0.0
        for name, amount in self._work(call):
            rate = self.chip.rates.get(name)
            if rate is None:
                self.unpriced[name] = self.unpriced.get(name, 0) + 1
                rate = self.chip.rates["default"]
            cycles += rate.cycles(amount, element)
            first += rate.cycles(amount, element, first=True)
            latency = max(latency, rate.latency)
        return cycles, first, latency

    def _work(self, call: Call) -> Iterable[tuple[str, float]]:
        row = call.site.row
        if row.work is not None:
            return row.work(call)  # type: ignore[arg-type]
        names = row.cost or (row.name,)
        amount = largest(call)
        return [(name, amount) for name in names]


def largest(call: Call) -> float:
    """Bytes of the largest valid region among the tiles of a call."""
    tiles = (one for one in call.operands if isinstance(one, TileMemory))
    return max((one.rows * one.columns * one.type.dtype.facts.bits / 8 for one in tiles), default=0.0)


def _element(call: Call) -> str:
    """Label of the element type of the first input: a tile that the row reads, or the only one."""
    tiles: list[tuple[str, Any]] = [
        (role, one) for role, one in zip(call.site.roles, call.operands, strict=True) if isinstance(one, TileMemory)
    ]
    for role, tile in tiles:
        if "R" in role:
            return tile.type.dtype.label
    return tiles[0][1].type.dtype.label if tiles else ""
