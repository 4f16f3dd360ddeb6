"""What a queue knows of the others: vector clocks.

A queue (one pipe of one core) counts its epochs; every release (a set, an unlock, an issue by the scalar unit) ends one. ``clock[i]`` is
the last epoch of queue i that is known to be over. Clocks are lists that nobody changes: a release hands out the list itself, and an
acquire makes a new one. A queue knows its own past without being told (``ALWAYS``), but for MTE2: two loads into the same
bytes are ordered only by ``bar_mte2`` or by a way through another queue (tile API section 3.1).
"""

from __future__ import annotations

from typing import NamedTuple

ALWAYS = 1 << 60
FOREIGN = 1 << 61  # epoch of records of another block: later than anything known


class Release(NamedTuple):
    """What an acquire learns: the moment, the number of the queue, the epoch that ended, the clock of the queue, the call that did it."""

    time: float
    queue: int
    epoch: int
    clock: list[int]
    call: object


def joined(mine: list[int], index: int, epoch: int, theirs: list[int]) -> list[int]:
    """What I know after queue ``index`` tells that its ``epoch`` is over and what it knew.

    >>> joined([ALWAYS, 0, 3], 1, 7, [2, ALWAYS, 1])[1:]
    [7, 3]
    """
    if epoch <= mine[index]:  # told already, and with it all that was known then
        return mine
    known = mine[index]
    found = list(map(max, mine, theirs))
    found[index] = max(known, epoch)
    return found
