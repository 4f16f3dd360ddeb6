"""Rules of vector tile shapes (tensor API section 7.4, as ruled): a rank below the operation's is an error; a rank above it, or a
last entry that is no multiple of 32 bytes for a reduction, is fine here and refused by an NPU, so it warns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto.errors.frontend import TileRankTooSmall
from pypto.ir.program import Operand, Storage, TensorType, Value
from pypto.ops.table import Kind, Operation
from pypto.options import current

ALIGNMENT = 32  # bytes, tensor API section 7.4

# The tensor whose rank counts: the result, or the first operand where the result may have fewer axes.
_BY_RESULT = {Kind.ELEMENTWISE, Kind.CREATION}
_BY_OPERAND = {Kind.REDUCTION, Kind.SCAN, Kind.SORT}


def check(row: Operation, operands: Sequence[Operand], results: Sequence[TensorType], warn: Callable[..., Any]) -> None:
    """Apply the rules to one recorded operation; ``warn(headline, help=, portability=)`` gives a warning at the user's line."""
    tile = current().get("vec_tile_shapes")
    type = _subject(row, operands, results) if tile else None
    if type is None:
        return
    if len(tile) < type.rank:
        gave = f"{list(tile)} for the shape [{', '.join(map(str, type.shape))}]"
        raise TileRankTooSmall(operation=row.name, tile=gave, got=len(tile), expected=type.rank)
    if len(tile) > type.rank:
        warn(
            f"{row.name}(): the tile shape {list(tile)} has {len(tile)} entries for rank {type.rank}; an NPU refuses it",
            help=f"call pypto.set_vec_tile_shapes with {type.rank} numbers before {row.name}",
            portability=True,
        )
    elif row.kind is Kind.REDUCTION and tile[-1] * type.dtype.size % ALIGNMENT:
        warn(
            f"{row.name}(): the last entry of the tile shape {list(tile)} is {tile[-1] * type.dtype.size} bytes; an NPU needs "
            f"a multiple of {ALIGNMENT} bytes",
            help=f"make the last entry a multiple of {ALIGNMENT // type.dtype.size} for {type.dtype}",
            portability=True,
        )


def _subject(row: Operation, operands: Sequence[Operand], results: Sequence[TensorType]) -> TensorType | None:
    """The tensor that the tile shape cuts up, None when the operation has no such rule."""
    if row.kind in _BY_RESULT:
        return results[0]
    if row.kind in _BY_OPERAND:
        return next((o.type for o in operands if isinstance(o, (Value, Storage))), None)
    return None
