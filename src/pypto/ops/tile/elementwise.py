"""Elementwise operations on pipe V (tile API section 3.3), and their tile-scalar forms (section 1.3).

``out`` may be an input. The valid extents of ``out`` decide what is computed; the inputs must cover them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import PipeType
from pypto.dtypes import DataType
from pypto.errors.tile_vectors import ShiftRange
from pypto.ops.dtype_sets import F16, F32, FLOATS, I8, I16, I32
from pypto.ops.numerics import negated
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile import vector_numbers as numbers
from pypto.ops.tile.table import Running, TileOperation, positional, register
from pypto.ops.tile.vector_checks import (
    Rule,
    alike,
    all_of,
    distinct,
    in_ub,
    row_major,
    same_dtype,
    scalar,
    shift,
    tile_or_scalar,
    typed,
)
from pypto.ops.tile.vector_dtypes import MIDDLE, NARROW, WIDE
from pypto.ops.tile.vector_running import (
    Compute,
    expect_apart,
    is_tile,
    mapped,
    name_of,
    operand_array,
    spoil,
    store,
    within_target,
)

EVERY_INTEGER = (*NARROW, *MIDDLE, *WIDE)
HALF_AND_SINGLE = (F16, F32)

# Element types by operation: table of section 3.3.
ADDED = (*EVERY_INTEGER, *FLOATS)
MULTIPLIED = (*MIDDLE, *WIDE, *FLOATS)
DIVIDED = (*MIDDLE, *WIDE, *HALF_AND_SINGLE)
BITS = (*NARROW, *MIDDLE)
SIGNED = (I8, I16, I32)

Run = Callable[[Running], None]


def binary(name: str, run: Run, dtypes: Sequence[DataType], prices: tuple[costs.Names, ...], **columns: Any) -> TileOperation:
    """``(out, lhs, rhs)``; with two prices ``rhs`` may be a scalar."""
    scalars = len(prices) == 2
    right = positional("rhs", "tile scalar") if scalars else positional("rhs", "tile")
    rules = (in_ub(0, 1), tile_or_scalar(2) if scalars else in_ub(2), typed(0, dtypes), alike(0, 1, 2))
    return register(
        TileOperation(
            name=name,
            parameters=(positional("out", "tile"), positional("lhs", "tile"), right),
            roles=("W", "R", "R"),
            pipe=PipeType.V,
            run=run,
            check=all_of(*rules, *columns.pop("rules", ())),
            touches=within_target("WRR"),
            cost=prices[0],
            work=costs.by_right_operand(*prices) if scalars else None,
            **columns,
        )
    )


def with_scalar(name: str, run: Run, dtypes: Sequence[DataType], price: costs.Names, **columns: Any) -> TileOperation:
    """``(out, lhs, scalar)``: the hidden spelling of a binary operation with a number on the right."""
    rules = (in_ub(0, 1), scalar(2), typed(0, dtypes), alike(0, 1))
    return register(
        TileOperation(
            name=name,
            parameters=(positional("out", "tile"), positional("lhs", "tile"), positional("scalar", "scalar")),
            roles=("W", "R", "-"),
            pipe=PipeType.V,
            run=run,
            check=all_of(*rules, *columns.pop("rules", ())),
            touches=within_target("WR-"),
            cost=price,
            hidden=True,
            **columns,
        )
    )


def unary(
    name: str, compute: Compute, dtypes: Sequence[DataType], price: costs.Names, rules: tuple[Rule, ...] = (), **columns: Any
) -> TileOperation:
    """``(out, src)``."""
    return register(
        TileOperation(
            name=name,
            parameters=(positional("out", "tile"), positional("src", "tile")),
            roles=("W", "R"),
            pipe=PipeType.V,
            run=mapped(compute, 1),
            check=all_of(in_ub(0, 1), typed(0, dtypes), alike(0, 1), *rules),
            touches=within_target("WR"),
            cost=price,
            **columns,
        )
    )


# ------------------------------------------------------------------------------------------------------------------ shifts


def shifting(compute: Compute) -> Run:
    """Shifts by 0 … width - 1; anything else is undefined on hardware and an error here."""

    def run(call: Running) -> None:
        out = call.operands[0]
        values, amounts = (operand_array(call, position, out.rows, out.columns) for position in (1, 2))
        bits = out.type.dtype.bits
        wrong = np.asarray((amounts < 0) | (amounts >= bits))
        if wrong.any():
            got = int(np.broadcast_to(amounts, wrong.shape)[wrong][0])
            raise ShiftRange(operation=call.operation, argument=name_of(call, 2), got=got, bits=bits, last=bits - 1)
        store(out, compute, values, amounts)

    return run


# -------------------------------------------------------------------------------------------------------------------- rows


binary(
    "add",
    mapped(np.add, 1, 2),
    ADDED,
    (costs.ADD, costs.ADDS),
    summary="out = lhs + rhs; rhs is a tile or a scalar.",
    example="pl.add(out, lhs, rhs)",
)
binary(
    "sub",
    mapped(np.subtract, 1, 2),
    ADDED,
    (costs.SUB, costs.SUBS),
    summary="out = lhs - rhs; rhs is a tile or a scalar.",
    example="pl.sub(out, lhs, 1.0)",
)
binary(
    "mul",
    mapped(np.multiply, 1, 2),
    MULTIPLIED,
    (costs.MUL, costs.MULS),
    summary="out = lhs * rhs; rhs is a tile or a scalar.",
    example="pl.mul(out, lhs, 0.5)",
)
binary(
    "div",
    mapped(numbers.divide, 1, 2),
    DIVIDED,
    (costs.DIV, costs.DIVS),
    summary="out = lhs / rhs; integers toward zero, and 0 where the divisor is 0 (undefined on hardware).",
    example="pl.div(out, lhs, rhs)",
)
binary(
    "rem",
    mapped(numbers.remainder, 1, 2),
    DIVIDED,
    (costs.DIV,),
    hidden=True,
    summary="Remainder of lhs / rhs with the sign of rhs; integers by 0 give 0.",
    example="pl.rem(out, lhs, rhs)",
)
binary(
    "and_",
    mapped(np.bitwise_and, 1, 2),
    BITS,
    (costs.AND, costs.AND),
    summary="Bits set in both; rhs is a tile or a scalar.",
    example="pl.and_(out, lhs, 0xFF)",
)
binary(
    "or_",
    mapped(np.bitwise_or, 1, 2),
    BITS,
    (costs.OR, costs.OR),
    hidden=True,
    summary="Bits set in either; rhs is a tile or a scalar.",
    example="pl.or_(out, lhs, rhs)",
)
binary(
    "shl",
    shifting(np.left_shift),
    EVERY_INTEGER,
    (costs.SHIFT,),
    rules=(row_major(0, 1, 2),),
    summary="lhs shifted left, each element by that of rhs: 0 to width - 1, anything else is an error.",
    example="pl.shl(out, lhs, rhs)",
)
binary(
    "shr",
    shifting(np.right_shift),
    EVERY_INTEGER,
    (costs.SHIFT,),
    rules=(row_major(0, 1, 2),),
    summary="lhs shifted right, each element by that of rhs (0 to width - 1); signed types keep their sign.",
    example="pl.shr(out, lhs, rhs)",
)

SHIFT_RULES: tuple[Rule, ...] = (shift(2), row_major(0, 1))

WITH_SCALAR: tuple[tuple[str, Run, Sequence[DataType], costs.Names, tuple[Rule, ...], str], ...] = (
    ("adds", mapped(np.add, 1, 2), ADDED, costs.ADDS, (), "lhs + scalar"),
    ("subs", mapped(np.subtract, 1, 2), ADDED, costs.SUBS, (), "lhs - scalar"),
    ("muls", mapped(np.multiply, 1, 2), MULTIPLIED, costs.MULS, (), "lhs * scalar"),
    ("divs", mapped(numbers.divide, 1, 2), DIVIDED, costs.DIVS, (), "lhs / scalar (as div)"),
    ("rems", mapped(numbers.remainder, 1, 2), DIVIDED, costs.DIVS, (), "remainder of lhs / scalar (as rem)"),
    ("maxs", mapped(np.maximum, 1, 2), ADDED, costs.MAXS, (), "the greater of lhs and scalar; NaN stays"),
    ("mins", mapped(np.minimum, 1, 2), ADDED, costs.MINS, (), "the lesser of lhs and scalar; NaN stays"),
    ("ands", mapped(np.bitwise_and, 1, 2), BITS, costs.AND, (), "lhs & scalar"),
    ("ors", mapped(np.bitwise_or, 1, 2), BITS, costs.OR, (), "lhs | scalar"),
    ("shls", shifting(np.left_shift), EVERY_INTEGER, costs.SHIFT, SHIFT_RULES, "lhs << scalar (as shl)"),
    ("shrs", shifting(np.right_shift), EVERY_INTEGER, costs.SHIFT, SHIFT_RULES, "lhs >> scalar (as shr)"),
)
for _name, _run, _dtypes, _price, _rules, _formula in WITH_SCALAR:
    with_scalar(_name, _run, _dtypes, _price, rules=_rules, summary=f"out = {_formula}.", example=f"pl.{_name}(out, lhs, 3)")

UNARY: tuple[tuple[str, Compute, Sequence[DataType], costs.Names, tuple[Rule, ...], str], ...] = (
    ("neg", negated, MULTIPLIED, costs.NEG, (), "-src; integers wrap"),
    ("abs", np.abs, (*SIGNED, *HALF_AND_SINGLE), costs.ABS, (), "|src|; the least integer wraps to itself"),
    ("exp", numbers.exponential, HALF_AND_SINGLE, costs.EXP, (), "e to the power src"),
    ("log", numbers.logarithm, HALF_AND_SINGLE, costs.LN, (), "the natural logarithm of src"),
    ("sqrt", np.sqrt, HALF_AND_SINGLE, costs.SQRT, (), "the square root of src"),
    ("rsqrt", numbers.reciprocal_root, HALF_AND_SINGLE, costs.RSQRT, (row_major(0, 1),), "1 / sqrt(src), rounded once"),
    ("recip", numbers.reciprocal, HALF_AND_SINGLE, costs.RECIPROCAL, (row_major(0, 1),), "1 / src"),
    ("relu", numbers.relu, (*HALF_AND_SINGLE, I32), costs.RELU, (), "the greater of src and 0; NaN stays"),
)
for _name, _compute, _dtypes, _price, _rules, _formula in UNARY:
    unary(_name, _compute, _dtypes, _price, _rules, summary=f"out = {_formula}.", example=f"pl.{_name}(out, src)")

unary("not_", np.invert, BITS, costs.NOT, hidden=True, summary="All bits flipped.", example="pl.not_(out, src)")


_combine_bits = mapped(np.bitwise_xor, 1, 2)


def exclusive_or(call: Running) -> None:
    for other in (0, 1, 2):
        if is_tile(call.operands[other]):
            expect_apart(call, 3, other)
    _combine_bits(call)
    spoil(call.operands[3], call.operands[0].rows, call.operands[0].columns)


def _exclusive_or(name: str, hidden: bool) -> None:
    """``(out, lhs, rhs, tmp)`` on tiles, ``(out, lhs, scalar, tmp)`` where the right operand is a number."""
    right = positional("scalar", "scalar") if hidden else positional("rhs", "tile")
    roles = ("W", "R", "-", "T") if hidden else ("W", "R", "R", "T")
    kind = scalar(2) if hidden else in_ub(2)
    register(
        TileOperation(
            name=name,
            summary=f"Bits set in exactly one of lhs and {right.name}; tmp is scratch of the same type, a tile of its own.",
            parameters=(positional("out", "tile"), positional("lhs", "tile"), right, positional("tmp", "tile")),
            roles=roles,
            pipe=PipeType.V,
            run=exclusive_or,
            check=all_of(
                in_ub(0, 1, 3),
                kind,
                typed(0, BITS),
                alike(0, 1, 2),
                same_dtype(0, 3),
                *(distinct(3, other) for other in range(3)),
            ),
            touches=within_target(roles),
            cost=costs.XOR,
            hidden=hidden,
            example=f"pl.{name}(out, lhs, {right.name}, tmp)",
        )
    )


_exclusive_or("xor", hidden=False)
_exclusive_or("xors", hidden=True)
