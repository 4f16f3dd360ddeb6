"""Tiles that the kernel takes outside of the stages and hands to delayed ones: their number is kept, not the tile.

Before → after, for a group ``g`` of 3 tiles::

    g = pl.make_tile_group(...)          g = pl.make_tile_group(...)
                                         _pl_idx_g = 2
    x = g.next()                         _pl_idx_g = (_pl_idx_g + 1) % 3
                                         _pl_slot_x = _pl_idx_g
                                         x = g[_pl_slot_x]

All picks of the group in the kernel are rewritten: the cursor of the group itself is not used any more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.structure import Kernel
from pypto_pro.pipeline.traces import Reading
from pypto_pro.pipeline.values import Slot
from pypto_pro.pipeline.writing import made

_NUMBER = {
    "next": "{cursor} = ({cursor} + 1) % {slots}\n{number} = {cursor}",
    "current": "{number} = {cursor}",
    "previous": "{number} = ({cursor} + {last}) % {slots}",
}


def rewrite_picks(kernel: Kernel, reading: Reading, kept: Mapping[str, Slot]) -> None:
    """Gives the groups of the kept tiles a cursor in a variable; changes ``kernel.node``."""
    groups = {slot.buffer for slot in kept.values()}
    replaced: dict[int, list[ast.stmt]] = {}
    for name, (slot, statement) in reading.picks.items():
        if slot.buffer in groups:
            replaced[id(statement)] = _picked(name, slot, reading.buffers[slot.buffer], statement)
    for group in sorted(groups):
        buffer = reading.buffers[group]
        replaced[id(buffer.statement)] = [
            buffer.statement,
            *made(f"{_cursor(group)} = {buffer.slots or 1} - 1", buffer.statement),
        ]
    _replace(kernel.node.body, replaced)


def _cursor(group: str) -> str:
    return f"_pl_idx_{group}"


def _picked(name: str, slot: Slot, buffer: Buffer, statement: ast.stmt) -> list[ast.stmt]:
    slots = buffer.slots or 1
    number = f"_pl_slot_{name}"
    if slot.index is not None:
        text = f"{number} = {ast.unparse(slot.index)}"
    else:
        text = _NUMBER[slot.how].format(cursor=_cursor(slot.buffer), number=number, slots=slots, last=slots - 1)
    return made(f"{text}\n{name} = {slot.buffer}[{number}]", statement)


def _replace(body: list[ast.stmt], replaced: Mapping[int, Iterable[ast.stmt]]) -> None:
    body[:] = [one for statement in body for one in replaced.get(id(statement), [statement])]
    for statement in body:
        for name in ("body", "orelse"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                _replace(inner, replaced)
