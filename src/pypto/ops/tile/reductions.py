"""Reductions and broadcasts on pipe V (tile API section 3.4), and the row and column forms behind them (section 1.3).

A reduction covers the valid region of ``src``. Along columns (``dim=0``, ``row_*``) the result is one column; declare it DN so
that its elements lie behind one another. Float sums and products are accumulated in at least fp32 and rounded once, in an order
that does not matter (hardware sums fp16 in limited precision). NaN spreads through maxima, as through sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import PipeType
from pypto.ops.dtype_sets import F16, F32, FLOATS, I16, I32, I64, U32, U64
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile import vector_numbers as numbers
from pypto.ops.tile.checks import attribute
from pypto.ops.tile.table import Parameter, Running, StaticCall, TileOperation, TileView, Touch, keyword, positional, register
from pypto.ops.tile.vector_checks import (
    Rule,
    alike,
    all_of,
    in_ub,
    keyword_in,
    same_dtype,
    tile_or_scalar,
    typed,
)
from pypto.ops.tile.vector_dtypes import MIDDLE, NARROW, WIDE
from pypto.ops.tile.vector_running import (
    Compute,
    expect_extent,
    mapped,
    region,
    scratch,
    spoil,
    store,
    touch,
    within_target,
)

ACROSS, DOWN = 0, 1  # dim: over the columns of every row; over the rows of every column

# Element types by operation and dim: text under the table of section 3.4.
EXTREME = {ACROSS: (*NARROW, *MIDDLE, F16, F32), DOWN: (*NARROW, *MIDDLE, *WIDE, *FLOATS)}
SUMMED = {
    ACROSS: (I16, I32, I64, U64, F16, F32),
    DOWN: (*NARROW, *MIDDLE, *WIDE, *FLOATS),
}
LOCATED = {ACROSS: (F16, F32), DOWN: (*NARROW, *MIDDLE, *FLOATS)}
SPREAD = (*NARROW, *MIDDLE, *FLOATS)
POSITIONS = (I32, U32)

KINDS = {"sum": "sum", "max": "amax", "min": "amin", "prod": "prod", "argmax": "argmax", "argmin": "argmin"}
DTYPES = {"sum": SUMMED, "prod": SUMMED, "max": EXTREME, "min": EXTREME, "argmax": LOCATED, "argmin": LOCATED}
PRICES = {
    "sum": (costs.ROW_SUM, costs.COLUMN_SUM),
    "prod": (costs.ROW_SUM, costs.COLUMN_SUM),
    "max": (costs.ROW_MAX, costs.COLUMN_MAX),
    "argmax": (costs.ROW_MAX, costs.COLUMN_MAX),
    "min": (costs.ROW_MIN, costs.COLUMN_MIN),
    "argmin": (costs.ROW_MIN, costs.COLUMN_MIN),
}
WORDS = {
    "sum": "Sum",
    "prod": "Product",
    "max": "Maximum",
    "min": "Minimum",
    "argmax": "Position of the first maximum",
    "argmin": "Position of the first minimum",
}
PLACES = {ACROSS: "of every row, in one column", DOWN: "of every column, in one row"}


# ------------------------------------------------------------------------------------------------------------- reductions


def dim_of(call: Running) -> int:
    """``dim`` other than 0 acts like 1."""
    return ACROSS if not call.attributes.get("dim") else DOWN


def reduce(call: Running, kind: str, dim: int) -> None:
    """One column or one row of results from the valid region of ``src``."""
    out, src = call.operands[0], call.operands[1]
    if dim == ACROSS:
        expect_extent(call, 0, out.columns == 1 or not out.rows or not out.columns, "one column")
        source = region(call, 1, out.rows, src.columns)
    else:
        expect_extent(call, 0, out.rows == 1 or not out.rows or not out.columns, "one row")
        source = region(call, 1, src.rows, out.columns)
    if out.rows and out.columns:
        result = numbers.meaning(KINDS[kind])(source, axis=1 - dim, keepdim=True)
        if uses_scratch(kind, dim):
            spoil(call.operands[2], *source.shape)
        out.write(result.astype(out.numpy_dtype))


def uses_scratch(kind: str, dim: int) -> bool:
    """Text under the table of section 3.4: maximum, minimum and product down the rows leave ``tmp`` alone."""
    return dim == ACROSS or kind not in ("max", "min", "prod")


def touched_by_reduction(call: Running, kind: str, dim: int) -> Iterable[Touch]:
    out, src, tmp = call.operands[:3]
    rows, columns = (out.rows, src.columns) if dim == ACROSS else (src.rows, out.columns)
    used = [scratch(tmp, rows, columns)] if uses_scratch(kind, dim) and out.rows and out.columns else []
    return [touch(out, "W", out.rows, out.columns), touch(src, "R", rows, columns), *used]


def reduction_rules(kind: str, dim: int) -> Rule:
    """Three tiles in UB; ``tmp`` has the element type of ``src``, and so has ``out``, but for positions."""
    located = kind.startswith("arg")
    target = (typed(0, POSITIONS),) if located else (same_dtype(1, 0),)
    return all_of(in_ub(0, 1, 2), typed(1, DTYPES[kind][dim]), *target, same_dtype(1, 2))


REDUCED = (positional("out", "tile"), positional("src", "tile"))
SCRATCH = positional("tmp", "tile")


def reduction(name: str, kind: str, dim: int) -> TileOperation:
    """``(out, src, tmp)`` with a fixed direction."""
    return register(
        TileOperation(
            name=name,
            summary=f"{WORDS[kind]} {PLACES[dim]}. tmp is scratch like src.",
            parameters=(*REDUCED, SCRATCH),
            roles=("W", "R", "T"),
            pipe=PipeType.V,
            run=lambda call: reduce(call, kind, dim),
            check=reduction_rules(kind, dim),
            touches=lambda call: touched_by_reduction(call, kind, dim),
            cost=PRICES[kind][dim],
            hidden=True,
            example=f"pl.{name}(out, src, tmp)",
        )
    )


def by_dim(call: StaticCall, kind: str) -> None:
    reduction_rules(kind, DOWN if attribute(call, "dim", ACROSS) else ACROSS)(call)


def work_of(kind: str) -> Callable[[Running], Iterable[tuple[str, float]]]:
    return lambda call: [(name, costs.bytes_of(call)) for name in PRICES[kind][dim_of(call)]]


def directed(name: str, kind: str) -> TileOperation:
    """``(out, src, tmp, *, dim=0)``."""
    return register(
        TileOperation(
            name=name,
            summary=f"{WORDS[kind]} {PLACES[ACROSS]} (dim=0), or {PLACES[DOWN]} (dim=1). tmp is scratch like src.",
            parameters=(*REDUCED, SCRATCH, keyword("dim", "scalar", default=ACROSS)),
            roles=("W", "R", "T"),
            pipe=PipeType.V,
            run=lambda call: reduce(call, kind, dim_of(call)),
            check=lambda call: by_dim(call, kind),
            touches=lambda call: touched_by_reduction(call, kind, dim_of(call)),
            cost=PRICES[kind][ACROSS],
            work=work_of(kind),
            example=f"pl.{name}(out, src, tmp, dim=0)",
        )
    )


def selected(name: str, dim: int) -> TileOperation:
    """``(out, src, tmp, *, op_type)``: the kind by number."""
    kinds = ("sum", "max", "min", "prod")
    rules = [reduction_rules(kind, dim) for kind in kinds]
    in_range = keyword_in("op_type", range(4), "0 (sum), 1 (max), 2 (min) or 3 (prod)")
    return register(
        TileOperation(
            name=name,
            summary=f"Sum (op_type=0), maximum (1), minimum (2) or product (3) {PLACES[dim]}. tmp is scratch like src.",
            parameters=(*REDUCED, SCRATCH, keyword("op_type", "scalar", required=True)),
            roles=("W", "R", "T"),
            pipe=PipeType.V,
            run=lambda call: reduce(call, kinds[call.attributes["op_type"]], dim),
            check=all_of(in_range, lambda call: rules[call.attributes["op_type"]](call)),
            touches=lambda call: touched_by_reduction(call, kinds[call.attributes["op_type"]], dim),
            cost=PRICES["sum"][dim],
            hidden=True,
            example=f"pl.{name}(out, src, tmp, op_type=1)",
        )
    )


# -------------------------------------------------------------------------- maximum and minimum: elementwise, or along one axis


def extreme(name: str, kind: str, ufunc: np.ufunc, prices: tuple[costs.Names, costs.Names]) -> TileOperation:
    """``(out, lhs, rhs)`` elementwise; with ``dim`` the reduction ``(out, src, tmp)``."""
    elementwise = mapped(ufunc, 1, 2)
    pairwise = all_of(in_ub(0, 1), tile_or_scalar(2), typed(0, (*NARROW, *MIDDLE, *WIDE, *FLOATS)), alike(0, 1, 2))
    within = within_target("WRR")
    price_of = costs.by_right_operand(*prices)

    def reduces(call: Any) -> bool:
        return call.attributes.get("dim") is not None

    return register(
        TileOperation(
            name=name,
            summary=f"{WORDS[kind]} of lhs and rhs (a tile or a scalar); with dim, of src along one axis: dim=0 gives one"
            " column, dim=1 one row, and the third tile is scratch.",
            parameters=(
                positional("out", "tile"),
                positional("lhs", "tile"),
                positional("rhs", "tile scalar"),
                keyword("dim", "scalar"),
            ),
            roles=("W", "R", "R"),
            pipe=PipeType.V,
            run=lambda call: reduce(call, kind, dim_of(call)) if reduces(call) else elementwise(call),
            check=lambda call: by_dim(call, kind) if reduces(call) else pairwise(call),
            touches=lambda call: touched_by_reduction(call, kind, dim_of(call)) if reduces(call) else within(call),
            cost=prices[0],
            work=lambda call: work_of(kind)(call) if reduces(call) else price_of(call),
            example=f"pl.{name}(out, lhs, rhs)",
        )
    )


# ------------------------------------------------------------------------------------------------------------- broadcasts


def spread(call: Running, position: int, dim: int) -> np.ndarray:
    """The one column (``dim=0``) or row of an operand that is repeated over the result."""
    return region(call, position, *spread_extent(call.operands[0], dim))


def spread_extent(out: TileView, dim: int) -> tuple[int, int]:
    return (out.rows, min(1, out.columns)) if dim == ACROSS else (min(1, out.rows), out.columns)


def touched_by_spread(call: Running, roles: Sequence[str], dim: int) -> Iterable[Touch]:
    """As an elementwise operation, but of the last tile one column or row."""
    out = call.operands[0]
    last = len(roles) - 1
    whole = [touch(call.operands[index], roles[index], out.rows, out.columns) for index in range(last)]
    return [*whole, touch(call.operands[last], "R", *spread_extent(out, dim))]


def apply_spread(call: Running, compute: Compute, dim: int) -> None:
    out = call.operands[0]
    store(out, compute, region(call, 1, out.rows, out.columns), spread(call, 2, dim))


SPREAD_RULES = all_of(in_ub(0, 1, 2), typed(0, SPREAD), alike(0, 1), same_dtype(0, 2))
COMPUTES: dict[str, Compute] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": numbers.divide,
    "max": np.maximum,
    "min": np.minimum,
    "expdif": numbers.exponential_of_difference,
}
FORMULAS = {
    "add": "src + vec",
    "sub": "src - vec",
    "mul": "src * vec",
    "div": "src / vec",
    "max": "the greater of src and vec",
    "min": "the lesser of src and vec",
    "expdif": "e to the power src - vec",
}
SPREAD_PRICES = {"add": costs.ADD, "sub": costs.SUB, "mul": costs.MUL, "div": costs.DIV, "expdif": costs.SUB + costs.EXP}
VECTORS = {ACROSS: "vec [rows, 1] is repeated across the columns", DOWN: "vec [1, columns] is repeated down the rows"}
SPREAD_PARAMETERS = (positional("out", "tile"), positional("src", "tile"), positional("vec", "tile"))


def broadcast(
    name: str,
    summary: str,
    run: Callable[[Running], None],
    dim: Callable[[Running], int],
    extra: tuple[Parameter, ...] = (),
    check: Rule = SPREAD_RULES,
    **columns: Any,
) -> TileOperation:
    """``(out, src, vec)``."""
    return register(
        TileOperation(
            name=name,
            summary=summary,
            parameters=(*SPREAD_PARAMETERS, *extra),
            roles=("W", "R", "R"),
            pipe=PipeType.V,
            run=run,
            check=check,
            touches=lambda call: touched_by_spread(call, "WRR", dim(call)),
            **columns,
        )
    )


def directed_broadcast(kind: str) -> None:
    """``expand_<kind>(out, src, vec, *, dim=0)``."""
    compute = COMPUTES[kind]
    broadcast(
        f"expand_{kind}",
        f"out = {FORMULAS[kind]}; dim=0: {VECTORS[ACROSS]}, dim=1: {VECTORS[DOWN]}.",
        lambda call: apply_spread(call, compute, dim_of(call)),
        dim_of,
        extra=(keyword("dim", "scalar", default=ACROSS),),
        cost=SPREAD_PRICES.get(kind, costs.MAXIMUM),
        example=f"pl.expand_{kind}(out, src, vec, dim=0)",
    )


def fixed_broadcast(prefix: str, kind: str, dim: int) -> None:
    """``row_expand_<kind>`` and ``col_expand_<kind>``."""
    compute = COMPUTES[kind]
    floats = all_of(SPREAD_RULES, typed(0, FLOATS)) if kind == "expdif" else SPREAD_RULES
    broadcast(
        f"{prefix}_{kind}",
        f"out = {FORMULAS[kind]}; {VECTORS[dim]}.",
        lambda call: apply_spread(call, compute, dim),
        lambda call: dim,
        check=floats,
        cost=SPREAD_PRICES.get(kind, costs.MAXIMUM),
        hidden=True,
        example=f"pl.{prefix}_{kind}(out, src, vec)",
    )


def selected_broadcast(prefix: str, dim: int) -> None:
    """``row_expand_binop`` and ``col_expand_binop``: the function by number."""
    kinds = ("add", "sub", "mul", "div", "max", "min")
    broadcast(
        f"{prefix}_binop",
        f"out = src + vec (op_type=0), - (1), * (2), / (3), maximum (4), minimum (5); {VECTORS[dim]}.",
        lambda call: apply_spread(call, COMPUTES[kinds[call.attributes["op_type"]]], dim),
        lambda call: dim,
        extra=(keyword("op_type", "scalar", required=True),),
        check=all_of(SPREAD_RULES, keyword_in("op_type", range(6), "0 (add) to 5 (min)")),
        cost=costs.ADD,
        hidden=True,
        example=f"pl.{prefix}_binop(out, src, vec, op_type=2)",
    )


def repeated(name: str, dim: int) -> TileOperation:
    """``row_expand(out, src)`` and ``col_expand(out, src)``."""
    place = "the first column of src in every column" if dim == ACROSS else "the first row of src in every row"
    return register(
        TileOperation(
            name=name,
            summary=f"{place[0].upper()}{place[1:]} of out.",
            parameters=REDUCED,
            roles=("W", "R"),
            pipe=PipeType.V,
            run=lambda call: call.operands[0].write(spread(call, 1, dim)),
            check=all_of(in_ub(0, 1), typed(0, (*SPREAD, *WIDE)), same_dtype(0, 1)),
            touches=lambda call: touched_by_spread(call, "WR", dim),
            cost=costs.EXPAND,
            hidden=True,
            example=f"pl.{name}(out, src)",
        )
    )


# -------------------------------------------------------------------------------------------------------------------- rows

directed("sum", "sum")
directed("argmax", "argmax")
directed("argmin", "argmin")
extreme("maximum", "max", np.maximum, (costs.MAXIMUM, costs.MAXS))
extreme("minimum", "min", np.minimum, (costs.MINIMUM, costs.MINS))

for _prefix, _dim in (("row", ACROSS), ("col", DOWN)):
    for _kind in KINDS:
        reduction(f"{_prefix}_{_kind}", _kind, _dim)
    selected(f"{_prefix}_reduce", _dim)
    repeated(f"{_prefix}_expand", _dim)
    selected_broadcast(f"{_prefix}_expand", _dim)
    for _kind in COMPUTES:
        fixed_broadcast(f"{_prefix}_expand", _kind, _dim)

for _kind in ("max", "min", "mul", "sub", "div"):
    directed_broadcast(_kind)
