"""What does not fit: the tiles of a kernel into a memory, a struct into the bytes that cores share."""

from __future__ import annotations

from pypto.errors.base import UserError


class TileMemoryExceeded(UserError, ValueError):
    code = 0xF00002
    message = (
        "the tiles of '{kernel}' exceed {space} of the {chip}: they reach byte {used}, {excess} more than the {capacity} there"
    )
    help = "make the tiles smaller, take fewer slots (mutex_ids) in the groups, or let tiles that are never used at once share an addr"


class ScalarBufferExceeded(UserError, ValueError):
    code = 0xF00002
    about = "offset"
    message = (
        "{operation}: {bytes} bytes of struct '{struct}' at offset {offset} exceed the {capacity} bytes that the cores share"
    )
    help = "start at a smaller offset, or pass fewer or smaller fields"


class ScalarBufferOffset(UserError, ValueError):
    code = 0xF00002
    about = "offset"
    message = "{operation}: offset {offset} must be a multiple of 4 and not negative; structs cross in words of 4 bytes"
    help = "write offset=0, or a multiple of 4 behind what was passed before"
