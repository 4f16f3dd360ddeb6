"""Rates of the chip files that price vector operations (toolchain section 4.4; the files tell calibrated from assumed ones)."""

from __future__ import annotations

from collections.abc import Callable

from pypto.ops.tile.table import Running

Names = tuple[str, ...]

ADD, SUB, MUL, DIV = ("ADD",), ("SUB",), ("MUL",), ("DIV",)
ADDS, SUBS, MULS, DIVS = ("ADDS",), ("SUBS",), ("MULS",), ("DIVS",)
MAXIMUM, MINIMUM, MAXS, MINS = ("MAXIMUM",), ("MINIMUM",), ("MAXS",), ("MINS",)
AND, OR, NOT, XOR, SHIFT = ("AND",), ("OR",), ("NOT",), ("XOR",), ("SHIFT",)
NEG, ABS, RELU, EXP, LN = ("NEG",), ("ABS",), ("RELU",), ("EXP",), ("LN",)
SQRT, RSQRT, RECIPROCAL = ("SQRT",), ("RSQRT",), ("RECIPROCAL",)
CAST, EXPAND, FILL, COMPARE, SELECT = ("CAST",), ("EXPAND",), ("FILL",), ("COMPARE",), ("SELECT",)
ROW_SUM, ROW_MAX, ROW_MIN = ("ROWSUM",), ("ROWMAX",), ("ROWMIN",)
COLUMN_SUM, COLUMN_MAX, COLUMN_MIN = ("COLSUM",), ("COLMAX",), ("COLMIN",)
TRANSPOSE, SORT, MERGE, GATHER, SCATTER = ("TRANSPOSE",), ("SORT",), ("MERGE_SORT",), ("GATHER",), ("SCATTER",)
COPY = ("UB_TO_UB",)


def bytes_of(call: Running) -> int:
    """Bytes of the largest valid region among the tiles of the call."""
    tiles = [operand for operand in call.operands if hasattr(operand, "read_block")]
    return max(tile.rows * tile.columns * tile.numpy_dtype.itemsize for tile in tiles)


def by_right_operand(tiles: Names, scalars: Names) -> Callable[[Running], list[tuple[str, float]]]:
    """Prices an operation whose right operand (position 2) may be a scalar; that form reads one tile less."""

    def work(call: Running) -> list[tuple[str, float]]:
        names = tiles if hasattr(call.operands[2], "read_block") else scalars
        return [(name, bytes_of(call)) for name in names]

    return work
