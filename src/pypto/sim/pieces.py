"""An extent cut at block borders: part of a block, whole blocks, part of a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """``count`` places from ``start`` on: blocks ``blocks``, inside them ``inner``; ``out`` is where they lie in the extent."""

    blocks: slice
    inner: slice
    out: slice
    count: int


def cuts(start: int, count: int, size: int) -> Iterator[Cut]:
    """The pieces of ``count`` places from ``start`` on, where a block holds ``size``.

    >>> [cut.count for cut in cuts(5, 20, 8)]
    [3, 16, 1]
    """
    position, end = start, start + count
    while position < end:
        block, inside = divmod(position, size)
        whole = (end - position) // size
        if inside or not whole:
            taken = min(size - inside, end - position)
            blocks, inner = slice(block, block + 1), slice(inside, inside + taken)
        else:
            taken = whole * size
            blocks, inner = slice(block, block + whole), slice(0, size)
        yield Cut(blocks, inner, slice(position - start, position - start + taken), taken)
        position += taken
