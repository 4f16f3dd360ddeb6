"""Padding on pipe V (tile API section 3.8): what lies outside the valid region gets a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from pypto.cores.enums import FillPadMode, MemorySpace, PipeType, TilePad
from pypto.cores.types import Tile
from pypto.errors.tile_vectors import PadMissing, PadNotInPlace, PadShapes, PadSharesStorage
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile.checks import operand, require_tile
from pypto.ops.tile.conversion_numbers import CASTABLE
from pypto.ops.tile.table import Running, StaticCall, StaticOperand, TileOperation, TileView, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import UB_OR_L1, all_of, in_spaces, same_dtype, same_layout, typed
from pypto.ops.tile.vector_running import touch


def pad_value(tile: Tile) -> Any:
    """What a tile's pad stands for: 0, or the greatest or least finite number of its type."""
    kind = tile.dtype.numpy
    if tile.pad is TilePad.zero:
        return kind.type(0)
    limits: Any = np.iinfo(kind) if tile.dtype.is_integer else ml_dtypes.finfo(kind)
    return kind.type(limits.max if tile.pad is TilePad.max else limits.min)


def in_place(call: Any) -> bool:
    return call.operation == "fillpad_inplace" or call.attributes.get("mode") is FillPadMode.INPLACE


def expands_shape(call: Any) -> bool:
    return call.operation == "fillpad_expand" or call.attributes.get("mode") is FillPadMode.EXPAND


def fill_pad(call: Running) -> None:
    """The valid region of ``src``, and the pad value in the rest of the physical shape of ``out``."""
    out, src = call.operands
    _expect_storage(call, out, src)
    padded = np.full(out.type.shape, pad_value(out.type), out.numpy_dtype)
    padded[: src.rows, : src.columns] = src.read()
    if not in_place(call):
        out.write_block(0, 0, padded)
        return
    for row, column, rows, columns in _rest(out, src):
        if rows and columns:
            out.write_block(row, column, padded[row : row + rows, column : column + columns])


def _expect_storage(call: Running, out: TileView, src: TileView) -> None:
    """Of slots of a ring the addresses are only known now."""
    if in_place(call) and out.address != src.address:
        raise PadNotInPlace(
            operation=call.operation, argument="out", problem=f"their addresses are {out.address:#x} and {src.address:#x}"
        )
    if not in_place(call) and out.address == src.address:
        raise PadSharesStorage(operation=call.operation, argument="out")


def _rest(out: TileView, src: TileView) -> list[tuple[int, int, int, int]]:
    """The physical shape without the valid region of ``src``, as two rectangles."""
    rows, columns = out.type.shape
    return [(0, src.columns, src.rows, columns - src.columns), (src.rows, 0, rows - src.rows, columns)]


def touched_by_pad(call: Running) -> Iterable[Touch]:
    out, src = call.operands
    if in_place(call):
        return [Touch(out, "W", *rectangle) for rectangle in _rest(out, src) if rectangle[2] and rectangle[3]]
    return [touch(out, "W", *out.type.shape), touch(src, "R", src.rows, src.columns)]


def check_pad(call: StaticCall) -> None:
    out, src = require_tile(call, 0), require_tile(call, 1)
    if out.pad is TilePad.null:
        raise PadMissing(operation=call.operation, argument="out")
    if in_place(call):
        _check_in_place(call, out, src)
        return
    if _address(call, 0) is not None and _address(call, 0) == _address(call, 1) and out.space is src.space:
        raise PadSharesStorage(operation=call.operation, argument="out")
    _check_pad_shapes(call, out, src)


def _check_pad_shapes(call: StaticCall, out: Tile, src: Tile) -> None:
    facts: dict[str, Any] = {
        "operation": call.operation,
        "argument": "out",
        "out_shape": list(out.shape),
        "src_shape": list(src.shape),
    }
    if expands_shape(call):
        if any(mine < theirs for mine, theirs in zip(out.shape, src.shape, strict=True)):
            raise PadShapes(problem="must not be smaller than", **facts)
        return
    if out.shape != src.shape:
        raise PadShapes(problem="must equal", **facts)
    if out.space is MemorySpace.Mat and (out.layout, out.fractal) != (src.layout, src.fractal):
        raise PadShapes(problem="must have the layout of", **facts)


def _check_in_place(call: StaticCall, out: Tile, src: Tile) -> None:
    one, other = _address(call, 0), _address(call, 1)
    problem = ""
    if out.shape != src.shape:
        problem = f"their shapes are {list(out.shape)} and {list(src.shape)}"
    elif one is not None and other is not None and one != other:
        problem = f"their addresses are {one:#x} and {other:#x}"
    if problem:
        raise PadNotInPlace(operation=call.operation, argument="out", problem=problem)


def _address(call: StaticCall, position: int) -> int | None:
    found = operand(call, position)
    return found.address if isinstance(found, StaticOperand) else None


def padding(name: str, summary: str, roles: tuple[str, str], **columns: Any) -> None:
    mode = () if columns.get("hidden") else (keyword("mode", enum=FillPadMode, default=FillPadMode.NORMAL),)
    register(
        TileOperation(
            name=name,
            summary=summary,
            parameters=(positional("out", "tile"), positional("src", "tile"), *mode),
            roles=roles,
            pipe=PipeType.V,
            run=fill_pad,
            check=all_of(in_spaces(UB_OR_L1, 0, 1), typed(0, CASTABLE), same_dtype(0, 1), same_layout(0, 1), check_pad),
            touches=touched_by_pad,
            cost=costs.COPY,
            example=f"pl.{name}(out, src)",
            **columns,
        )
    )


padding(
    "fillpad",
    "Copies the valid region of src and writes the pad of out (zero, or the greatest or least finite number) in the rest of out's"
    " physical shape. NORMAL: equal shapes; EXPAND: out may be larger; INPLACE: out and src share their bytes.",
    ("W", "R"),
)
padding("fillpad_expand", "fillpad with mode EXPAND: out may be larger than src.", ("W", "R"), hidden=True)
padding("fillpad_inplace", "fillpad with mode INPLACE: out and src share their bytes.", ("RW", "R"), hidden=True)
