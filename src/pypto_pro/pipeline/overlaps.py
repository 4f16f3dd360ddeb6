"""Which buffers share addresses: pairs, and the regions that follow from them.

Buffers that share bytes are one *region*; tile i of the one must lie on tile i of the other, so that a tile number names one piece
of memory (a *lane*) whoever uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypto.errors.pipeline import OverlapOfMany, OverlapSlotCounts, OverlapTokens, ReuseShifted
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.structure import Kernel


@dataclass(frozen=True)
class Region:
    """Buffers on the same bytes, and how many tiles each of them has."""

    names: tuple[str, ...]
    slots: int


def _share(first: Buffer, second: Buffer) -> bool:
    if first.space is None or first.space != second.space or first.ranges is None or second.ranges is None:
        return False
    return any(a < d and c < b for a, b in first.ranges for c, d in second.ranges)


def overlapping(buffers: dict[str, Buffer]) -> list[tuple[Buffer, Buffer]]:
    """Every pair that shares bytes, in the order of declaration."""
    every = list(buffers.values())
    return [(a, b) for i, a in enumerate(every) for b in every[i + 1 :] if _share(a, b)]


def check_overlaps(kernel: Kernel, buffers: dict[str, Buffer]) -> None:
    """Raises for address reuse around channels that cannot work."""
    pairs = [(a, b) for a, b in overlapping(buffers) if a.channel or b.channel]
    partners: dict[str, list[str]] = {}
    for first, second in pairs:
        if first.slots != second.slots:
            facts: dict[str, Any] = {"first_slots": first.slots, "second_slots": second.slots}
            raise kernel.fail(OverlapSlotCounts, second.node, first=first.name, second=second.name, **facts)
        for one, other in ((first, second), (second, first)):
            partners.setdefault(one.name, []).append(other.name)
            if len(partners[one.name]) > 1:
                names = partners[one.name]
                raise kernel.fail(OverlapOfMany, second.node, group=one.name, first=names[0], second=names[1])
        _check_pair(kernel, first, second)


def _check_pair(kernel: Kernel, first: Buffer, second: Buffer) -> None:
    if first.tokens != second.tokens:
        facts: dict[str, Any] = {"first_ids": _ids(first), "second_ids": _ids(second)}
        raise kernel.fail(OverlapTokens, second.node, first=first.name, second=second.name, **facts)
    for i, (a, b) in enumerate(first.ranges or ()):
        for j, (c, d) in enumerate(second.ranges or ()):
            if i != j and a < d and c < b:
                tiles: dict[str, Any] = {"first_slot": i, "second_slot": j}
                raise kernel.fail(ReuseShifted, second.node, first=first.name, second=second.name, **tiles)


def _ids(buffer: Buffer) -> list[object]:
    return [entry[0] if len(entry) == 1 else list(entry) for entry in buffer.tokens or ()]


def regions(buffers: dict[str, Buffer], used: list[str]) -> dict[str, Region]:
    """The region of every used buffer: overlaps joined, among the used ones only."""
    joined: dict[str, list[str]] = {name: [name] for name in used}
    for first, second in overlapping({name: buffers[name] for name in used}):
        merged = joined[first.name] if second.name in joined[first.name] else joined[first.name] + joined[second.name]
        for name in merged:
            joined[name] = merged
    ordered = {name: tuple(sorted(names, key=used.index)) for name, names in joined.items()}
    return {name: Region(names, max(buffers[one].slots or 1 for one in names)) for name, names in ordered.items()}
