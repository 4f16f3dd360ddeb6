"""Where local buffers live: one arena per frame, offsets reused by buffers that are never alive together.

A *frame* is the control function, or the body of a parallel loop (each task has an arena of its own). A buffer belongs to the
innermost frame that contains all its uses. It is alive from its first to its last use; a use inside a loop that does not contain
all uses counts as the whole loop. Buffers whose size is known when the frame is entered are placed behind the others, without reuse. A
size that depends on numbers found on the way, without a bound, is *late*: such a buffer is acquired in front of its first use
and given back at the end of the block that has all its uses.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from pypto.cpu.items import IfItem, Item, LoopItem
from pypto.cpu.views import Buffer
from pypto.ir.symbols import Expression, Scalar, Symbol, bounds_of, mul, symbols_in

ALIGNMENT = 64
Path = tuple[tuple[Item, int], ...]  # enclosing items, outermost first, each with the number of its inner block


@dataclass(eq=False)
class Frame:
    """``size``: bytes of the static part; ``offsets``: by buffer; ``dynamic``: buffers sized at run time, with their bytes."""

    owner: LoopItem | None
    size: int = 0
    offsets: dict[Buffer, int] = field(default_factory=dict)
    dynamic: list[tuple[Buffer, Scalar]] = field(default_factory=list)


@dataclass
class _Use:
    path: Path
    position: int
    item: Item


class Memory:
    """Places every local buffer of a schedule. ``parallel``: the loops whose bodies are frames."""

    def __init__(self, items: list[Item], parallel: set[LoopItem], known: set[Symbol]) -> None:
        self.parallel = parallel
        self.known = known
        self.ranges: dict[Item, tuple[int, int]] = {}
        self.uses: dict[Buffer, list[_Use]] = {}
        self.clock = 0
        self._walk(items, ())
        self.frames: dict[LoopItem | None, Frame] = {None: Frame(None), **{loop: Frame(loop) for loop in parallel}}
        self.owner: dict[Buffer, Frame] = {}
        self.late: dict[int, dict[Item, list[tuple[Buffer, Scalar]]]] = {}  # by identity of a block's list, by item
        self.top = items
        self._place()

    def _walk(self, items: Iterable[Item], path: Path) -> None:
        for item in items:
            start = self.clock
            self.clock += 1
            if isinstance(item, LoopItem):
                self._walk(item.body, (*path, (item, 0)))
            elif isinstance(item, IfItem):
                self._walk(item.then, (*path, (item, 0)))
                self._walk(item.orelse, (*path, (item, 1)))
            else:
                for buffer in item.reads | item.writes:
                    if buffer.role == "local":
                        self.uses.setdefault(buffer, []).append(_Use(path, start, item))
            self.ranges[item] = (start, self.clock)

    def _place(self) -> None:
        intervals: dict[Frame, list[tuple[int, int, Buffer, int]]] = {}
        for buffer, uses in self.uses.items():
            depth = _common(uses)
            frame = self._frame(uses[0].path[:depth])
            self.owner[buffer] = frame
            size = buffer.facts.get("bytes", mul(buffer.elements, buffer.dtype.size))
            fixed = self._fixed(size)
            if isinstance(fixed, Expression):
                self._postpone(buffer, size, uses[0], depth)
                continue
            if fixed is None:
                frame.dynamic.append((buffer, size))
                continue
            spans = [self.ranges[u.path[depth][0]] if len(u.path) > depth else (u.position, u.position + 1) for u in uses]
            spans_start, spans_end = min(s for s, _ in spans), max(e for _, e in spans)
            length = max(-(-fixed // ALIGNMENT), 1) * ALIGNMENT  # empty tensors have an address too
            intervals.setdefault(frame, []).append((spans_start, spans_end, buffer, length))
        for frame, found in intervals.items():
            frame.size, frame.offsets = _packed(found)

    def _frame(self, path: Path) -> Frame:
        owner = next((item for item, _ in reversed(path) if item in self.parallel), None)
        return self.frames[owner]  # type: ignore[index]

    def _postpone(self, buffer: Buffer, size: Scalar, first: _Use, depth: int) -> None:
        """Note that a buffer is acquired in front of the item of its block that uses it first."""
        block = self.top
        if depth:
            owner, which = first.path[depth - 1]
            block = owner.body if isinstance(owner, LoopItem) else (owner.then, owner.orelse)[which]  # type: ignore[attr-defined]
        item = first.path[depth][0] if len(first.path) > depth else first.item
        self.late.setdefault(id(block), {}).setdefault(item, []).append((buffer, size))

    def _fixed(self, size: Scalar) -> int | Expression | None:
        """Bytes when known now, or an upper bound; None: known at entry; the size itself: known on the way."""
        if not isinstance(size, Expression):
            return int(size)
        if all(s in self.known for s in symbols_in(size)):
            return None
        high = bounds_of(size)[1]
        return size if high == float("inf") else int(high)


def _common(uses: list[_Use]) -> int:
    """Length of the longest path that all uses share."""
    first = uses[0].path
    depth = len(first)
    for use in uses[1:]:
        depth = min(depth, len(use.path))
        while first[:depth] != use.path[:depth]:
            depth -= 1
    return depth


def _packed(found: list[tuple[int, int, Buffer, int]]) -> tuple[int, dict[Buffer, int]]:
    """First-fit offsets for (start, end, buffer, bytes) intervals."""
    offsets: dict[Buffer, int] = {}
    alive: list[tuple[int, int, int]] = []  # heap of end of life, offset, bytes
    room = _Room()
    for start, end, buffer, size in sorted(found, key=lambda f: (f[0], -f[3])):
        while alive and alive[0][0] <= start:
            room.give_back(*heapq.heappop(alive)[1:])
        offsets[buffer] = room.take(size)
        heapq.heappush(alive, (end, offsets[buffer], size))
    return room.most, offsets


class _Room:
    """Free bytes: ``holes`` (offset, bytes), ascending and apart, below ``top``, and everything above it."""

    def __init__(self) -> None:
        self.holes: list[tuple[int, int]] = []
        self.top = self.most = 0

    def take(self, size: int) -> int:
        """Offset of the first free place that is large enough."""
        for number, (offset, free) in enumerate(self.holes):
            if free >= size:
                self.holes[number : number + 1] = [(offset + size, free - size)] if free > size else []
                return offset
        self.top += size
        self.most = max(self.most, self.top)
        return self.top - size

    def give_back(self, offset: int, size: int) -> None:
        at = bisect.bisect(self.holes, (offset, 0))
        if at < len(self.holes) and self.holes[at][0] == offset + size:
            size += self.holes.pop(at)[1]
        if at and sum(self.holes[at - 1]) == offset:
            at -= 1
            offset, size = self.holes[at][0], self.holes.pop(at)[1] + size
        if offset + size == self.top:
            self.top = offset
        else:
            self.holes.insert(at, (offset, size))
