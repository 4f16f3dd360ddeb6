"""Data movement between global memory and on-chip memories, and between those (tile API section 3.1).

A transfer moves the valid extent of its tile, whatever the layouts: ``load`` that of the target, ``store`` that of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import AtomicType, MemorySpace, PipeType, ReluPreMode, STPhase, TensorLayout
from pypto.cores.layout import FRACTAL_COLUMN_BYTES, FRACTAL_ROWS
from pypto.dtypes import DataType
from pypto.errors.tiles import AtomicUnsupported, FixpipeOnly, NzStore, OrderDescends, PhaseInvalid
from pypto.ops.tile import handover, moves  # noqa: F401  (the other parts of this family)
from pypto.ops.tile.channel_scales import register_scaled
from pypto.ops.tile.checks import (
    TRANSFERABLE,
    attribute,
    require_core,
    require_dtype,
    require_offsets,
    require_same_dtype,
    require_space,
    require_tensor,
    require_tile,
)
from pypto.ops.tile.fixpipe import check_conversion, check_scale, converted, scale_touches
from pypto.ops.tile.table import StaticCall, TileOperation, Touch, keyword, positional, register
from pypto.ops.tile.transfers import Place, bytes_of, check_window, gather, places, scatter

_D = DataType
ATOMIC_TYPES = (_D.DT_FP32, _D.DT_FP16, _D.DT_BF16, _D.DT_INT32, _D.DT_INT16, _D.DT_INT8)  # tile API section 3.1
_ORDER = keyword("order", "integers")

# -- load ---------------------------------------------------------------------------------------------------------------------


def _check_load(call: StaticCall) -> None:
    tile = require_tile(call, 0, "dst")
    require_space(call, tile, "dst", MemorySpace.Vec, MemorySpace.Mat)
    require_core(call, tile)
    require_dtype(call, tile.dtype, "dst", TRANSFERABLE, "types of the groups b8, b16, b32, b64")
    tensor = require_tensor(call, 1, "src")
    require_dtype(call, tensor.dtype, "src", TRANSFERABLE, "types of the groups b8, b16, b32, b64")
    require_same_dtype(call, tile, tensor, ("dst", "src"))
    check_window(call, tile, tensor, 2, call.operation == "load_tile")


def _load(call: Any) -> None:
    tile, tensor, offsets = call.operands[:3]
    parts = list(places(call, tile, tensor, offsets, call.operation == "load_tile"))
    if parts:
        tile.write(gather(parts, tile.rows, tile.columns, tile.numpy_dtype))


def _load_touches(call: Any) -> Iterable[Touch]:
    tile, tensor, offsets = call.operands[:3]
    for part in places(call, tile, tensor, offsets, call.operation == "load_tile"):
        yield part.touch("R")
    yield Touch(tile, "W", 0, 0, tile.rows, tile.columns)


def _load_work(call: Any) -> Iterable[tuple[str, float]]:
    yield "COPY_IN", bytes_of(call.operands[0], call.operands[1].dtype)


def _load_row(name: str, offsets: str, summary: str, example: str) -> None:
    register(
        TileOperation(
            name,
            summary,
            (positional("dst_tile", "tile"), positional("src_tensor", "tensor"), positional(offsets, "offsets"), _ORDER),
            ("W", "-", "-"),
            PipeType.MTE2,
            _load,
            check=_check_load,
            touches=_load_touches,
            work=_load_work,
            example=example,
        )
    )


# -- store --------------------------------------------------------------------------------------------------------------------


def _check_store(call: StaticCall) -> None:
    tensor, tile = require_tensor(call, 0, "dst"), require_tile(call, 1, "src tile")
    require_space(call, tile, "src tile", MemorySpace.Vec, MemorySpace.Acc)
    require_core(call, tile)
    require_dtype(call, tensor.dtype, "dst", TRANSFERABLE, "types of the groups b8, b16, b32, b64")
    _check_phase(call)
    check_scale(call)
    if tile.space is MemorySpace.Acc:
        check_conversion(call, tile.dtype, tensor.dtype)
    else:
        require_same_dtype(call, tensor, tile, ("dst", "src tile"))
        _refuse_fixpipe(call, tile.space)
    order = call.attributes.get("order")
    if tensor.layout is TensorLayout.NZ:
        _check_nz_store(call, tensor, tile.space)
    check_window(call, tile, tensor, 2, call.operation == "store_tile")
    if order is not None and order[0] > order[1]:
        raise OrderDescends(operation=call.operation, order=list(order))
    if attribute(call, "atomic") is AtomicType.AtomicAdd and tensor.dtype not in ATOMIC_TYPES:
        possible = ", ".join(one.label for one in ATOMIC_TYPES)
        raise AtomicUnsupported(operation=call.operation, got=tensor.dtype.label, possible=possible)


def _check_phase(call: StaticCall) -> None:
    phase = call.attributes.get("phase")
    if phase is not None and not isinstance(phase, STPhase):
        raise PhaseInvalid(operation=call.operation, got=phase, expected="STPhase")


def _refuse_fixpipe(call: StaticCall, space: MemorySpace) -> None:
    """relu, scale and phase belong to the way out of an accumulator."""
    for name in ("relu_pre_mode", "scale", "phase"):
        given = call.attributes.get(name)
        if given is not None or (name == "scale" and call.attribute_types.get(name) is not None):
            raise FixpipeOnly(operation=call.operation, keyword=name, got=space.name)


def _check_nz_store(call: StaticCall, tensor: Any, space: MemorySpace) -> None:
    width = FRACTAL_COLUMN_BYTES // tensor.dtype.size
    problem = ""
    if space is not MemorySpace.Acc:
        problem = f"takes results from Acc only, but the source is in {space.name}"
    elif len(tensor.shape) != 2:
        problem = f"must have two axes, but has {len(tensor.shape)}"
    elif not all(isinstance(extent, int) for extent in tensor.shape) or tensor.shape[0] % FRACTAL_ROWS or tensor.shape[1] % width:
        problem = f"must have constant extents that fill its blocks, but is {list(tensor.shape)}"
    elif any(offset != 0 for offset in require_offsets(call, 2, "offsets", 2)):
        problem = "is written as a whole, at offsets [0, 0]"
    if problem:
        raise NzStore(operation=call.operation, problem=problem, width=width)


def _store(call: Any) -> None:
    tensor, tile, offsets = call.operands[:3]
    parts = list(places(call, tile, tensor, offsets, call.operation == "store_tile"))
    if not parts:
        return
    values = tile.read()
    if tile.type.space is MemorySpace.Acc:
        values = converted(call, values, tensor.dtype)
    add = call.attributes.get("atomic") is AtomicType.AtomicAdd
    for part in parts:
        if add:
            _add(part, values)
        else:
            scatter(part, values)


def _add(part: Place, values: np.ndarray) -> None:
    """Adds in the type of the destination."""
    with np.errstate(all="ignore"):
        held = part.tensor.read_window(part.offsets, part.axes, part.rows, part.columns)
        part.tensor.write_window(part.offsets, part.axes, held + values[part.row, part.column])


def _store_touches(call: Any) -> Iterable[Touch]:
    tensor, tile, offsets = call.operands[:3]
    yield Touch(tile, "R", 0, 0, tile.rows, tile.columns)
    yield from scale_touches(call, tile.columns)
    role = "A" if call.attributes.get("atomic") is AtomicType.AtomicAdd else "W"
    for part in places(call, tile, tensor, offsets, call.operation == "store_tile"):
        yield part.touch(role)


def _store_work(call: Any) -> Iterable[tuple[str, float]]:
    tensor, tile = call.operands[:2]
    name = "COPY_OUT" if tile.type.space is MemorySpace.Vec else "FIX_OUT"
    yield name, bytes_of(tile, tensor.dtype)


def _out_pipe(spaces: Sequence[MemorySpace | None]) -> PipeType | None:
    return {MemorySpace.Vec: PipeType.MTE3, MemorySpace.Acc: PipeType.FIX}.get(spaces[1])  # type: ignore[arg-type]


def _store_row(name: str, offsets: str, summary: str, example: str) -> TileOperation:
    return register(
        TileOperation(
            name,
            summary,
            (
                positional("dst_tensor", "tensor"),
                positional("src_tile", "tile"),
                positional(offsets, "offsets"),
                keyword("relu_pre_mode", enum=ReluPreMode),
                keyword("scale", "real scalar tile", constant=False),
                _ORDER,
                keyword("atomic", enum=AtomicType),
                keyword("phase", enum=STPhase),
            ),
            ("-", "R", "-"),
            _out_pipe,
            _store,
            check=_check_store,
            touches=_store_touches,
            work=_store_work,
            example=example,
        )
    )


_load_row("load", "offsets", "Global memory → Vec or Mat: the target's valid extent.", "pl.load(x, a, [row, 0])")
_load_row("load_tile", "tile_offsets", "``load`` with offsets that count tiles.", "pl.load_tile(x, a, [i, 0])")
STORE = _store_row("store", "offsets", "Vec or Acc → global memory: the source's valid extent.", "pl.store(out, y, [row, 0])")
_store_row("store_tile", "tile_offsets", "``store`` with offsets that count tiles.", "pl.store_tile(out, y, [i, 0])")
register_scaled(STORE, "store_fp", "pl.store_fp(out, acc, scales, [0, 0])")
register_scaled(moves.MOVE, "move_fp", "pl.move_fp(y, acc, scales)")
