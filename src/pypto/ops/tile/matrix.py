"""Matrix products of the cube core (tile API section 3.2).

M and K are the valid extents of the left tile, N the valid columns of the right one; the product lands in the upper left of the
accumulator. Sums are fp32 (int32 for int8 operands), whatever the element type of the operands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pypto.cores.enums import AccPhase, CoreType, MemorySpace, PipeType
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors.tile_matrix import (
    AccumulatorDtype,
    AccumulatorShape,
    BiasShape,
    MatrixDtypes,
    MatrixExtent,
    MatrixInnerExtents,
    MatrixTargetShape,
    MatrixTargetTooSmall,
    MxDtypes,
    MxInnerMultiple,
    MxScaleAddress,
    MxScaleDtype,
    MxScaleMissing,
    MxScaleShape,
    MxScaleSpace,
)
from pypto.errors.tiles import PhaseInvalid, WrongCore
from pypto.ops.tile.checks import require_space, require_tile
from pypto.ops.tile.numbers import as_floats, product
from pypto.ops.tile.table import StaticCall, StaticOperand, TileOperation, Touch, keyword, positional, register

_S, _D = MemorySpace, DataType
LARGEST_EXTENT = 4095  # tile API section 3.2
BLOCK = 16  # rows and columns that the cube multiplies at a time
MX_GROUP = 32  # elements of K that share one scale
MX_MULTIPLE = 64
FP8 = (_D.DT_FP8E4M3, _D.DT_FP8E5M2)
FP4 = (_D.DT_FP4_E2M1, _D.DT_FP4_E1M2)
SAME = (_D.DT_FP16, _D.DT_BF16, _D.DT_FP32, _D.DT_HF8)
POSSIBLE = "fp16, bf16, fp32, hf8 with themselves and pairs of fp8 into fp32; int8 into int32"


# -- before anything runs -----------------------------------------------------------------------------------------------------


def _check(call: StaticCall) -> None:
    """Spaces, phase, element types and constant extents of a product without block scales."""
    target, left, right = _spaces(call)
    if not plain_types(target.dtype, left.dtype, right.dtype):
        raise MatrixDtypes(
            operation=call.operation,
            left=left.dtype.label,
            right=right.dtype.label,
            target=target.dtype.label,
            possible=POSSIBLE,
        )
    _check_extents(call, target, left, right)
    if (bias := call.tile(_bias_at(call))) is not None:
        _check_bias(call, bias, right)


def _accumulates(call: Any) -> bool:
    return call.operation in ("matmul_acc", "matmul_mx_acc", "gemv_acc")


def _bias_at(call: Any) -> int:
    """Where the bias stands, behind all operands where there is none."""
    return 3 if call.operation in ("matmul", "matmul_bias", "gemv_bias") else len(call.operands)


def _spaces(call: StaticCall) -> tuple[Tile, Tile, Tile]:
    """Target, left, right; each in its memory."""
    if call.core is not CoreType.CUBE:
        raise WrongCore(operation=call.operation, expected="cube", got="vector")
    target = require_tile(call, 0)
    require_space(call, target, "dst_tile", _S.Acc)
    first = 1
    if _accumulates(call):
        accumulator = require_tile(call, 1)
        require_space(call, accumulator, "acc_tile", _S.Acc)
        first = 2
    left, right = require_tile(call, first), require_tile(call, first + 1)
    require_space(call, left, "lhs_tile", _S.Left)
    require_space(call, right, "rhs_tile", _S.Right)
    phase = call.attributes.get("phase")
    if phase is not None and not isinstance(phase, AccPhase):
        raise PhaseInvalid(operation=call.operation, got=phase, expected="AccPhase")
    return target, left, right


def plain_types(target: DataType, left: DataType, right: DataType) -> bool:
    """Whether the cube multiplies these without block scales."""
    if left is right is _D.DT_INT8:
        return target is _D.DT_INT32
    return target is _D.DT_FP32 and ((left is right and left in SAME) or (left in FP8 and right in FP8))


def _check_extents(call: StaticCall, target: Tile, left: Tile, right: Tile) -> None:
    """What the constant extents of the types already tell; the rest is checked where it runs."""
    if left.valid is not None:
        check_extents(call.operation, left.valid, right.valid or right.shape, target.shape)
    if left.valid is None and right.valid is None and left.shape[1] != right.shape[0]:
        raise MatrixInnerExtents(operation=call.operation, left=left.shape[1], right=right.shape[0])
    if _accumulates(call) and (accumulator := require_tile(call, 1)).shape != target.shape:
        raise AccumulatorShape(operation=call.operation, got=list(accumulator.shape), expected=list(target.shape))


def check_extents(operation: str, left: tuple[int, int], right: tuple[int, int], target: tuple[int, int]) -> None:
    """M, K, N in range, K covered on the right, the product inside the accumulator."""
    rows, inner, columns = left[0], left[1], right[1]
    for axis, extent in (("M", rows), ("K", inner), ("N", columns)):
        if not 1 <= extent <= LARGEST_EXTENT:
            raise MatrixExtent(operation=operation, axis=axis, extent=extent)
    if right[0] < inner:
        raise MatrixInnerExtents(operation=operation, left=inner, right=right[0])
    if rows > target[0] or columns > target[1]:
        raise MatrixTargetTooSmall(operation=operation, expected=[rows, columns], got=list(target))


def _check_bias(call: StaticCall, bias: Tile, right: Tile) -> None:
    require_space(call, bias, "bias_tile", _S.Bias)
    wanted = _D.DT_INT32 if right.dtype is _D.DT_INT8 else _D.DT_FP32
    if bias.shape[0] != 1 or bias.dtype is not wanted:
        raise BiasShape(operation=call.operation, got=f"{list(bias.shape)} of {bias.dtype.label}")


def _check_mx(call: StaticCall) -> None:
    """Block-scaled products: tile API section 3.2, item 5."""
    target, left, right = _spaces(call)
    first = 3 + _accumulates(call)
    scales = [_scale(call, first, "scale_a", _S.ScaleLeft), _scale(call, first + 1, "scale_b", _S.ScaleRight)]
    if not (
        ((left.dtype in FP8 and right.dtype in FP8) or (left.dtype in FP4 and right.dtype in FP4)) and target.dtype is _D.DT_FP32
    ):
        raise MxDtypes(operation=call.operation, left=left.dtype.label, right=right.dtype.label, target=target.dtype.label)
    (rows, inner), (right_inner, columns) = left.shape, right.shape
    if inner != right_inner:
        raise MatrixInnerExtents(operation=call.operation, left=inner, right=right_inner)
    if inner % MX_MULTIPLE:
        raise MxInnerMultiple(operation=call.operation, extent=inner)
    if target.shape != (rows, columns):
        raise MatrixTargetShape(operation=call.operation, expected=[rows, columns], got=list(target.shape))
    _check_mx_accumulator(call, target)
    for index, (scale, name, shape) in enumerate(
        zip(scales, ("scale_a", "scale_b"), ((rows, inner // MX_GROUP), (inner // MX_GROUP, columns)), strict=True)
    ):
        if scale.shape != shape:
            raise MxScaleShape(operation=call.operation, argument=name, expected=list(shape), got=list(scale.shape))
        _check_scale_address(call, first + index, first - 2 + index, name)


def _scale(call: StaticCall, index: int, name: str, space: MemorySpace) -> Tile:
    if index >= len(call.operands) or call.operands[index] is None:
        raise MxScaleMissing(operation=call.operation, argument=name)
    tile = require_tile(call, index, name)
    if tile.dtype is not _D.DT_FP8E8M0:
        raise MxScaleDtype(operation=call.operation, argument=name, got=tile.dtype.label)
    if tile.space is not space:
        memory = "L0A" if space is _S.ScaleLeft else "L0B"
        raise MxScaleSpace(operation=call.operation, argument=name, memory=memory, expected=space.name, got=tile.space.name)
    return tile


def _check_mx_accumulator(call: StaticCall, target: Tile) -> None:
    if not _accumulates(call):
        return
    accumulator = require_tile(call, 1)
    if accumulator.shape != target.shape:
        raise AccumulatorShape(operation=call.operation, got=list(accumulator.shape), expected=list(target.shape))
    if accumulator.dtype is not _D.DT_FP32:
        raise AccumulatorDtype(operation=call.operation, got=accumulator.dtype.label)


def _check_scale_address(call: StaticCall, scale_at: int, data_at: int, name: str) -> None:
    """Scales lie where the machine looks for them: at the address of their data, shifted right by four."""
    scale, data = call.operands[scale_at], call.operands[data_at]
    if not (isinstance(scale, StaticOperand) and isinstance(data, StaticOperand)):
        return
    if scale.address is not None and data.address is not None and scale.address != data.address >> 4:
        raise MxScaleAddress(operation=call.operation, argument=name, expected=data.address >> 4, got=scale.address)


# -- at run time --------------------------------------------------------------------------------------------------------------


def _factors(call: Any) -> tuple[Any, Any]:
    first = 1 + _accumulates(call)
    return call.operands[first], call.operands[first + 1]


def _extents(call: Any) -> tuple[int, int, int]:
    """M, K, N."""
    left, right = _factors(call)
    return left.rows, left.columns, right.columns


def _multiply(call: Any) -> None:
    target, (left, right) = call.operands[0], _factors(call)
    rows, inner, columns = _extents(call)
    check_extents(call.operation, (rows, inner), (right.rows, columns), target.type.shape)
    a, b = as_floats(left.read(), left.type.dtype), as_floats(right.read_block(0, 0, inner, columns), right.type.dtype)
    if call.operation.startswith("matmul_mx"):
        a, b = _scaled(call, a, b)
    values = product(a, b)
    with np.errstate(all="ignore"):
        if _accumulates(call):
            values = call.operands[1].read_block(0, 0, rows, columns) + values
        elif (bias := _bias(call)) is not None:
            values = values + bias.read_block(0, 0, 1, columns)
    target.write_block(0, 0, values)


def _bias(call: Any) -> Any:
    at = _bias_at(call)
    return call.operands[at] if at < len(call.operands) else None


def _scaled(call: Any, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Operands times the scale of their group of 32 along K: powers of two, so that nothing is rounded."""
    left, right = call.operands[-2:]
    groups = -(-a.shape[1] // MX_GROUP)
    by_left = left.read_block(0, 0, a.shape[0], groups).astype(np.float32)
    by_right = right.read_block(0, 0, groups, b.shape[1]).astype(np.float32)
    with np.errstate(all="ignore"):
        return (
            a * np.repeat(by_left, MX_GROUP, axis=1)[:, : a.shape[1]],
            b * np.repeat(by_right, MX_GROUP, axis=0)[: b.shape[0]],
        )


def _touches(call: Any) -> Iterable[Touch]:
    left, right = _factors(call)
    rows, inner, columns = _extents(call)
    yield Touch(left, "R", 0, 0, rows, inner)
    yield Touch(right, "R", 0, 0, inner, columns)
    if _accumulates(call):
        yield Touch(call.operands[1], "R", 0, 0, rows, columns)
    elif (bias := _bias(call)) is not None:
        yield Touch(bias, "R", 0, 0, 1, columns)
    if call.operation.startswith("matmul_mx"):
        groups = -(-inner // MX_GROUP)
        yield Touch(call.operands[-2], "R", 0, 0, rows, groups)
        yield Touch(call.operands[-1], "R", 0, 0, groups, columns)
    yield Touch(call.operands[0], "W", 0, 0, rows, columns)


def _work(call: Any) -> Iterable[tuple[str, float]]:
    """Steps of the cube: blocks of 16 x 16 results times 32 bytes of K (toolchain section 4.9, item 3)."""
    rows, inner, columns = _extents(call)
    size = _factors(call)[0].type.dtype.facts.bits / 8
    depth = max(1, int(BLOCK * 2 // size))
    yield "MATMUL", float(-(-rows // BLOCK) * -(-columns // BLOCK) * -(-inner // depth))


def _row(name: str, operands: str, summary: str, example: str, mx: bool = False, hidden: bool = False) -> None:
    names = operands.split()
    register(
        TileOperation(
            name,
            summary,
            (*(positional(one.strip("?"), "tile", optional=one.endswith("?")) for one in names), keyword("phase", enum=AccPhase)),
            ("W", *("R" for _ in names[1:])),
            PipeType.M,
            _multiply,
            check=_check_mx if mx else _check,
            touches=_touches,
            work=_work,
            hidden=hidden,
            example=example,
        )
    )


_row("matmul", "dst_tile lhs_tile rhs_tile bias_tile?", "dst = lhs @ rhs (+ bias row).", "pl.matmul(acc, left, right)")
_row("matmul_acc", "dst_tile acc_tile lhs_tile rhs_tile", "dst = acc + lhs @ rhs.", "pl.matmul_acc(acc, acc, left, right)")
_row(
    "matmul_mx",
    "dst_tile lhs_tile rhs_tile scale_a? scale_b?",
    "Product of block-scaled operands.",
    "pl.matmul_mx(acc, left, right, scale_left, scale_right)",
    mx=True,
)
_row(
    "matmul_mx_acc",
    "dst_tile acc_tile lhs_tile rhs_tile scale_a? scale_b?",
    "dst = acc + product of block-scaled operands.",
    "pl.matmul_mx_acc(acc, acc, left, right, scale_left, scale_right)",
    mx=True,
)
_row(
    "matmul_bias",
    "dst_tile lhs_tile rhs_tile bias_tile",
    "dst = lhs @ rhs + bias.",
    "pl.matmul_bias(acc, left, right, bias)",
    hidden=True,
)
_row("gemv", "dst_tile lhs_tile rhs_tile", "``matmul`` of one row.", "pl.gemv(acc, left, right)", hidden=True)
_row(
    "gemv_acc",
    "dst_tile acc_tile lhs_tile rhs_tile",
    "``matmul_acc`` of one row.",
    "pl.gemv_acc(acc, acc, left, right)",
    hidden=True,
)
_row(
    "gemv_bias",
    "dst_tile lhs_tile rhs_tile bias_tile",
    "``matmul_bias`` of one row.",
    "pl.gemv_bias(acc, left, right, bias)",
    hidden=True,
)
