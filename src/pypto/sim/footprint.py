"""Which bytes an access touches: unions of strided runs, and whether two of them meet.

A piece is ``(start, run, ((stride, count), ...))`` in bytes: ``run`` bytes at ``start`` plus any combination of steps, the
largest stride first. Two vector cores that write alternate blocks of one tile have footprints that interleave and never meet.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pypto.cores.layout import Placement
from pypto.sim.pieces import cuts

Steps = tuple[tuple[int, int], ...]
Piece = tuple[int, int, Steps]


def piece(start: int, run: int, steps: Iterable[tuple[int, int]]) -> Piece:
    """The same bytes with steps that are contiguous folded away.

    >>> piece(0, 4, [(64, 8), (4, 16)])
    (0, 512, ())
    """
    kept: list[tuple[int, int]] = []
    for stride, count in sorted(steps):
        if count == 1 or stride == 0:
            continue
        if not kept and stride == run:
            run *= count
        elif kept and stride == kept[-1][0] * kept[-1][1]:
            kept[-1] = (kept[-1][0], kept[-1][1] * count)
        else:
            kept.append((stride, count))
    return start, run, tuple(reversed(kept))


def tile_pieces(place: Placement, address: int, bits: int, rectangle: tuple[int, int, int, int]) -> tuple[Piece, ...]:
    """Bytes of a rectangle (row, column, rows, columns) of a tile at ``address``."""
    row, column, rows, columns = rectangle
    found = []
    for down in cuts(row, rows, place.rows):
        for across in cuts(column, columns, place.columns):
            first = place.element(row + down.out.start, column + across.out.start)
            counts = (
                down.blocks.stop - down.blocks.start,
                down.inner.stop - down.inner.start,
                across.blocks.stop - across.blocks.start,
                across.inner.stop - across.inner.start,
            )
            steps = list(zip(place.strides, counts, strict=True))
            found.append(_in_bytes(address, first, steps, bits))
    return tuple(found)


def _in_bytes(address: int, first: int, steps: list[tuple[int, int]], bits: int) -> Piece:
    if bits >= 8:
        size = bits // 8
        return piece(address + first * size, size, [(stride * size, count) for stride, count in steps])
    start, run, kept = piece(first, 1, steps)  # in elements of half a byte
    end = (start + run + 1) // 2
    if any(stride % 2 for stride, _ in kept):  # rows that share bytes: all from the first to the last
        last = start + run + sum(stride * (count - 1) for stride, count in kept)
        return address + start // 2, (last + 1) // 2 - start // 2, ()
    return piece(address + start // 2, end - start // 2, [(stride // 2, count) for stride, count in kept])


def end_of(one: Piece) -> int:
    """Byte behind the last one."""
    start, run, steps = one
    return start + run + sum(stride * (count - 1) for stride, count in steps)


def starts_of(one: Piece) -> np.ndarray:
    """First byte of every run, sorted as the steps nest."""
    start, _, steps = one
    found = np.array([start])
    for stride, count in steps:
        found = (found[:, None] + np.arange(count) * stride).reshape(-1)
    return found


def intervals_of(pieces: tuple[Piece, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted starts and ends of all runs."""
    starts = np.concatenate([starts_of(one) for one in pieces])
    ends = np.concatenate([starts_of(one) + one[1] for one in pieces])
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]


class Footprint:
    """Bytes of one memory and what was last done to them: the last write, and the last read and atomic add of every queue.

    A record is ``(queue, epoch, call, target)``. ``near`` are the footprints that share a byte with this one, itself first.
    ``rival`` is the write before the last one. Fields, not a list of accesses: what is ordered behind a record replaces it.
    """

    __slots__ = (
        "_intervals",
        "adders",
        "defined",
        "high",
        "low",
        "near",
        "pieces",
        "readers",
        "rival",
        "seen",
        "writer",
    )

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.pieces = pieces
        self.low = min((one[0] for one in pieces), default=0)
        self.high = max((end_of(one) for one in pieces), default=0)
        self.near: list[Footprint] = []
        self.writer: tuple | None = None
        self.rival: tuple | None = None
        self.readers: dict[int, tuple] = {}
        self.adders: dict[int, tuple] = {}
        self.defined = False
        self.seen = False
        self._intervals: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        if self._intervals is None:
            self._intervals = intervals_of(self.pieces)
        return self._intervals

    def meets(self, other: Footprint) -> bool:
        """Whether a byte belongs to both."""
        if self.low >= other.high or other.low >= self.high:
            return False
        if len(self.pieces) == len(other.pieces) == 1:
            quick = _rows_meet(self.pieces[0], other.pieces[0])
            if quick is not None:
                return quick
        return len(common(self, other)[0]) > 0


def _rows_meet(one: Piece, other: Piece) -> bool | None:
    """Two windows of rows of the same pitch, compared as rectangles; None where that does not tell."""
    if len(one[2]) != 1 or len(other[2]) != 1 or one[2][0][0] != other[2][0][0]:
        return None if one[2] or other[2] else True  # plain runs whose ranges meet
    pitch = one[2][0][0]
    (row, column), (other_row, other_column) = divmod(one[0], pitch), divmod(other[0], pitch)
    if column + one[1] > pitch or other_column + other[1] > pitch:
        return None
    rows = row < other_row + other[2][0][1] and other_row < row + one[2][0][1]
    return rows and column < other_column + other[1] and other_column < column + one[1]


def common(one: Footprint, other: Footprint) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the runs that belong to both."""
    starts, ends = one.intervals
    other_starts, other_ends = other.intervals
    first = np.searchsorted(other_ends, starts, side="right")
    last = np.searchsorted(other_starts, ends, side="left")
    counts = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(starts)), counts)
    theirs = np.repeat(first, counts) + np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.maximum(starts[mine], other_starts[theirs]), np.minimum(ends[mine], other_ends[theirs])
