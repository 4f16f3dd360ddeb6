"""What rows check before anything runs, as small verbs, so that every message names operation, argument, expected and got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pypto.cores.enums import CoreType, MemorySpace
from pypto.cores.types import Group, Pointer, Scalar, Struct, Tensor, Tile
from pypto.dtypes import DataType
from pypto.errors.tiles import (
    GlobalTensorExpected,
    MemorySpaceRefused,
    OffsetsExpected,
    TileDtypeRefused,
    TileDtypesDiffer,
    TileExpected,
    WrongCore,
)
from pypto.ops.tile.table import StaticCall, StaticOperand, find

PHYSICAL = {  # tile API section 1.7
    MemorySpace.Vec: "Vec (UB)",
    MemorySpace.Mat: "Mat (L1)",
    MemorySpace.Left: "L0A (Left)",
    MemorySpace.Right: "L0B (Right)",
    MemorySpace.Acc: "L0C (Acc)",
    MemorySpace.Bias: "Bias",
    MemorySpace.Scaling: "MemorySpace.Scaling",
    MemorySpace.ScaleLeft: "ScaleLeft",
    MemorySpace.ScaleRight: "ScaleRight",
    MemorySpace.DDR: "DDR (global)",
}

# Types that global memory and L1 or UB exchange (tile API section 1.5).
TRANSFERABLE = frozenset(
    dtype
    for dtype in DataType
    if dtype not in (DataType.DT_BOOL, DataType.DT_INT4, DataType.DT_HF4, DataType.DT_BOTTOM, DataType.DT_DOUBLE, DataType.DT_FP8)
)
STORAGE_ONLY = frozenset(  # no scalars of these (tile API section 1.5)
    dtype for dtype in DataType if dtype.name.startswith(("DT_FP8", "DT_FP4", "DT_HF", "DT_INT4", "DT_BOTTOM"))
)

_KINDS: dict[type, str] = {
    Tile: "a Tile",
    Group: "a tile group",
    Tensor: "a Tensor",
    Pointer: "a pointer",
    Scalar: "a scalar",
    Struct: "a struct",
}


def kind_of(operand: Any) -> str:
    """An operand in words, for messages: ``a Tensor``, ``3``, ``a list``, ``nothing``."""
    if operand is None:
        return "nothing"
    if isinstance(operand, tuple):
        return f"a list of {len(operand)}"
    if operand.type is not None:
        return _KINDS[type(operand.type)]
    return repr(operand.value)


def argument_name(call: StaticCall, index: int) -> str:
    """Name of a positional parameter of the called row."""
    row = find(call.operation)
    names = [parameter.name for parameter in row.positional] if row else []
    return names[min(index, len(names) - 1)] if names else f"argument {index + 1}"


def operand(call: StaticCall, index: int) -> Any:
    """An operand, None where it was left out."""
    return call.operands[index] if index < len(call.operands) else None


def require_tile(call: StaticCall, index: int, name: str = "") -> Tile:
    """The tile type of an operand."""
    found = call.tile(index)
    if found is None:
        argument = name or argument_name(call, index)
        raise TileExpected(operation=call.operation, argument=argument, kind=kind_of(operand(call, index)))
    return found


def require_tensor(call: StaticCall, index: int, name: str = "") -> Tensor:
    """The tensor type of an operand."""
    given = operand(call, index)
    if isinstance(given, StaticOperand) and isinstance(given.type, Tensor):
        return given.type
    argument = name or argument_name(call, index)
    raise GlobalTensorExpected(operation=call.operation, argument=argument, kind=kind_of(given))


def require_space(call: StaticCall, tile: Tile, name: str, *spaces: MemorySpace) -> None:
    if tile.space in spaces:
        return
    expected = " or ".join(PHYSICAL[space] for space in spaces)
    if spaces == (MemorySpace.Vec, MemorySpace.Acc):
        expected = "Vec (UB) or Acc (L0C)"  # the one list that is spelt this way round (tile API section 3.1)
    raise MemorySpaceRefused(
        operation=call.operation, argument=name, expected=expected, got=PHYSICAL[tile.space], example=spaces[0].name
    )


def require_core(call: StaticCall, tile: Tile) -> None:
    """The core that reaches ``tile``: vector cores their UB, the cube core all else."""
    core = CoreType.VECTOR if tile.space is MemorySpace.Vec else CoreType.CUBE
    if call.core is not core:
        what = f"{call.operation} on a tile in {PHYSICAL[tile.space]}"
        raise WrongCore(operation=what, expected=core.name.lower(), got=call.core.name.lower())


def require_dtype(call: StaticCall, dtype: DataType, name: str, allowed: Iterable[DataType], expected: str = "") -> None:
    allowed = tuple(allowed)
    if dtype not in allowed:
        listed = expected or ", ".join(one.label for one in allowed)
        raise TileDtypeRefused(operation=call.operation, argument=name, got=dtype.label, expected=listed)


def require_same_dtype(call: StaticCall, first: Tile | Tensor, second: Tile | Tensor, names: tuple[str, str]) -> None:
    if first.dtype is not second.dtype:
        raise TileDtypesDiffer(
            operation=call.operation,
            first=names[0],
            first_dtype=first.dtype.label,
            second=names[1],
            second_dtype=second.dtype.label,
        )


def require_offsets(call: StaticCall, index: int, name: str, count: int) -> tuple[int | None, ...]:
    """The constants in a list of ``count`` offsets, None where they are known at run time only."""
    given = operand(call, index)
    values = offset_values(given)
    if values is None or len(values) != count or any(isinstance(value, float) for value in values):
        example = f"[{', '.join(['0'] * count)}]"
        kind = kind_of(given) if values is None or len(values) == count else f"{len(values)} of them"
        raise OffsetsExpected(operation=call.operation, argument=name, count=count, kind=kind, example=example)
    return tuple(values)


def offset_values(given: Any) -> Sequence[Any] | None:
    """The numbers of a list operand, None for those that are not known yet; None where it is no list."""
    if isinstance(given, tuple):
        return [one.value for one in given]
    if isinstance(given, StaticOperand) and isinstance(given.value, (list, tuple)):
        return list(given.value)
    return None


def attribute(call: StaticCall, name: str, default: Any = None) -> Any:
    """A keyword's value, or its default where it was left out."""
    found = call.attributes.get(name)
    return default if found is None else found
