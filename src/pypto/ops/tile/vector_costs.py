"""Rates that price vector operations: names of the calibration table (toolchain section 4.4).

The table has few entries. What it lacks is priced like the entry named here, which moves the same bytes with the same kind of
instruction; ``MAXIMUM`` has a broken unit there, so maxima cost an addition (toolchain section 4.9).
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.ops.tile.table import Running

ADD, SUB, MUL, DIV = ("ADD",), ("SUB",), ("MUL",), ("DIV",)
ADDS, SUBS, MULS, DIVS = ("ADDS",), ("SUBS",), ("MULS",), ("DIVS",)
NEG, SQRT, EXP, LN, RECIPROCAL = ("NEG",), ("SQRT",), ("EXP",), ("LN",), ("RECIPROCAL",)
CAST, EXPAND, RANGE, SELECT = ("CAST",), ("EXPAND",), ("RANGE",), ("WHERE_TT",)
ROW_SUM, ROW_MAX, ROW_MIN = ("ROWSUMLINE",), ("ROWMAX_SINGLE",), ("ROWMIN_SINGLE",)
PAIR_SUM, PAIR_MAX = ("PAIRSUM",), ("PAIRMAX",)
TRANSPOSE = ("TRANSPOSE_MOVEOUT",)

MAXIMUM = ADD  # the table's own entry has a broken unit
BITWISE, COMPARE = ADD, ADD  # one pass over two inputs
BITWISES, COMPARES, UNARY = ADDS, ADDS, ADDS  # one pass over one input
RSQRT = SQRT + RECIPROCAL
GATHER = SELECT  # not calibrated
SORT, MERGE = ROW_MAX, ROW_MAX  # not calibrated: a comparison network over every row


def bytes_of(call: Running) -> int:
    """Bytes of the largest valid region among the tiles of the call."""
    tiles = [operand for operand in call.operands if hasattr(operand, "read_block")]
    return max(tile.rows * tile.columns * tile.numpy_dtype.itemsize for tile in tiles)


def by_right_operand(tiles: tuple[str, ...], scalars: tuple[str, ...]) -> Callable[[Running], list[tuple[str, float]]]:
    """Prices an operation whose right operand (position 2) may be a scalar; scalar forms read one tile less."""

    def work(call: Running) -> list[tuple[str, float]]:
        names = tiles if hasattr(call.operands[2], "read_block") else scalars
        return [(name, bytes_of(call)) for name in names]

    return work
