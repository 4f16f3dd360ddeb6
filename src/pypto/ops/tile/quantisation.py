"""Quantisation on pipe V (tile API section 3.9): scale and offset are FP32 tiles with one number per row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pypto.cores.enums import MemorySpace, PipeType, QuantMode, RoundMode
from pypto.cores.types import Tile
from pypto.errors.tile_vectors import QuantOffsetMissing
from pypto.ops.dtype_sets import F32, I8, I16, U8
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile.checks import attribute, require_dtype, require_space
from pypto.ops.tile.conversion_numbers import convert
from pypto.ops.tile.table import Running, StaticCall, TileOperation, TileView, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import all_of, covering, in_ub, typed
from pypto.ops.tile.vector_running import region, touch

UNARY = (positional("out", "tile"), positional("src", "tile"))


def column(call: Running, position: int) -> np.ndarray:
    """One number per row of the result."""
    out = call.operands[0]
    return region(call, position, out.rows, min(1, out.columns))


def quantise(call: Running) -> None:
    out = call.operands[0]
    scaled = np.rint(region(call, 1, out.rows, out.columns) * column(call, 2))
    if call.attributes.get("mode") is QuantMode.ASYM:
        scaled = scaled + column_of(call, call.attributes["offset"])
    out.write(convert(scaled, out.type.dtype, RoundMode.CAST_RINT))


def column_of(call: Running, tile: TileView) -> np.ndarray:
    """One number per row from a tile that came as a keyword."""
    out = call.operands[0]
    return tile.read_block(0, 0, out.rows, min(1, out.columns))


def touched_by_quantise(call: Running) -> Iterable[Touch]:
    out = call.operands[0]
    found = [touch(out, "W", out.rows, out.columns), touch(call.operands[1], "R", out.rows, out.columns)]
    columns = [call.operands[2], call.attributes.get("offset")]
    return [*found, *(touch(tile, "R", out.rows, min(1, out.columns)) for tile in columns if tile is not None)]


def check_quantise(call: StaticCall) -> None:
    asymmetric = attribute(call, "mode") is QuantMode.ASYM
    if asymmetric and call.attributes.get("offset") is None and call.attribute_types.get("offset") is None:
        raise QuantOffsetMissing(operation=call.operation, argument="mode")
    typed(0, (U8,) if asymmetric else (I8,))(call)
    if isinstance(offset := call.attribute_types.get("offset"), Tile):
        require_space(call, offset, "offset", MemorySpace.Vec)
        require_dtype(call, offset.dtype, "offset", (F32,))


register(
    TileOperation(
        name="quant",
        summary="SYM: INT8, src * scale rounded to the nearest even and clamped to -128 … 127. ASYM: UINT8, the same plus offset"
        ", clamped to 0 … 255. scale and offset: FP32, one number per row; NaN gives 0.",
        parameters=(
            *UNARY,
            positional("scale", "tile"),
            keyword("mode", enum=QuantMode, default=QuantMode.SYM),
            keyword("offset", "tile", constant=False),
        ),
        roles=("W", "R", "R"),
        pipe=PipeType.V,
        run=quantise,
        check=all_of(in_ub(0, 1, 2), typed(1, (F32,)), typed(2, (F32,)), covering(0, 1), check_quantise),
        touches=touched_by_quantise,
        cost=costs.MULS + costs.CAST,
        example="pl.quant(out, src, scale)",
    )
)


def dequantise(call: Running) -> None:
    out = call.operands[0]
    values = region(call, 1, out.rows, out.columns).astype(np.float32)
    out.write((values - column(call, 3)) * column(call, 2))


def touched_by_dequantise(call: Running) -> Iterable[Touch]:
    out = call.operands[0]
    whole = [touch(out, "W", out.rows, out.columns), touch(call.operands[1], "R", out.rows, out.columns)]
    return [*whole, *(touch(tile, "R", out.rows, min(1, out.columns)) for tile in call.operands[2:4])]


register(
    TileOperation(
        name="dequant",
        summary="out = (src - offset) * scale in FP32; src INT8 or INT16, scale and offset FP32, one number per row.",
        parameters=(*UNARY, positional("scale", "tile"), positional("offset", "tile")),
        roles=("W", "R", "R", "R"),
        pipe=PipeType.V,
        run=dequantise,
        check=all_of(
            in_ub(0, 1, 2, 3), typed(0, (F32,)), typed(1, (I8, I16)), typed(2, (F32,)), typed(3, (F32,)), covering(0, 1)
        ),
        touches=touched_by_dequantise,
        cost=costs.CAST + costs.MULS,
        example="pl.dequant(out, src, scale, offset)",
    )
)
