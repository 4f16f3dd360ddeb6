"""The way out of an accumulator: relu, scale, conversion (tile API section 3.1, ``store``).

Order as on the machine: relu, then scale, then conversion. fp32 narrows to nearest even; int8 results are rounded to nearest
even and saturated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pypto.cores.enums import AccToVecMode, MemorySpace, RoundMode
from pypto.cores.types import Scalar, Tensor, Tile
from pypto.dtypes import DataType
from pypto.errors.tile_matrix import (
    ScaleDestination,
    ScaleKind,
    ScaleScalarDtype,
    ScaleTensor,
    ScaleTileDtype,
    ScaleTileFloat,
    ScaleTileRank,
    ScaleTileSpace,
    ScaleTileWidth,
    ScaleUnsigned,
    ScaleWithDualMode,
    ScaleWithKeyword,
    ScaleWithPhase,
    ScaleWithRelu,
)
from pypto.errors.tiles import ConversionUnsupported
from pypto.ops.tile.conversion_numbers import convert
from pypto.ops.tile.table import StaticCall, TileView, Touch

_D = DataType
PLAIN: dict[DataType, tuple[DataType, ...]] = {
    _D.DT_FP32: (_D.DT_FP32, _D.DT_FP16, _D.DT_BF16),
    _D.DT_INT32: (_D.DT_INT32,),
}
SCALED: dict[DataType, tuple[DataType, ...]] = {_D.DT_FP32: (_D.DT_FP16, _D.DT_INT8), _D.DT_INT32: (_D.DT_FP16, _D.DT_INT8)}
SCALE_SCALARS = (_D.DT_FP32, _D.DT_INT32, _D.DT_INT64)
WIDEST_SCALE = 512  # tile API section 4.5
SCALE_MULTIPLE = 16
SIGNED_MARK = np.int64(1) << 46  # in an encoded channel scale: the result is signed int8 (tile API section 3.1)
DUAL_MODES = (AccToVecMode.DualModeSplitM, AccToVecMode.DualModeSplitN)


def check_conversion(call: StaticCall, source: DataType, target: DataType) -> None:
    """Refuses what the fixpipe cannot convert, with or without a scale."""
    scaled = has_scale(call)
    possible = (SCALED if scaled else PLAIN).get(source, ())
    if target in possible:
        return
    listed = ", ".join(one.label.upper() for one in possible) or "none"
    if scaled and target in (_D.DT_UINT8, _D.DT_BF16):
        raise ScaleDestination(operation=call.operation, target=target.label.upper(), possible=listed)
    raise ConversionUnsupported(
        operation=call.operation,
        source=source.label.upper(),
        target=target.label.upper(),
        scaled="with a" if scaled else "without",
        possible=listed,
    )


def has_scale(call: StaticCall) -> bool:
    return call.attributes.get("scale") is not None or call.attribute_types.get("scale") is not None


def check_scale(call: StaticCall) -> None:
    """The rules of the keyword ``scale``, whatever it is."""
    if not has_scale(call):
        return
    kind = call.attribute_types.get("scale")
    if isinstance(kind, Tensor):
        raise ScaleTensor(operation=call.operation)
    if isinstance(kind, Tile):
        check_scale_tile(call, kind)
        check_scale_company(call)
    elif isinstance(kind, Scalar):
        if call.attributes.get("scale") is None and kind.dtype not in SCALE_SCALARS:
            raise ScaleScalarDtype(operation=call.operation, got=kind.dtype.label)
    elif isinstance(call.attributes.get("scale"), bool) or not isinstance(call.attributes.get("scale"), (int, float)):
        raise ScaleKind(operation=call.operation, kind=type(call.attributes.get("scale")).__name__)


def check_scale_tile(call: StaticCall, tile: Tile) -> None:
    """A tile of one encoded scale per column."""
    name = call.operation
    if tile.space is not MemorySpace.Scaling:
        raise ScaleTileSpace(operation=name, got=tile.space.name)
    if tile.dtype is _D.DT_FP32:
        raise ScaleTileFloat(operation=name)
    if tile.dtype is not _D.DT_INT64:
        raise ScaleTileDtype(operation=name, got=tile.dtype.label.upper())
    if len(tile.shape) != 2 or tile.shape[0] != 1:
        raise ScaleTileRank(operation=name, shape=list(tile.shape))
    if tile.shape[1] % SCALE_MULTIPLE or tile.shape[1] > WIDEST_SCALE:
        raise ScaleTileWidth(operation=name, limit=WIDEST_SCALE, columns=tile.shape[1])


def check_scale_company(call: StaticCall) -> None:
    """What may not stand beside a scale tile."""
    name = call.operation
    if call.attributes.get("relu_pre_mode") is not None:
        raise ScaleWithRelu(operation=name)
    if call.attributes.get("phase") is not None:
        raise ScaleWithPhase(operation=name)
    mode = call.attributes.get("acc_to_vec_mode")
    if mode in DUAL_MODES:
        raise ScaleWithDualMode(operation=name, mode=mode)
    for keyword in ("order", "atomic"):
        if call.attributes.get(keyword) is not None and int(_first(call.attributes[keyword])):
            raise ScaleWithKeyword(operation=name, keyword=keyword)


def _first(value: Any) -> Any:
    """A list that is an order counts, AtomicNone does not."""
    return 1 if isinstance(value, (list, tuple)) else value


def converted(call: Any, values: np.ndarray, target: DataType) -> np.ndarray:
    """Accumulator values ``[rows, columns]`` as they arrive in a ``target`` of the call."""
    if call.attributes.get("relu_pre_mode") is not None:
        values = np.maximum(values, values.dtype.type(0))
    scale = call.attributes.get("scale")
    if scale is None:
        return values.astype(target.numpy, copy=False)
    with np.errstate(all="ignore"):
        return narrowed(values.astype(np.float32) * factors(call, scale, values.shape[1], target), target)


def factors(call: Any, scale: Any, columns: int, target: DataType) -> np.ndarray:
    """The scale of every column as fp32: one number, the bits of one, or a tile of encoded ones."""
    if hasattr(scale, "read_block"):
        return _channel_factors(call, scale, columns, target)
    if isinstance(scale, (int, np.integer)):  # a run-time integer holds the bits; numbers of the source text arrive as floats
        return np.asarray(int(scale) & 0xFFFFFFFF, np.uint32).view(np.float32)
    return np.asarray(scale, np.float32)


def _channel_factors(call: Any, scale: TileView, columns: int, target: DataType) -> np.ndarray:
    encoded = np.ascontiguousarray(scale.read_block(0, 0, 1, columns))
    found = (encoded & np.int64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    unmarked = (encoded & SIGNED_MARK == 0) & (found != 0)
    if target is DataType.DT_INT8 and unmarked.any():
        raise ScaleUnsigned(operation=call.operation, channel=int(np.argmax(unmarked[0])))
    return found


def narrowed(values: np.ndarray, target: DataType) -> np.ndarray:
    """fp32 values as int8 (nearest even, saturated, NaN becomes 0) or as a float type."""
    if target is not DataType.DT_INT8:
        return values.astype(target.numpy)
    return convert(values, target, RoundMode.CAST_RINT)


def scale_touches(call: Any, columns: int) -> Iterable[Touch]:
    """What a call reads of its scale tile."""
    scale = call.attributes.get("scale")
    if hasattr(scale, "read_block"):
        yield Touch(scale, "R", 0, 0, 1, columns)
