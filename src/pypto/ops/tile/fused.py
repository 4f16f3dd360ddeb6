"""Fused and partial operations on pipe V (tile API section 3.7).

Several of them compute in two steps and keep the first result in ``lhs``: **lhs is overwritten**. Every step is rounded to the
element type of the tile that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import PipeType, RoundMode
from pypto.dtypes import DataType
from pypto.errors.tile_vectors import PartExtents
from pypto.ops.dtype_sets import F16, F32, FLOATS, I16, I32, I64, U16, U32, U64
from pypto.ops.tile import vector_costs as costs
from pypto.ops.tile import vector_numbers as numbers
from pypto.ops.tile.checks import require_tile
from pypto.ops.tile.conversion import check_rounding
from pypto.ops.tile.conversion_numbers import CASTABLE, convert
from pypto.ops.tile.table import Running, StaticCall, TileOperation, keyword, positional, register
from pypto.ops.tile.vector_checks import alike, all_of, covering, in_ub, same_dtype, same_layout, scalar, typed
from pypto.ops.tile.vector_dtypes import EVERY
from pypto.ops.tile.vector_running import Compute, mapped, number_as, region, result_of, store, within_target

ACTIVATED = (I16, I32, *FLOATS)
MULTIPLIED = (I16, I32, I64, U16, U32, U64, *FLOATS)
BINARY = (positional("out", "tile"), positional("lhs", "tile"), positional("rhs", "tile"))
Arrays = tuple[np.ndarray, ...]


def fused(name: str, roles: tuple[str, ...], run: Callable[[Running], None], **columns: Any) -> TileOperation:
    return register(
        TileOperation(
            name=name,
            roles=roles,
            pipe=PipeType.V,
            run=run,
            touches=within_target(roles),
            parameters=columns.pop("parameters", BINARY),
            **columns,
        )
    )


def three_regions(call: Running) -> Arrays:
    """lhs, rhs and what ``out`` held before, on the extents of ``out``."""
    out = call.operands[0]
    return (*(region(call, position, out.rows, out.columns) for position in (1, 2)), out.read())


def keep(call: Running, function: Compute, *arrays: np.ndarray) -> np.ndarray:
    """The first step's result, rounded and written over ``lhs``."""
    lhs = call.operands[1]
    result = result_of(lhs.numpy_dtype, function, *arrays)
    lhs.write_block(0, 0, result)
    return result


# -------------------------------------------------------------------------------------------------- lhs keeps the first step


def then_relu(function: Compute) -> Callable[[Running], None]:
    def run(call: Running) -> None:
        lhs, rhs, _ = three_regions(call)
        store(call.operands[0], numbers.relu, keep(call, function, lhs, rhs))

    return run


def then_cast(function: Compute) -> Callable[[Running], None]:
    def run(call: Running) -> None:
        lhs, rhs, _ = three_regions(call)
        out, mode = call.operands[0], call.attributes.get("mode") or RoundMode.CAST_ROUND
        out.write(convert(keep(call, function, lhs, rhs), out.type.dtype, mode))

    return run


def check_mode(call: StaticCall) -> None:
    check_rounding(call, require_tile(call, 1).dtype, require_tile(call, 0).dtype)


CAST_PARAMETERS = (
    *BINARY,
    keyword("target_type", "type", required=True),
    keyword("mode", enum=RoundMode, default=RoundMode.CAST_ROUND),
)


def casting(name: str, function: Compute, dtypes: Sequence[DataType], words: str, price: costs.Names) -> None:
    """``(out, lhs, rhs, *, target_type, mode)``; the element type of ``out`` decides the conversion."""
    rules = (same_dtype(1, 2), same_layout(0, 1, 2), covering(0, 1, 2), check_mode)
    fused(
        name,
        ("W", "RW", "R"),
        then_cast(function),
        parameters=CAST_PARAMETERS,
        check=all_of(in_ub(0, 1, 2), typed(1, dtypes), typed(0, CASTABLE), *rules),
        cost=price + costs.CAST,
        summary=f"lhs = {words}; out = lhs converted to the element type of out (target_type is recorded only).",
        example=f"pl.{name}(out, lhs, rhs, target_type=pl.DT_FP16)",
    )


def activated(function: Compute) -> Compute:
    return numbers.into(lambda a, b: numbers.relu(function(a, b)))


for _name, _function, _words, _price in (
    ("add_relu", np.add, "lhs + rhs", costs.ADD),
    ("sub_relu", np.subtract, "lhs - rhs", costs.SUB),
):
    fused(
        _name,
        ("W", "RW", "R"),
        then_relu(_function),
        check=all_of(in_ub(0, 1, 2), typed(0, ACTIVATED), alike(0, 1, 2)),
        cost=_price + costs.RELU,
        summary=f"lhs = {_words}; out = the greater of lhs and 0.",
        example=f"pl.{_name}(out, lhs, rhs)",
    )
    casting(f"{_name}_cast", activated(_function), ACTIVATED, f"the greater of {_words} and 0", _price)
casting("mul_cast", np.multiply, MULTIPLIED, "lhs * rhs", costs.MUL)


def multiply_add(call: Running) -> None:
    lhs, rhs, held = three_regions(call)
    store(call.operands[0], np.add, keep(call, np.multiply, lhs, rhs), held)


def multiply_out(call: Running) -> None:
    lhs, rhs, held = three_regions(call)
    store(call.operands[0], np.add, keep(call, np.multiply, lhs, held), rhs)


