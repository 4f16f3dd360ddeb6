"""What a queue knows of the others: vector clocks.

A queue (one pipe of one core) counts its epochs; every release (a set, an unlock, an issue by the scalar unit) ends one.
``clock[i]`` is the last epoch of queue i that is known to be over. Nobody changes a clock: a release hands it out, an acquire makes
a new one (a list, or an array where many queues meet). A queue knows its own past without being told (``ALWAYS``), but for MTE2: two
loads into the same bytes are ordered only by ``bar_mte2`` or by a way through another queue (tile API section 3.1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ALWAYS = 1 << 60
FOREIGN = 1 << 61  # epoch of records of another block: later than anything known


Clock = Any  # list[int], or an array where there are many queues
MANY = 64


def new_clock(queues: int) -> Clock:
    """Knows nothing."""
    return [0] * queues if queues <= MANY else np.zeros(queues, np.int64)


class Release(NamedTuple):
    """What an acquire learns: the moment, the number of the queue, the epoch that ended, the clock of the queue, the call that did it."""

    time: float
    queue: int
    epoch: int
    clock: Clock
    call: Any


def joined(mine: Clock, index: int, epoch: int, theirs: Clock) -> Clock:
    """What I know after queue ``index`` tells that its ``epoch`` is over and what it knew.

    >>> joined([ALWAYS, 0, 3], 1, 7, [2, ALWAYS, 1])[1:]
    [7, 3]
    """
    if epoch <= mine[index]:  # told already, and with it all that was known then
        return mine
    known = mine[index]
    found = list(map(max, mine, theirs)) if isinstance(mine, list) else np.maximum(mine, theirs)
    found[index] = max(known, epoch)
    return found
