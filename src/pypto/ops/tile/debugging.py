"""Scalars of tiles and tensors, descriptors, and output for people (tile API sections 3.8, 3.14).

Everything here sits on the scalar pipe. What the front end adds to a call: ``location`` (``file.py:12``) where ``loc=True``, and
``condition`` (source text of an assertion's condition).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pypto.cores.enums import MemorySpace, PipeType
from pypto.cores.types import Group, Scalar, Tensor, Tile
from pypto.dtypes import DataType
from pypto.errors.tiles import (
    AssertionCondition,
    AssertionFailed,
    ElementContainer,
    ElementIndexKind,
    ElementOutOfBounds,
    ElementRank,
    ElementStorageOnly,
    StridesMismatch,
    TileExpected,
    ValidExtentConstant,
    ValidExtentExceeds,
    ValidExtentNotPositive,
)
from pypto.ops.tile import dumping  # noqa: F401  (the row dump_data)
from pypto.ops.tile.checks import STORAGE_ONLY, kind_of, offset_values, operand, require_core, require_tensor
from pypto.ops.tile.formats import check_format, formatted
from pypto.ops.tile.table import StaticCall, StaticOperand, TileOperation, Touch, keyword, positional, register

# -- elements -----------------------------------------------------------------------------------------------------------------


def _check_element(call: StaticCall) -> None:
    given = operand(call, 0)
    kind = given.type if isinstance(given, StaticOperand) else None
    if not isinstance(kind, (Tile, Tensor)) or (isinstance(kind, Tile) and kind.space is not MemorySpace.Vec):
        raise ElementContainer(operation=call.operation, kind=_container(given))
    if isinstance(kind, Tile):
        require_core(call, kind)
    if kind.dtype in STORAGE_ONLY:
        raise ElementStorageOnly(operation=call.operation, got=kind.dtype.label)
    _check_index(call, kind)


def _container(given: Any) -> str:
    if isinstance(given, StaticOperand) and isinstance(given.type, Tile):
        return f"a Tile in {given.type.space.name}"
    return kind_of(given)


def _check_index(call: StaticCall, kind: Tile | Tensor) -> None:
    given = operand(call, 1)
    values = offset_values(given)
    if values is not None and len(values) != len(kind.shape):
        needs = "one index requires 1D container: " if len(values) == 1 else ""
        raise ElementRank(operation=call.operation, needs=needs, got=len(values), rank=len(kind.shape))
    parts = given if isinstance(given, tuple) else (given,)
    for one in parts:
        _check_integer(call, one)
    if values is None and isinstance(given, StaticOperand) and given.value is not None:
        if all(isinstance(extent, int) for extent in kind.shape) and not 0 <= given.value < int(np.prod(kind.shape)):  # type: ignore[arg-type]
            raise ElementOutOfBounds(operation=call.operation, offset=given.value, size=int(np.prod(kind.shape)))  # type: ignore[arg-type]
    for axis, value in enumerate(values or ()):
        size = kind.shape[axis]
        if isinstance(value, int) and isinstance(size, int) and not 0 <= value < size:
            raise ElementOutOfBounds(operation=f"{call.operation}, axis {axis}", offset=value, size=size)


def _check_integer(call: StaticCall, one: Any) -> None:
    if not isinstance(one, StaticOperand):
        return
    real = isinstance(one.value, float) or (isinstance(one.type, Scalar) and one.type.dtype.is_float)
    if real:
        raise ElementIndexKind(operation=call.operation, got=kind_of(one) if one.value is None else one.value)


def _position(call: Any) -> tuple[Sequence[int], tuple[int, int]]:
    """Index per axis of the element, and the two axes of its window. A linear offset counts over the declared shape."""
    container, index = call.operands[:2]
    shape = container.type.shape if hasattr(container, "type") else container.shape
    if isinstance(index, (list, tuple)):
        where = tuple(int(one) for one in index)
        inside = all(0 <= one < extent for one, extent in zip(where, shape, strict=True))
    else:
        inside = 0 <= index < int(np.prod(shape))
        where = tuple(int(one) for one in np.unravel_index(index, shape)) if inside else ()
    if not inside:
        raise ElementOutOfBounds(operation=call.operation, offset=index, size=int(np.prod(shape)))
    return where, (max(len(shape) - 2, 0), len(shape) - 1)


def _is_tile(container: Any) -> bool:
    return hasattr(container, "read_block")


def _getval(call: Any) -> Any:
    container = call.operands[0]
    where, axes = _position(call)
    if _is_tile(container):
        value = container.read_block(*where, 1, 1)
    else:
        value = container.read_window(where, axes, 1, 1)
    return value[0, 0].item()


def _setval(call: Any) -> None:
    container, value = call.operands[0], call.operands[2]
    where, axes = _position(call)
    with np.errstate(all="ignore"):
        block = np.asarray(value).astype(container.numpy_dtype).reshape(1, 1)
    if _is_tile(container):
        container.write_block(*where, block)
    else:
        container.write_window(where, axes, block)


def _element_touch(role: str) -> Any:
    def touches(call: Any) -> Iterable[Touch]:
        container = call.operands[0]
        where, axes = _position(call)
        if _is_tile(container):
            return [Touch(container, role, where[0], where[1], 1, 1)]
        return [Touch(container, role, 0, 0, 1, 1, tuple(where), axes)]

    return touches


register(
    TileOperation(
        "getval",
        "One element of a Vec tile or of a tensor, as a scalar.",
        (positional("container", "tile tensor"), positional("offset", "scalar offsets")),
        ("R", "-"),
        PipeType.S,
        _getval,
        check=_check_element,
        touches=_element_touch("R"),
        result=True,
        example="value = pl.getval(x, 3)",
    )
)
register(
    TileOperation(
        "setval",
        "Writes one element of a Vec tile or of a tensor.",
        (positional("container", "tile tensor"), positional("offset", "scalar offsets"), positional("value", "scalar")),
        ("RW", "-", "-"),
        PipeType.S,
        _setval,
        check=_check_element,
        touches=_element_touch("W"),
        example="pl.setval(x, 3, 1.5)",
    )
)

# -- descriptors --------------------------------------------------------------------------------------------------------------


def _check_validshape(call: StaticCall) -> None:
    given = operand(call, 0)
    kind = given.type if isinstance(given, StaticOperand) else None
    tile = kind.tile if isinstance(kind, Group) else kind
    if not isinstance(tile, Tile):
        raise TileExpected(operation=call.operation, argument="the first argument", kind=kind_of(given))
    if tile.valid is not None:
        raise ValidExtentConstant(declared=list(tile.valid))
    values = offset_values(operand(call, 1)) or ()
    for axis, extent, size in zip(("row", "column"), values, tile.shape):  # noqa: B905  (a wrong count is the binder's to say)
        _check_extent(axis, extent, size, lowest=1)


def _check_extent(axis: str, extent: Any, size: int, lowest: int) -> None:
    if extent is None:
        return
    if extent < lowest:
        raise ValidExtentNotPositive(axis=axis, extent=extent)
    if extent > size:
        raise ValidExtentExceeds(extent=extent, axis=axis, size=size)


def _set_validshape(call: Any) -> None:
    """On a tile, or on every tile of a group. Run-time extents may be 0: the second half of a split may be empty."""
    target, (rows, columns) = call.operands[:2]
    for tile in getattr(target, "tiles", None) or [target]:
        shape = tile.type.shape
        _check_extent("row", rows, shape[0], lowest=0)
        _check_extent("column", columns, shape[1], lowest=0)
        tile.set_valid(int(rows), int(columns))


def _check_stride(call: StaticCall) -> None:
    tensor = require_tensor(call, 0)
    values = offset_values(operand(call, 1))
    if values is None or len(values) != 2 or len(tensor.shape) < 2:
        raise StridesMismatch(problem="needs a tensor of at least two axes and a list of two strides")
    if any(value is not None and value < 0 for value in values):
        raise StridesMismatch(problem=f"strides must not be negative, but are {list(values)}")


def _set_stride(call: Any) -> None:
    tensor, (row, column) = call.operands[:2]
    if row < 0 or column < 0:
        raise StridesMismatch(problem=f"strides must not be negative, but are {[row, column]}")
    tensor.strides = (*tensor.strides[:-2], int(row), int(column))


def _descriptor(name: str, summary: str, target: str, argument: str, run: Any, check: Any, example: str) -> None:
    register(
        TileOperation(
            name,
            summary,
            (positional(target.split()[0], target), positional(argument, "offsets")),
            ("-", "-"),
            PipeType.S,
            run,
            check=check,
            touches=lambda call: (),
            locks=False,
            example=example,
        )
    )


_descriptor(
    "set_validshape",
    "Sets the valid extents of a tile, or of every tile of a group, until they are set again.",
    "tile group",
    "valid_shape",
    _set_validshape,
    _check_validshape,
    "pl.set_validshape(x, [rows, columns])",
)
_descriptor(
    "set_stride",
    "Sets the strides (elements) of the last two axes of a tensor for later transfers.",
    "tensor",
    "stride",
    _set_stride,
    _check_stride,
    "pl.set_stride(a, [128, 1])",
)

# -- output -------------------------------------------------------------------------------------------------------------------


def _check_printf(call: StaticCall) -> None:
    check_format(call, 0)


def prefix(call: Any, name: str) -> str:
    """``[file.py:12] debug.printf`` and a line break, where the call asked for its place."""
    where = call.attributes.get("location")
    return f"[{where}] {name}\n" if where else ""


def _printf(call: Any) -> None:
    call.print(prefix(call, "debug.printf") + formatted(call.operands[0], call.operands[1:]))


def _check_assert(call: StaticCall) -> None:
    condition = operand(call, 0)
    if isinstance(condition, StaticOperand) and isinstance(condition.value, bool):
        pass
    elif not (isinstance(condition, StaticOperand) and condition.type == Scalar(DataType.DT_BOOL)):
        raise AssertionCondition(got=kind_of(condition))
    if operand(call, 1) is not None:
        check_format(call, 1)


def _pto_assert(call: Any) -> None:
    """Stops where the condition is false; the machine itself would print and go on."""
    if call.operands[0]:
        return
    text = formatted(call.operands[1], call.operands[2:]) if len(call.operands) > 1 and call.operands[1] is not None else ""
    condition, where = call.attributes.get("condition") or "false", call.attributes.get("location")
    call.print((f"[{where}] " if where else "") + f"Assertion failed: {condition}\n" + text)
    raise AssertionFailed(condition=condition, text=f"\n{text}" if text else "")


def _output(name: str, summary: str, parameters: tuple[Any, ...], run: Any, check: Any, example: str) -> None:
    register(
        TileOperation(
            name,
            summary,
            parameters,
            tuple("-" for parameter in parameters if not parameter.keyword),
            PipeType.S,
            run,
            check=check,
            touches=lambda call: (),
            locks=False,
            example=example,
        )
    )


_output(
    "printf",
    "Prints scalars at this point of the kernel.",
    (
        positional("format_str", "text"),
        positional("args", "scalar pointer", optional=True, variadic=True),
        keyword("loc", "flag", default=False),
    ),
    _printf,
    _check_printf,
    'pl.printf("row %d: %f\\n", row, value)',
)
_output(
    "pto_assert",
    "Stops the kernel with a message where the condition is false.",
    (
        positional("condition", "scalar"),
        positional("format_str", "text", optional=True),
        positional("args", "scalar pointer", optional=True, variadic=True),
        keyword("loc", "flag", default=False),
    ),
    _pto_assert,
    _check_assert,
    'pl.pto_assert(n > 0, "n is %d", n)',
)
_output("trap", "Ends the program of this core here.", (), lambda call: None, None, "pl.trap()")
