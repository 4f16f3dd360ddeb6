"""How vector operations run: extents come from the target, inputs must cover them, narrow floats are computed in fp32.

``store(out, function, *arrays)`` is the one place where results are rounded: fp16 and bf16 operands are widened, the function
works in fp32, and the result is rounded once to the element type (half to even). Integers wrap. Where types agree the function
writes straight into the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.elements import wrapped
from pypto.errors.tile_vectors import VectorNotCovered, VectorResultExtent, VectorTilesMustDiffer
from pypto.ops.numerics import SMALL, narrowed, widened
from pypto.ops.tile.table import Running, TileView, Touch, find

Compute = Callable[..., np.ndarray]  # on arrays of one type; takes ``out=`` as ufuncs do


def is_tile(operand: Any) -> bool:
    return hasattr(operand, "read_block")


def name_of(call: Running, position: int) -> str:
    row = find(call.operation)
    return row.positional[position].name if row is not None else f"operand {position}"


def region(call: Running, position: int, rows: int, columns: int) -> np.ndarray:
    """The upper left ``rows x columns`` elements of an operand, which must be valid there."""
    tile = call.operands[position]
    if tile.rows < rows or tile.columns < columns:
        raise VectorNotCovered(
            operation=call.operation,
            argument=name_of(call, position),
            rows=tile.rows,
            columns=tile.columns,
            needed_rows=rows,
            needed_columns=columns,
        )
    return tile.read_block(0, 0, rows, columns)


def expect_extent(call: Running, position: int, fits: bool, expected: str) -> None:
    """An error that names the valid extent an operand must have."""
    if not fits:
        tile = call.operands[position]
        name = name_of(call, position)
        raise VectorResultExtent(operation=call.operation, argument=name, rows=tile.rows, columns=tile.columns, expected=expected)


def expect_apart(call: Running, first: int, second: int) -> None:
    """Two operands must not be one tile; what stands in a ring is only known now."""
    one, other = call.operands[first], call.operands[second]
    if one.address == other.address and one.type.space is other.type.space:
        names = name_of(call, first), name_of(call, second)
        raise VectorTilesMustDiffer(operation=call.operation, address=one.address, first=names[0], second=names[1])


def number_as(value: Any, dtype: DataType) -> Any:
    """A scalar as an element: floats rounded (through fp32, the type of scalar registers), integers wrapped.

    A float for an integer tile loses its fraction, is clamped to 64 bits, and NaN is 0, as a conversion on the scalar unit does.
    """
    kind = dtype.numpy.type
    if dtype.is_float:
        return kind(np.float32(value))
    if isinstance(value, (float, np.floating)):
        value = 0 if value != value else max(-(2.0**63), min(float(value), 2.0**63 - 1024))
    return kind(wrapped(int(value), dtype))


def operand_array(call: Running, position: int, rows: int, columns: int) -> Any:
    """A tile's region, or a scalar converted to the element type of the first operand."""
    operand = call.operands[position]
    if is_tile(operand):
        return region(call, position, rows, columns)
    return number_as(operand, call.operands[0].type.dtype)


def store(out: TileView, function: Compute, *arrays: Any) -> None:
    """``out = function(*arrays)`` on the valid region of ``out``."""
    if out.numpy_dtype in SMALL:
        out.write(narrowed(function(*map(widened, arrays)), out.numpy_dtype))
        return
    target = out.target()
    if target is None:
        out.write(function(*arrays))
    else:
        function(*arrays, out=target)


def result_of(dtype: np.dtype, function: Compute, *arrays: Any) -> np.ndarray:
    """The same result as an array of its own, rounded to ``dtype``."""
    return narrowed(function(*map(widened, arrays)), dtype)


def mapped(function: Compute, *positions: int) -> Callable[[Running], None]:
    """``run`` of an operation that maps operands, element by element, to its first one."""

    def run(call: Running) -> None:
        out = call.operands[0]
        rows, columns = out.rows, out.columns
        store(out, function, *[operand_array(call, position, rows, columns) for position in positions])

    return run


# --------------------------------------------------------------------------------------------------------------- footprints


def touch(tile: TileView, role: str, rows: int, columns: int) -> Touch:
    """The upper left corner of a tile."""
    return Touch(tile, role, 0, 0, rows, columns)


def scratch(tile: TileView, rows: int, columns: int) -> Touch:
    """Scratch for so many elements, as far as the tile reaches: its valid extents do not matter."""
    return Touch(tile, "T", 0, 0, min(rows, tile.type.shape[0]), min(columns, tile.type.shape[1]))


def spoil(tile: TileView, rows: int, columns: int) -> None:
    """What scratch holds afterwards is nobody's business: NaN, or -1."""
    height, width = min(rows, tile.type.shape[0]), min(columns, tile.type.shape[1])
    if height and width:
        kind = tile.numpy_dtype
        tile.write_block(0, 0, np.full((height, width), np.frombuffer(b"\xff" * kind.itemsize, kind)[0]))


def within_target(roles: Sequence[str]) -> Callable[[Running], Iterable[Touch]]:
    """``touches`` of an elementwise operation: every tile on the extents of the first, even where more of it is valid."""

    def touches(call: Running) -> list[Touch]:
        out = call.operands[0]
        rows, columns = out.rows, out.columns
        return [
            scratch(operand, rows, columns) if role == "T" else Touch(operand, role, 0, 0, rows, columns)
            for operand, role in zip(call.operands, roles, strict=False)
            if role != "-" and is_tile(operand)
        ]

    return touches
