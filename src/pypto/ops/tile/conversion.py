"""Casts, padding, fills, copies, transposition and quantisation on pipe V (tile API sections 3.8 and 3.9)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pypto.cores.enums import PipeType, RoundMode
from pypto.dtypes import DataType
from pypto.errors.tile_vectors import (
    CastSameDtype,
    OddRoundingRefused,
    VectorRowBytes,
    VectorShapeRefused,
)
from pypto.ops.dtype_sets import B16, F16, F32, I8, I16, I32, I64, U8, U16, U32, U64
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile.checks import argument_name, attribute, offset_values, operand, require_tile
from pypto.ops.tile.conversion_numbers import CASTABLE, convert
from pypto.ops.tile.table import Running, StaticCall, TileOperation, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import (
    UB_OR_L1,
    all_of,
    covering,
    distinct,
    in_spaces,
    in_ub,
    row_major,
    same_dtype,
    same_layout,
    scalar,
    shaped,
    typed,
)
from pypto.ops.tile.vector_running import expect_apart, expect_extent, number_as, region, touch, within_target

UNARY = (positional("out", "tile"), positional("src", "tile"))

NUMBERS = (I8, I16, I32, I64, U8, U16, U32, U64, F16, B16, F32)
TRANSPOSED = tuple(dtype for dtype in (*CASTABLE, DataType.DT_HF8) if dtype.size < 8)
LINE = 32  # bytes of a UB line (tile API section 6.1)

# ------------------------------------------------------------------------------------------------------------------- cast


def cast(call: Running) -> None:
    out = call.operands[0]
    mode = call.attributes.get("mode") or RoundMode.CAST_ROUND
    out.write(convert(region(call, 1, out.rows, out.columns), out.type.dtype, mode))


def check_cast(call: StaticCall) -> None:
    source, target = require_tile(call, 1).dtype, require_tile(call, 0).dtype
    if source is target:
        raise CastSameDtype(operation=call.operation, first="out", second="src", dtype=source.label)
    check_rounding(call, source, target)


def check_rounding(call: StaticCall, source: DataType, target: DataType) -> None:
    if attribute(call, "mode") is RoundMode.CAST_ODD and (source, target) != (F32, F16):
        raise OddRoundingRefused(operation=call.operation, argument="mode", source=source.label, target=target.label)


register(
    TileOperation(
        name="cast",
        summary="src as the element type of out. Float to integer saturates, NaN gives 0; integer to integer keeps the low bits;"
        " a narrower float is rounded by mode (default half away from zero; CAST_NONE as CAST_RINT; CAST_ODD only fp32 to fp16).",
        parameters=(*UNARY, keyword("mode", enum=RoundMode, default=RoundMode.CAST_ROUND)),
        roles=("W", "R"),
        pipe=PipeType.V,
        run=cast,
        check=all_of(in_ub(0, 1), typed(0, CASTABLE), typed(1, CASTABLE), same_layout(0, 1), covering(0, 1), check_cast),
        touches=within_target("WR"),
        cost=costs.CAST,
        example="pl.cast(out, src, mode=pl.RoundMode.CAST_RINT)",
    )
)

# -------------------------------------------------------------------------------------------------- transposition and copies


def transpose(call: Running) -> None:
    out = call.operands[0]
    expect_apart(call, 0, 1)
    out.write(region(call, 1, out.columns, out.rows).T)


def check_lines(call: StaticCall) -> None:
    """Rows of both tiles are whole lines of 32 bytes."""
    for position in (0, 1):
        tile = require_tile(call, position)
        size = tile.shape[1] * tile.dtype.size
        if size % LINE:
            raise VectorRowBytes(operation=call.operation, argument=argument_name(call, position), got=size)


def touched_by_transpose(call: Running) -> Iterable[Touch]:
    out, src = call.operands
    return [touch(out, "W", out.rows, out.columns), touch(src, "R", out.columns, out.rows)]


register(
    TileOperation(
        name="transpose",
        summary="out[j, i] = src[i, j]; two different tiles of types up to 32 bits, whose rows are multiples of 32 bytes.",
        parameters=UNARY,
        roles=("W", "R"),
        pipe=PipeType.V,
        run=transpose,
        check=all_of(
            in_ub(0, 1),
            typed(0, TRANSPOSED),
            same_dtype(0, 1),
            row_major(0, 1),
            distinct(0, 1),
            covering(0, 1, transposed=True),
            check_lines,
        ),
        touches=touched_by_transpose,
        cost=costs.TRANSPOSE,
        example="pl.transpose(out, src)",
    )
)


def copy(call: Running) -> None:
    out = call.operands[0]
    out.write(region(call, 1, out.rows, out.columns))


register(
    TileOperation(
        name="ub_copy",
        summary="Copies src to out within UB.",
        parameters=UNARY,
        roles=("W", "R"),
        pipe=PipeType.V,
        run=copy,
        check=all_of(in_ub(0, 1), same_dtype(0, 1), same_layout(0, 1), covering(0, 1)),
        touches=within_target("WR"),
        cost=costs.COPY,
        hidden=True,
        example="pl.ub_copy(out, src)",
    )
)


def reshape(call: Running) -> None:
    """The valid elements of ``src``, row by row, reinterpreted as those of ``out``."""
    out, src = call.operands[:2]
    size, have = out.rows * out.columns * out.numpy_dtype.itemsize, src.rows * src.columns * src.numpy_dtype.itemsize
    expect_extent(call, 0, size == have, f"as many bytes as src: {have}")
    out.write(np.array(src.read()).reshape(-1).view(out.numpy_dtype).reshape(out.rows, out.columns))


def check_reshape(call: StaticCall) -> None:
    out, src = require_tile(call, 0), require_tile(call, 1)
    values = offset_values(operand(call, 2))
    if values is not None and None not in values and tuple(values) != out.shape:
        raise VectorShapeRefused(operation=call.operation, argument="out", got=list(out.shape), expected=list(values))
    if out.bytes != src.bytes:
        expected = f"one of {out.bytes} bytes, as out has"
        raise VectorShapeRefused(operation=call.operation, argument="src", got=list(src.shape), expected=expected)


register(
    TileOperation(
        name="reshape",
        summary="Copies the bytes of src, row by row, to out, which has another shape (the third operand) or type of the same size.",
        parameters=(*UNARY, positional("shape", "integers offsets")),
        roles=("W", "R", "-"),
        pipe=PipeType.V,
        run=reshape,
        check=all_of(in_ub(0, 1), row_major(0, 1), check_reshape),
        cost=costs.COPY,
        hidden=True,
        example="pl.reshape(out, src, [32, 128])",
    )
)

# ------------------------------------------------------------------------------------------------------------------ fills


def fill(call: Running) -> None:
    out, value = call.operands
    out.write(number_as(value, out.type.dtype))


for _name in ("expands", "full"):
    register(
        TileOperation(
            name=_name,
            summary="Fills the valid region with a scalar, converted to the element type.",
            parameters=(positional("out", "tile"), positional("scalar", "scalar")),
            roles=("W", "-"),
            pipe=PipeType.V,
            run=fill,
            check=all_of(in_spaces(UB_OR_L1, 0), scalar(1), typed(0, NUMBERS)),
            cost=costs.FILL,
            hidden=_name == "full",
            example=f"pl.{_name}(out, 0.0)",
        )
    )


def fill_index(call: Running) -> None:
    out, start = call.operands
    expect_extent(call, 0, out.rows <= 1, "one row")
    first = int(number_as(start, out.type.dtype))
    out.write((first + np.arange(out.columns)).astype(out.numpy_dtype)[None, :])


register(
    TileOperation(
        name="fill_index",
        summary="out[0, j] = start + j in one row; integers wrap.",
        parameters=(positional("out", "tile"), positional("start", "scalar")),
        roles=("W", "-"),
        pipe=PipeType.V,
        run=fill_index,
        check=all_of(in_ub(0), scalar(1), typed(0, (I32, I16, U16, U32)), shaped(0, "one row", lambda shape: shape[0] == 1)),
        cost=costs.FILL,
        example="pl.fill_index(out, 0)",
    )
)
