"""A core group (one block): a cube core and two vector cores, their memories and the counters between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.cores.enums import CoreType, CrossCoreSyncMode, MemorySpace
from pypto.cores.types import Struct
from pypto.errors.simulation import SpaceNotOnChip
from pypto.ops.tile.handover import CAPACITY, fields_of
from pypto.sim.calls import Call
from pypto.sim.footprint import piece
from pypto.sim.hazards import Domain
from pypto.sim.signals import Counter
from pypto.sim.units import Unit

POISON = 0xFF  # NaN in every float type, -1 in every integer


class Spare:
    """Arrays of blocks that are over: a launch of many blocks needs the memories of one."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[int, np.dtype], list[np.ndarray]] = {}

    def take(self, size: int, dtype: Any, value: Any) -> np.ndarray:
        """An array full of ``value``."""
        found = self.arrays.get((size, np.dtype(dtype)))
        if not found:
            return np.full(size, value, dtype)
        array = found.pop()
        array.fill(value)
        return array

    def give(self, array: np.ndarray) -> None:
        self.arrays.setdefault((len(array), array.dtype), []).append(array)


class Group:
    """One block. ``index`` is its number; memories appear when a tile is first declared in them."""

    def __init__(self, machine: Any, index: int) -> None:
        self.machine, self.index = machine, index
        self.memories: dict[tuple[MemorySpace, int], tuple[np.ndarray, Domain | None]] = {}
        self.counters: dict[tuple, Counter] = {}
        self.units: list[Unit] = []
        suffix = f" of block {index}" if machine.blocks > 1 else ""
        if machine.program.cube is not None:
            self.units.append(Unit(machine, self, CoreType.CUBE, 0, f"AIC{suffix}"))
        if machine.program.vector is not None:
            count = machine.chip.vector_per_cube if machine.program.mixed else 1
            self.units += [Unit(machine, self, CoreType.VECTOR, sub, f"AIV{sub}{suffix}") for sub in range(count)]
        self.suffix = suffix
        self.scalar_buffer = ScalarBuffer(machine, suffix)

    def memory(self, space: MemorySpace, subblock: int) -> tuple[np.ndarray, Domain | None]:
        """Bytes and hazards of a memory; there is one UB per vector core, of the rest one per group."""
        key = (space, subblock if space is MemorySpace.Vec else 0)
        found = self.memories.get(key)
        if found is None:
            found = self.memories[key] = self._memory(space, key[1])
        return found

    def _memory(self, space: MemorySpace, subblock: int) -> tuple[np.ndarray, Domain | None]:
        memory = self.machine.chip.memory(space)
        if memory is None:
            raise SpaceNotOnChip(name="a tile", space=space.name, chip=self.machine.chip.name)
        size = max(memory.bytes, self.machine.needed.get(space, 0))
        owner = f"AIV{subblock}" if space is MemorySpace.Vec else "AIC"
        watched = self.machine.watched
        spare = self.machine.spare
        domain = None
        if watched:
            label = f"{memory.name} of {owner}{self.suffix}"
            domain = Domain(label, size, self.machine.report, on_chip=True, defined=spare.take(size, np.bool_, False))
        return spare.take(size, np.uint8, POISON), domain

    def leave(self) -> None:
        """The block is over: the next one has the memories. Calls that are kept for reports still know their tiles, not the bytes."""
        for data, domain in self.memories.values():
            self.machine.spare.give(data)
            if domain is not None:
                self.machine.spare.give(domain.defined)
        self.memories.clear()

    # -- cross-core counters (tile API section 4.4) ---------------------------------------------------------------------------

    def _vector(self, subblock: int) -> Unit | str:
        vectors = [unit for unit in self.units if unit.kind is CoreType.VECTOR]
        return vectors[subblock] if subblock < len(vectors) else f"AIV{subblock}"

    def _cube(self) -> Unit | str:
        return next((unit for unit in self.units if unit.kind is CoreType.CUBE), "AIC")

    def posted(self, unit: Unit, mode: CrossCoreSyncMode, event: int) -> list[Counter]:
        """Counters that a set raises."""
        events = self.machine.chip.identifiers["cross_core"]
        if mode is CrossCoreSyncMode.INTER_BLOCK:
            return [self.machine.counter(other, unit, "all blocks", event) for other in self.machine.alike(unit)]
        if mode is CrossCoreSyncMode.INTER_SUBBLOCK:
            return [self._counter(self._vector(1 - unit.subblock), unit, "other vector core", event)]
        if unit.kind is CoreType.VECTOR:
            return [self._counter(self._cube(), unit, "", event % events)]
        if mode is CrossCoreSyncMode.UNICAST_BLOCK:
            return [self._counter(self._vector(event // events), unit, "", event % events)]
        return [self._counter(self._vector(sub), unit, "", event) for sub in range(self.machine.chip.vector_per_cube)]

    def awaited(self, unit: Unit, mode: CrossCoreSyncMode, event: int) -> list[Counter]:
        """Counters that a wait lowers."""
        events = self.machine.chip.identifiers["cross_core"]
        if mode is CrossCoreSyncMode.INTER_BLOCK:
            return [self.machine.counter(unit, other, "all blocks", event) for other in self.machine.alike(unit)]
        if mode is CrossCoreSyncMode.INTER_SUBBLOCK:
            return [self._counter(unit, self._vector(1 - unit.subblock), "other vector core", event)]
        if unit.kind is CoreType.VECTOR:
            return [self._counter(unit, self._cube(), "", event % events)]
        if mode is CrossCoreSyncMode.UNICAST_BLOCK:
            return [self._counter(unit, self._vector(event // events), "", event % events)]
        return [self._counter(unit, self._vector(sub), "", event) for sub in range(self.machine.chip.vector_per_cube)]

    def _counter(self, receiver: Unit | str, setter: Unit | str, kind: str, event: int) -> Counter:
        return self.machine.counter(receiver, setter, kind, event, self.counters)


class ScalarBuffer:
    """The small buffer that the scalar units of a group share: structs cross it word by word."""

    def __init__(self, machine: Any, suffix: str) -> None:
        self.machine = machine
        self.bytes = np.full(CAPACITY, POISON, np.uint8)
        self.domain = Domain(f"SSBUF{suffix}", CAPACITY, machine.report, on_chip=True)
        self.name = "the scalar buffer"

    def store(self, call: Call, type: Struct) -> None:
        record, offset = call.operands[0], int(call.operands[1])
        for name, dtype, length, start in fields_of(type, offset):
            values = getattr(record, name) if length is not None else [getattr(record, name)]
            raw = np.array(values, dtype.facts.numpy).view(np.uint8)
            self.bytes[start : start + len(raw)] = raw
        self._touch(call, type, offset, "write")

    def load(self, call: Call, type: Struct) -> None:
        record, offset = call.operands[0], int(call.operands[1])
        self._touch(call, type, offset, "read")
        for name, dtype, length, start in fields_of(type, offset):
            size = dtype.size * (1 if length is None else length)
            values = self.bytes[start : start + size].copy().view(dtype.facts.numpy).tolist()
            setattr(record, name, values if length is not None else values[0])

    def _touch(self, call: Call, type: Struct, offset: int, role: str) -> None:
        scalar = call.unit.scalar
        if self.machine.watched:
            ends = [start + dtype.size * (length or 1) for _, dtype, length, start in fields_of(type, offset)]
            where = self.domain.footprint((piece(offset, max(ends, default=offset) - offset, ()),))
            getattr(self.domain, role)(where, scalar, call, self)
            scalar.touched()
            scalar.told = (scalar.index, scalar.epoch - 1, scalar.clock)
        if self.machine.timed:
            scalar.spend(call, self.machine.chip.cycles["scalar"], 0.0)
