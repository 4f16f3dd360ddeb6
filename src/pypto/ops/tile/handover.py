"""``ssbuf_store`` and ``ssbuf_load``: structs through the small buffer that the scalar units of a group share (tile API section 3.1).

The simulator moves the words, since structs are its own; these rows bind and check, and say where the words lie.
"""

from __future__ import annotations

from typing import Any

from pypto.cores.enums import PipeType
from pypto.cores.types import Struct
from pypto.dtypes import DataType
from pypto.errors.tile_memory import ScalarBufferExceeded, ScalarBufferOffset
from pypto.ops.tile.checks import operand
from pypto.ops.tile.table import StaticCall, StaticOperand, TileOperation, positional, register

CAPACITY = 256  # bytes; tile API section 6.1: usually
WORD = 4


def words_of(size: int) -> int:
    """``size`` bytes up to the next whole word."""
    return -(-size // WORD) * WORD


def fields_of(kind: Struct, offset: int) -> list[tuple[str, DataType, int | None, int]]:
    """Name, type, length and first byte of every field of a struct at ``offset``; each starts at a word."""
    found = []
    for name, dtype, length in kind.fields:
        found.append((name, dtype, length, offset))
        offset += words_of(dtype.size * (1 if length is None else length))
    return found


def bytes_of(kind: Struct) -> int:
    """Bytes of a struct in the buffer: every field in whole words.

    >>> bytes_of(Struct("S", (("flag", DataType.DT_BOOL, None), ("rows", DataType.DT_INT64, 3))))
    28
    """
    return sum(words_of(dtype.size * (1 if length is None else length)) for _, dtype, length in kind.fields)


def _check(call: StaticCall) -> None:
    struct, offset = operand(call, 0), operand(call, 1)
    place = offset.value if isinstance(offset, StaticOperand) else None
    if place is None or not isinstance(struct, StaticOperand) or not isinstance(struct.type, Struct):
        return
    if place < 0 or place % WORD:
        raise ScalarBufferOffset(operation=call.operation, offset=place)
    size = bytes_of(struct.type)
    if place + size > CAPACITY:
        raise ScalarBufferExceeded(operation=call.operation, bytes=size, struct=struct.type.name, offset=place, capacity=CAPACITY)


def _row(name: str, summary: str) -> None:
    register(
        TileOperation(
            name,
            summary,
            (positional("struct_var", "struct"), positional("offset", "scalar")),
            ("-", "-"),
            PipeType.S,
            _nothing,
            check=_check,
            touches=lambda call: (),
            locks=False,
            example=f"pl.{name}(state, 0)",
        )
    )


def _nothing(call: Any) -> None:
    """The simulator has the structs."""


_row("ssbuf_store", "Writes a struct into the buffer that the scalar units share, at a byte offset.")
_row("ssbuf_load", "Reads a struct from the buffer that the scalar units share, at a byte offset.")
