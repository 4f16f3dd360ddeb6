"""``dump_data``: the numbers of a tensor, a Vec tile or an accumulator as text (tile API section 3.14.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from pypto.cores.enums import CoreType, MemorySpace, PipeType, TensorLayout
from pypto.cores.types import Tensor, Tile
from pypto.errors.tiles import DumpRefused
from pypto.ops.tile.checks import kind_of, offset_values, operand
from pypto.ops.tile.table import StaticCall, StaticOperand, TileOperation, Touch, keyword, positional, register

MOST_AXES = 5
HEAD_AXES = 4  # the shape line of a tensor shows this many

# -- before anything runs -----------------------------------------------------------------------------------------------------


def _check(call: StaticCall) -> None:
    given = operand(call, 0)
    kind = given.type if isinstance(given, StaticOperand) else None
    if not isinstance(kind, (Tensor, Tile)):
        raise DumpRefused(problem=f"takes a Tensor or a Tile, but got {kind_of(given)}")
    _check_window(call, len(kind.shape))
    workspace = call.attribute_types.get("workspace")
    if isinstance(kind, Tensor):
        if workspace is not None or call.attributes.get("workspace") is not None:
            raise DumpRefused(problem="a Tensor takes no workspace")
        if not 1 <= len(kind.shape) <= MOST_AXES:
            raise DumpRefused(problem=f"takes tensors of 1 to {MOST_AXES} axes, but got {len(kind.shape)}")
        return
    _check_tile(call, kind, workspace)


def _check_tile(call: StaticCall, tile: Tile, workspace: Any) -> None:
    core = {MemorySpace.Vec: CoreType.VECTOR, MemorySpace.Acc: CoreType.CUBE}.get(tile.space)
    if core is None:
        raise DumpRefused(problem=f"tiles in {tile.space.name} cannot be dumped")
    if core is not call.core:
        raise DumpRefused(problem=f"{tile.space.name} tiles are dumped in {core.name.lower()} sections only")
    if tile.space is not MemorySpace.Acc:
        return
    if not isinstance(workspace, Tensor) or workspace.dtype is not tile.dtype:
        raise DumpRefused(problem=f"an Acc tile needs workspace=, a tensor of {tile.dtype.label}")
    if all(isinstance(extent, int) for extent in workspace.shape):
        if int(np.prod(workspace.shape)) < int(np.prod(tile.shape)):  # type: ignore[arg-type]
            raise DumpRefused(problem=f"the workspace is smaller than the tile: {list(workspace.shape)} and {list(tile.shape)}")


def _check_window(call: StaticCall, rank: int) -> None:
    offsets, shapes = operand(call, 1), operand(call, 2)
    if (offsets is None) != (shapes is None):
        raise DumpRefused(problem="offsets and shapes are given both or not at all")
    for name, given in (("offsets", offsets), ("shapes", shapes)):
        values = offset_values(given) if given is not None else None
        if given is not None and (values is None or len(values) != rank):
            raise DumpRefused(problem=f"{name} must be a list of {rank}")
        if name == "shapes" and any(value is not None and value <= 0 for value in values or ()):
            raise DumpRefused(problem=f"shapes must be positive, but are {list(values or ())}")


# -- at run time --------------------------------------------------------------------------------------------------------------


def _window(call: Any, shape: Sequence[int], valid: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Offsets, the requested extents, and what of them is valid."""
    given = [one for one in call.operands[1:3] if one is not None]
    offsets, wanted = (list(map(int, given[0])), list(map(int, given[1]))) if given else ([0] * len(shape), list(shape))
    inside = [
        max(0, min(want, limit - offset, extent - offset))
        for want, limit, offset, extent in zip(wanted, valid, offsets, shape, strict=True)
    ]
    return offsets, wanted, inside


def _dump(call: Any) -> None:
    where, flag = call.attributes.get("location"), call.attributes.get("flag")
    data = call.operands[0]
    is_tile = hasattr(data, "read_block")
    lines = [f"[{where}] debug.dump_{'tile' if is_tile else 'tensor'}"] if where else []
    if flag is not None:
        lines.append(f"=== [flag] {flag} ===")
    lines += _tile_lines(call, data) if is_tile else _tensor_lines(call, data)
    call.print("\n".join(lines) + "\n")


