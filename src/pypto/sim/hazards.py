"""Watched memories: who touched which bytes last, and whether that happened before.

Every access has a record in the footprint it touches. It races with a record over common bytes that its queue has not been told
of: the record's epoch is later than what the queue's clock knows of the record's queue (``clocks``). Two records of the same
footprint that are ordered need one: what is ordered after the later is ordered after both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.sim.clocks import FOREIGN
from pypto.sim.footprint import Footprint, Piece

READ, WRITE, ADD, SCRATCH = 0, 1, 2, 3
PAGES = 256  # a memory is divided into so many, to find footprints that may share bytes
WIDEST = 64  # a footprint over more pages is compared with every other
ANYONE = -1  # key of records that an earlier block left


class Domain:
    """One memory: ``label`` for reports, ``size`` in bytes, ``chip`` memory starts undefined, global memory does not."""

    def __init__(self, label: str, size: int, report: Any, *, on_chip: bool, defined: np.ndarray | None = None) -> None:
        self.label, self.report, self.on_chip = label, report, on_chip
        self.known: dict[tuple[Piece, ...], Footprint] = {}
        self.touched: list[Footprint] = []  # in this block
        self.written = on_chip  # what nobody writes needs no comparison
        self.page = max(size // PAGES, 1)
        self.pages: dict[int, list[Footprint]] = {}
        self.wide: list[Footprint] = []
        self.defined = np.zeros(size if on_chip else 0, np.bool_) if defined is None else defined

    def footprint(self, pieces: tuple[Piece, ...]) -> Footprint:
        """The one record of these bytes."""
        found = self.known.get(pieces)
        if found is None:
            found = self.known[pieces] = Footprint(pieces)
            found.defined = not self.on_chip or found.low == found.high
            if self.written:
                self._introduce(found)
        self.touched.append(found)
        return found

    def first_write(self) -> None:
        """From now on footprints are compared, those before included."""
        self.written = True
        for one in self.known.values():
            self._introduce(one)

    def _introduce(self, new: Footprint) -> None:
        first, last = new.low // self.page, max(new.high - 1, new.low) // self.page
        pages = range(first, last + 1)
        candidates = list(self.wide)
        if len(pages) > WIDEST:
            candidates = [one for one in self.known.values() if one.near]
            self.wide.append(new)
        else:
            for page in pages:
                candidates += self.pages.setdefault(page, [])
                self.pages[page].append(new)
        new.near.append(new)
        for one in dict.fromkeys(candidates):
            if one is not new and new.meets(one):
                new.near.append(one)
                one.near.append(new)

    # -- accesses -------------------------------------------------------------------------------------------------------------

    def read(self, where: Footprint, queue: Any, call: Any, target: Any) -> None:
        clock = queue.clock
        for one in where.near:
            writer = one.writer
            if writer is not None and writer[1] > clock[writer[0]]:
                self.report.race(self, (one, writer, WRITE), (where, queue, call, target, READ))
            if one.adders:
                self._compare(one, one.adders, ADD, (where, queue, call, target, READ))
        if not where.defined:
            self._require_defined(where, call, target)
        before = where.readers.get(queue.index)
        first = before and (before[4] or before)  # for reports: the first read since the bytes were written
        where.readers[queue.index] = (queue.index, queue.epoch, call, target, first)

    def write(self, where: Footprint, queue: Any, call: Any, target: Any) -> None:
        if not self.written:
            self.first_write()
        clock = queue.clock
        for one in where.near:
            writer = one.writer
            if writer is not None and writer[1] > clock[writer[0]]:
                self.report.race(self, (one, writer, WRITE), (where, queue, call, target, WRITE))
            for reader in one.readers.values():
                if reader[1] > clock[reader[0]]:
                    self.report.race(self, (one, reader, READ), (where, queue, call, target, WRITE))
            if one.adders:
                self._compare(one, one.adders, ADD, (where, queue, call, target, WRITE))
        where.rival, where.writer = where.writer, (queue.index, queue.epoch, call, target)
        if where.readers:
            where.readers = {}
        if where.adders:
            where.adders = {}
        if not where.defined:
            self._define(where)

    def scratch(self, where: Footprint, queue: Any, call: Any, target: Any) -> None:
        """A write that leaves nothing one may read."""
        self.write(where, queue, call, target)
        for start, end in zip(*where.intervals, strict=True):
            self.defined[start:end] = False
        for one in where.near:
            one.defined = False

    def add(self, where: Footprint, queue: Any, call: Any, target: Any) -> None:
        """An atomic addition: free among its kind."""
        if not self.written:
            self.first_write()
        access = (where, queue, call, target, ADD)
        for one in where.near:
            writers = {} if one.writer is None else {0: one.writer}
            self._compare(one, writers, WRITE, access)
            self._compare(one, one.readers, READ, access)
        where.adders[queue.index] = (queue.index, queue.epoch, call, target)

    def _compare(self, one: Footprint, records: dict[int, tuple], role: int, access: tuple) -> None:
        clock = access[1].clock
        for record in records.values():
            if record[1] > clock[record[0]]:
                self.report.race(self, (one, record, role), access)

    # -- defined bytes --------------------------------------------------------------------------------------------------------

    def _define(self, where: Footprint) -> None:
        for start, end in zip(*where.intervals, strict=True):
            self.defined[start:end] = True
        where.defined = True

    def _require_defined(self, where: Footprint, call: Any, target: Any) -> None:
        starts, ends = where.intervals
        missing = [(start, end) for start, end in zip(starts, ends, strict=True) if not self.defined[start:end].all()]
        if not missing:
            where.defined = True
            return
        count = sum(int((~self.defined[start:end]).sum()) for start, end in missing)
        start, end = missing[0]
        first = int(start + np.argmin(self.defined[start:end]))
        self.report.undefined(self, call, target, count, int((ends - starts).sum()), first)

    # -- blocks ---------------------------------------------------------------------------------------------------------------

    def end_block(self) -> None:
        """Blocks run at the same time unless they meet: no record of this one is ordered before anything of the next."""
        for one in self.touched:
            if one.writer is not None:
                one.writer = (0, FOREIGN, *one.writer[2:])
            one.rival = None
            one.readers = _foreign(one.readers)
            one.adders = _foreign(one.adders)
        self.touched.clear()


def _foreign(records: dict[int, tuple]) -> dict[int, tuple]:
    for record in records.values():
        return {ANYONE: (0, FOREIGN, *record[2:4], None)}
    return records


def access(plan: list[tuple[Any, Footprint, int, Any]], queue: Any, call: Any) -> None:
    """Everything a call touches, reads first (what it reads is not what it writes), then scratch."""
    for domain, where, role, target in plan:
        if role == READ:
            domain.read(where, queue, call, target)
        elif role == WRITE:
            domain.write(where, queue, call, target)
        elif role == SCRATCH:
            domain.scratch(where, queue, call, target)
        else:
            domain.add(where, queue, call, target)
