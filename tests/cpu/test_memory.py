"""Placing local buffers: first fit, quickly for thousands that are alive together."""

import random

from pypto.cpu.memory import _packed


def plainly(found):
    """First fit by looking at all that is alive."""
    offsets, active, total = {}, [], 0
    for start, end, name, size in sorted(found, key=lambda f: (f[0], -f[3])):
        active = sorted(a for a in active if a[2] > start)
        offset = 0
        for low, high, _ in active:
            if offset + size <= low:
                break
            offset = max(offset, high)
        offsets[name] = offset
        active.append((offset, offset + size, end))
        total = max(total, offset + size)
    return total, offsets


def test_first_fit():
    choose = random.Random(3)
    for count in range(60):
        found = []
        for name in range(count):
            start = choose.randrange(30)
            found.append((start, start + choose.randint(1, 12), name, 64 * choose.randint(1, 5)))
        assert _packed(found) == plainly(found)


def test_many_buffers_alive_together():
    total, offsets = _packed([(k, 40_000, k, 64) for k in range(20_000)])
    assert total == 20_000 * 64 and len(set(offsets.values())) == 20_000