def _tile_lines(call: Any, tile: Any) -> list[str]:
    kind = tile.type
    offsets, wanted, inside = _window(call, kind.shape, (tile.rows, tile.columns))
    accumulator = kind.space is MemorySpace.Acc
    title = "TPRINT Acc Tile Window" if accumulator else "TPRINT Tile Window"
    space = "Acc" if accumulator else "Vec"
    return [
        f"=== [{title}] Data Type: {name_of(kind.dtype)}, Layout: {kind.layout.name}, TileType: {space} ===",
        f"  Source Shape: {list(kind.shape)}, Window Offsets: {offsets}, Requested Shape: {wanted}, Valid Shape: {inside}",
        *rows_of(tile.read_block(*offsets, *inside)),
    ]


def _tensor_lines(call: Any, tensor: Any) -> list[str]:
    offsets, _, inside = _window(call, tensor.shape, tensor.shape)
    if tensor.strides[-1] != 1:
        raise DumpRefused(problem=f"the innermost stride of the tensor must be 1, but is {tensor.strides[-1]}")
    layout = getattr(tensor, "layout", TensorLayout.ND)
    head = [1] * (HEAD_AXES - len(inside)) + inside
    lines = [
        f"=== [TPRINT GlobalTensor] Data Type: {name_of(tensor.dtype)}, Layout: {layout.name} ===",
        f"  Shape: {head}",
    ]
    batches = inside[:-2]
    for batch in product(*map(range, batches)):
        shown = [0] * (HEAD_AXES - 1 - len(batch) - 1) + list(batch)
        lines.append(f"  Batch {[*shown, 0][: max(HEAD_AXES - 1, len(batch))]}:")
        lines += rows_of(_batch(tensor, offsets, inside, batch))
    return lines


def _batch(tensor: Any, offsets: Sequence[int], inside: Sequence[int], batch: Sequence[int]) -> np.ndarray:
    rank = len(inside)
    rows, columns = (inside[-2], inside[-1]) if rank > 1 else (1, inside[-1])
    where = [offset + index for offset, index in zip(offsets, batch, strict=False)] + list(offsets[len(batch) :])
    return tensor.read_window(where, (max(rank - 2, 0), rank - 1), rows, columns)


def name_of(dtype: Any) -> str:
    """The spelling of dumps: ``int32``, ``float32``, ``bfloat16``."""
    return np.dtype(dtype.facts.numpy).name


def rows_of(values: np.ndarray) -> list[str]:
    """One line per row, numbers right-aligned in columns of one width."""
    kind = values.dtype
    integers = np.issubdtype(kind, np.integer) or kind == np.bool_
    texts = [[str(int(one)) if integers else f"{float(one):.6f}" for one in row] for row in values]
    width = max((len(text) for row in texts for text in row), default=1)
    return ["  " + " ".join(text.rjust(width) for text in row) for row in texts]


def _touches(call: Any) -> Iterable[Touch]:
    """A dump waits for every pipe of its core and reads what it shows."""
    data = call.operands[0]
    if not hasattr(data, "read_block"):
        return []
    offsets, _, inside = _window(call, data.type.shape, (data.rows, data.columns))
    return [Touch(data, "R", offsets[0], offsets[1], inside[0], inside[1])]


register(
    TileOperation(
        "dump_data",
        "Prints a window of a tensor, a Vec tile or an accumulator; waits for every pipe of the core first.",
        (
            positional("data", "tensor tile"),
            positional("offsets", "offsets", optional=True),
            positional("shapes", "offsets", optional=True),
            keyword("workspace", "tensor", constant=False),
            keyword("loc", "flag", default=False),
            keyword("flag", "scalar text"),
        ),
        ("-", "-", "-"),
        PipeType.S,
        _dump,
        check=_check,
        touches=_touches,
        locks=False,
        example="pl.dump_data(x, [0, 0], [4, 16])",
    )
)
