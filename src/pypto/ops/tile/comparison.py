"""Comparison and selection on pipe V (tile API section 3.5).

A comparison writes a predicate: one bit per element, packed row by row into UINT8 tiles. Row r of the mask tile holds in its
first ceil(columns / 8) bytes the bits of row r, the first element in the lowest bit; the rest of its row is left alone. Only
``select`` reads it. The extents compared are those of ``lhs``. A comparison with NaN is false, but for ``ne``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import PipeType
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors.tile_vectors import MaskTooSmall
from pypto.ops.dtype_sets import B16, U8
from pypto.ops.numerics import widened
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile.checks import argument_name
from pypto.ops.tile.table import Running, StaticCall, TileOperation, TileView, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import Rule, alike, all_of, in_ub, keyword_in, scalar, tile_or_scalar, typed
from pypto.ops.tile.vector_dtypes import EVERY
from pypto.ops.tile.vector_running import is_tile, number_as, operand_array, region, touch

WITHOUT_BF16 = tuple(dtype for dtype in EVERY if dtype is not B16)
COMPARISONS: dict[str, Callable[..., np.ndarray]] = {  # in the order of cmp_mode (tile API section 1.4, CmpMode)
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def packed_columns(columns: int) -> int:
    """Bytes of a row of predicates."""
    return -(-columns // 8)


def holds(position: int, rows_of: int) -> Rule:
    """The mask at ``position`` has room for the predicates of the tile at ``rows_of``."""

    def check(call: StaticCall) -> None:
        mask, data = call.tile(position), call.tile(rows_of)
        if mask is None or data is None:
            return
        rows, columns = data.valid or (0, 0)  # extents that are set later are checked then
        _room(call.operation, argument_name(call, position), mask, rows, columns)

    return check


def _room(operation: str, name: str, mask: Tile, rows: int, columns: int) -> None:
    if mask.shape[0] < rows or mask.shape[1] < packed_columns(columns):
        raise MaskTooSmall(
            operation=operation, argument=name, shape=list(mask.shape), rows=rows, columns=columns, needed=packed_columns(columns)
        )


# ------------------------------------------------------------------------------------------------------------- comparison


def compare(call: Running, function: Callable[..., np.ndarray]) -> None:
    mask, lhs = call.operands[0], call.operands[1]
    rows, columns = lhs.rows, lhs.columns
    right = call.operands[2]
    other = region(call, 2, rows, columns) if is_tile(right) else number_as(right, lhs.type.dtype)
    _room(call.operation, "out", mask.type, rows, columns)
    truth = function(widened(lhs.read()), widened(other))
    if rows and columns:
        mask.write_block(0, 0, np.packbits(np.asarray(truth, bool), axis=1, bitorder="little"))


def touched_by_comparison(call: Running) -> Iterable[Touch]:
    mask, lhs, right = call.operands[:3]
    read = [touch(tile, "R", lhs.rows, lhs.columns) for tile in (lhs, right) if is_tile(tile)]
    return [touch(mask, "W", lhs.rows, packed_columns(lhs.columns)), *read]


def comparison(
    name: str, right: str, run: Callable[[Running], None], rule: Rule, summary: str, example: str, **columns: Any
) -> TileOperation:
    """``(out, lhs, rhs)``."""
    return register(
        TileOperation(
            name=name,
            summary=summary,
            parameters=(
                positional("out", "tile"),
                positional("lhs", "tile"),
                positional("rhs", right),
                *columns.pop("extra", ()),
            ),
            roles=("W", "R", "-") if right == "scalar" else ("W", "R", "R"),
            pipe=PipeType.V,
            run=run,
            check=all_of(in_ub(0, 1), typed(0, (U8,)), typed(1, EVERY), rule, alike(1, 2), holds(0, 1)),
            touches=touched_by_comparison,
            cost=costs.COMPARE,
            example=example,
            **columns,
        )
    )


def named(name: str, function: Callable[..., np.ndarray]) -> None:
    comparison(
        name,
        "tile scalar",
        lambda call: compare(call, function),
        tile_or_scalar(2),
        f"Bits of lhs {SYMBOLS[name]} rhs (a tile or a scalar), packed into a UINT8 tile of the same shape for select.",
        f"pl.{name}(out, lhs, rhs)",
    )


def numbered(name: str, right: str) -> None:
    """``cmp`` and ``cmps``: the comparison by number."""
    functions = tuple(COMPARISONS.values())
    in_range = keyword_in("cmp_mode", range(6), "0 (eq), 1 (ne), 2 (lt), 3 (le), 4 (gt) or 5 (ge)", default=0)
    kind = scalar(2) if right == "scalar" else in_ub(2)
    comparison(
        name,
        right,
        lambda call: compare(call, functions[call.attributes.get("cmp_mode") or 0]),
        all_of(kind, in_range),
        f"Bits of lhs compared with a {right}: cmp_mode 0 to 5 is eq, ne, lt, le, gt, ge.",
        f"pl.{name}(out, lhs, rhs, cmp_mode=4)",
        extra=(keyword("cmp_mode", "scalar", default=0),),
        hidden=True,
    )


# -------------------------------------------------------------------------------------------------------------- selection


def bits(call: Running, mask: TileView, rows: int, columns: int) -> np.ndarray:
    """The predicates in a mask tile."""
    _room(call.operation, "mask", mask.type, rows, columns)
    packed = np.ascontiguousarray(mask.read_block(0, 0, rows, packed_columns(columns)))
    return np.unpackbits(packed, axis=1, count=columns, bitorder="little").astype(bool)


def select(call: Running) -> None:
    out, mask = call.operands[0], call.operands[1]
    rows, columns = out.rows, out.columns
    if rows and columns:
        lhs, rhs = (operand_array(call, position, rows, columns) for position in (2, 3))
        out.write(np.where(bits(call, mask, rows, columns), lhs, rhs))


def touched_by_selection(call: Running) -> Iterable[Touch]:
    out, mask = call.operands[0], call.operands[1]
    read = [touch(tile, "R", out.rows, out.columns) for tile in call.operands[2:4] if is_tile(tile)]
    return [touch(out, "W", out.rows, out.columns), touch(mask, "R", out.rows, packed_columns(out.columns)), *read]


def scalar_type(position: int, dtypes: Sequence[DataType]) -> Rule:
    """With a scalar on the right, some element types are missing."""
    narrowed = typed(0, dtypes)
    return lambda call: None if call.tile(position) is not None else narrowed(call)


def selection(name: str, right: str, rule: Rule, **columns: Any) -> TileOperation:
    """``(out, mask, lhs, rhs, tmp)``."""
    parameters = (
        positional("out", "tile"),
        positional("mask", "tile"),
        positional("lhs", "tile"),
        positional("rhs", right),
        positional("tmp", "tile"),
    )
    return register(
        TileOperation(
            name=name,
            summary="lhs where the mask's bit is set, rhs elsewhere; tmp is not used.",
            parameters=parameters,
            roles=("W", "R", "R", "-" if right == "scalar" else "R", "-"),
            pipe=PipeType.V,
            run=select,
            check=all_of(in_ub(0, 1, 2, 4), typed(1, (U8,)), typed(0, EVERY), rule, alike(0, 2, 3), holds(1, 0)),
            touches=touched_by_selection,
            cost=costs.SELECT,
            example=f"pl.{name}(out, mask, lhs, rhs, tmp)",
            **columns,
        )
    )


# -------------------------------------------------------------------------------------------------------------------- rows

for _name, _function in COMPARISONS.items():
    named(_name, _function)
numbered("cmp", "tile")
numbered("cmps", "scalar")
selection("select", "tile scalar", all_of(tile_or_scalar(3), scalar_type(3, WITHOUT_BF16)))
selection("sel", "tile", in_ub(3), hidden=True)
selection("sels", "scalar", all_of(scalar(3), scalar_type(3, WITHOUT_BF16)), hidden=True)