def multiply_out_relu(call: Running) -> None:
    lhs, rhs, held = three_regions(call)
    total = result_of(call.operands[0].numpy_dtype, np.add, keep(call, np.multiply, held, lhs), rhs)
    store(call.operands[0], numbers.relu, total)


for _name, _run, _words in (
    ("mul_add_dst", multiply_add, "lhs = lhs * rhs; out = lhs + out"),
    ("fused_mul_add", multiply_out, "lhs = lhs * out; out = lhs + rhs"),
    ("fused_mul_add_relu", multiply_out_relu, "lhs = out * lhs; out = the greater of lhs + rhs and 0"),
):
    fused(
        _name,
        ("RW", "RW", "R"),
        _run,
        check=all_of(in_ub(0, 1, 2), typed(0, MULTIPLIED), alike(0, 1, 2)),
        cost=costs.MUL + costs.ADD,
        summary=f"{_words}.",
        example=f"pl.{_name}(out, lhs, rhs)",
    )

# ------------------------------------------------------------------------------------------------------------ three inputs

for _name, _compute, _words in (
    ("addc", numbers.add_three, "lhs + rhs + third"),
    ("subc", numbers.subtract_two, "lhs - rhs - third"),
):
    fused(
        _name,
        ("W", "R", "R", "R"),
        mapped(_compute, 1, 2, 3),
        parameters=(*BINARY, positional("third", "tile")),
        check=all_of(in_ub(0, 1, 2, 3), typed(0, EVERY), alike(0, 1, 2, 3)),
        cost=costs.ADD * 2,
        hidden=_name == "subc",
        summary=f"out = {_words}, rounded once.",
        example=f"pl.{_name}(out, lhs, rhs, third)",
    )
    fused(
        f"{_name[:-1]}sc",
        ("W", "R", "-", "R"),
        mapped(_compute, 1, 2, 3),
        parameters=(*BINARY[:2], positional("scalar", "scalar"), positional("third", "tile")),
        check=all_of(in_ub(0, 1, 3), scalar(2), typed(0, EVERY), alike(0, 1, 3)),
        cost=costs.ADDS + costs.ADD,
        hidden=True,
        summary=f"out = {_words.replace('rhs', 'scalar')}, rounded once.",
        example=f"pl.{_name[:-1]}sc(out, lhs, 1.0, third)",
    )


def scaled_sum(call: Running) -> None:
    """In fp32: the product, then the sum, rounded to ``out``."""
    out, src, alpha = call.operands
    factor = np.float32(number_as(alpha, src.type.dtype))
    product = region(call, 1, out.rows, out.columns).astype(np.float32) * factor
    out.write((out.read().astype(np.float32) + product).astype(out.numpy_dtype))


def check_axpy(call: StaticCall) -> None:
    if (require_tile(call, 0).dtype, require_tile(call, 1).dtype) != (F32, F16):
        same_dtype(0, 1)(call)


fused(
    "axpy",
    ("RW", "R", "-"),
    scaled_sum,
    parameters=(positional("out", "tile"), positional("src", "tile"), positional("alpha", "scalar")),
    check=all_of(
        in_ub(0, 1), scalar(2), typed(0, (F16, F32)), typed(1, (F16, F32)), check_axpy, same_layout(0, 1), covering(0, 1)
    ),
    cost=costs.MULS + costs.ADD,
    summary="out += alpha * src, in fp32; an FP16 src may be added to an FP32 out.",
    example="pl.axpy(out, src, 0.5)",
)

# ---------------------------------------------------------------------------------------------------------------- partial


def partial(function: Compute) -> Callable[[Running], None]:
    """Where both sources are valid the function, where one is, that one."""

    def run(call: Running) -> None:
        out, first, second = call.operands
        extents = [(tile.rows, tile.columns) for tile in (out, first, second)]
        if not out.rows or not out.columns:
            return
        if extents[0] not in extents[1:] or any(rows > out.rows or columns > out.columns for rows, columns in extents[1:]):
            target, one, other = (f"{rows} x {columns}" for rows, columns in extents)
            raise PartExtents(operation=call.operation, argument="out", out=target, first=one, second=other)
        larger, part = (first, second) if extents[1] == extents[0] else (second, first)
        result = np.array(larger.read())
        common = (slice(part.rows), slice(part.columns))
        result[common] = result_of(out.numpy_dtype, function, first.read()[common], second.read()[common])
        out.write(result)

    return run


PARTIAL: tuple[tuple[str, Compute, Sequence[DataType], str, costs.Names], ...] = (
    ("partadd", np.add, EVERY, "their sum", costs.ADD),
    ("partmul", np.multiply, MULTIPLIED, "their product", costs.MUL),
    ("partmax", np.maximum, EVERY, "the greater (NaN stays)", costs.MAXIMUM),
    ("partmin", np.minimum, EVERY, "the lesser (NaN stays)", costs.MINIMUM),
)
for _name, _merge, _dtypes, _words, _cost in PARTIAL:
    register(
        TileOperation(
            name=_name,
            summary=f"Where both sources are valid {_words}, where only one is, that one. One source has the extents of out.",
            parameters=(positional("out", "tile"), positional("src0", "tile"), positional("src1", "tile")),
            roles=("W", "R", "R"),
            pipe=PipeType.V,
            run=partial(_merge),
            check=all_of(in_ub(0, 1, 2), typed(0, _dtypes), same_dtype(0, 1, 2), same_layout(0, 1, 2)),
            cost=_cost,
            example=f"pl.{_name}(out, src0, src1)",
        )
    )
