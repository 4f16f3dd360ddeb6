"""Static checks of vector operations, as rules that rows combine: ``all_of(in_ub(0, 1), typed(0, FLOATS), alike(0, 1))``.

A rule takes the call and raises a catalogue error. Operands are named by position; one that was left out, or a scalar where
one is allowed, is skipped by the rules about tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto.cores.enums import MemorySpace, TensorLayout
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.errors.tile_vectors import (
    ScalarShiftRange,
    VectorDtypesDiffer,
    VectorKeywordRange,
    VectorLayoutRefused,
    VectorLayoutsDiffer,
    VectorNotCovered,
    VectorOperandExpected,
    VectorScalarExpected,
    VectorShapeRefused,
    VectorTilesMustDiffer,
)
from pypto.ops.tile.checks import (
    argument_name,
    attribute,
    kind_of,
    operand,
    require_core,
    require_dtype,
    require_space,
    require_tile,
)
from pypto.ops.tile.table import StaticCall, StaticOperand

Rule = Callable[[StaticCall], None]
UB_OR_L1 = (MemorySpace.Vec, MemorySpace.Mat)


def all_of(*rules: Rule) -> Rule:
    """Every rule in order; the first that fails is the message."""

    def check(call: StaticCall) -> None:
        for rule in rules:
            rule(call)

    return check


def tiles_of(call: StaticCall, positions: Sequence[int]) -> list[tuple[int, Tile]]:
    """Those of ``positions`` that hold tiles."""
    return [(index, tile) for index in positions if (tile := call.tile(index)) is not None]


def in_spaces(spaces: tuple[MemorySpace, ...], *positions: int) -> Rule:
    """These operands are tiles, in one of these memories, of the core that executes the call."""

    def check(call: StaticCall) -> None:
        for index in positions:
            require_space(call, require_tile(call, index), argument_name(call, index), *spaces)
            require_core(call, require_tile(call, index))

    return check


def in_ub(*positions: int) -> Rule:
    return in_spaces((MemorySpace.Vec,), *positions)


def optional_in_ub(position: int) -> Rule:
    """The operand may be left out."""
    present = in_ub(position)
    return lambda call: None if operand(call, position) is None else present(call)


def tile_or_scalar(position: int) -> Rule:
    """A tile in UB, or a number."""
    tile = in_ub(position)

    def check(call: StaticCall) -> None:
        if call.tile(position) is not None:
            tile(call)
        elif not is_scalar(operand(call, position)):
            name = argument_name(call, position)
            raise VectorOperandExpected(operation=call.operation, argument=name, kind=kind_of(operand(call, position)))

    return check


def scalar(position: int) -> Rule:
    def check(call: StaticCall) -> None:
        if not is_scalar(given := operand(call, position)):
            raise VectorScalarExpected(operation=call.operation, argument=argument_name(call, position), kind=kind_of(given))

    return check


def is_scalar(given: Any) -> bool:
    """Whether an operand is a number, or a register that holds one (an unknown type may be)."""
    if not isinstance(given, StaticOperand):
        return False
    return given.type is None or type(given.type).__name__ == "Scalar"


def typed(position: int, dtypes: Sequence[DataType]) -> Rule:
    """The operand, if it is a tile, has one of these element types."""

    def check(call: StaticCall) -> None:
        for index, tile in tiles_of(call, [position]):
            require_dtype(call, tile.dtype, argument_name(call, index), dtypes)

    return check


def same_dtype(*positions: int) -> Rule:
    def check(call: StaticCall) -> None:
        tiles = tiles_of(call, positions)
        for index, tile in tiles[1:]:
            first, head = tiles[0]
            if tile.dtype is not head.dtype:
                raise VectorDtypesDiffer(
                    operation=call.operation,
                    first=argument_name(call, index),
                    first_dtype=tile.dtype.label,
                    second=argument_name(call, first),
                    second_dtype=head.dtype.label,
                )

    return check


def order_of(tile: Tile) -> TensorLayout | None:
    """The layout, or None for one row or one column of plain elements: ND and DN are the same bytes then."""
    plain = tile.layout in (TensorLayout.ND, TensorLayout.DN)
    return None if plain and 1 in tile.shape else tile.layout


def same_layout(*positions: int) -> Rule:
    def check(call: StaticCall) -> None:
        tiles = [(index, tile) for index, tile in tiles_of(call, positions) if order_of(tile) is not None]
        for index, tile in tiles[1:]:
            first, head = tiles[0]
            if tile.layout is not head.layout:
                raise VectorLayoutsDiffer(
                    operation=call.operation,
                    first=argument_name(call, index),
                    first_layout=tile.layout.name,
                    second=argument_name(call, first),
                    second_layout=head.layout.name,
                )

    return check


def row_major(*positions: int) -> Rule:
    def check(call: StaticCall) -> None:
        for index, tile in tiles_of(call, positions):
            if order_of(tile) not in (None, TensorLayout.ND):
                name = argument_name(call, index)
                raise VectorLayoutRefused(operation=call.operation, argument=name, got=tile.layout.name)

    return check


def covering(*positions: int, transposed: bool = False) -> Rule:
    """The first operand's extents lie inside the others', where all are constants of their types."""

    def check(call: StaticCall) -> None:
        tiles = tiles_of(call, positions)
        if not tiles or tiles[0][1].valid is None:
            return
        rows, columns = tiles[0][1].valid[::-1] if transposed else tiles[0][1].valid
        for index, tile in tiles[1:]:
            have = tile.valid or tile.shape
            if have[0] < rows or have[1] < columns:
                raise VectorNotCovered(
                    operation=call.operation,
                    argument=argument_name(call, index),
                    rows=have[0],
                    columns=have[1],
                    needed_rows=rows,
                    needed_columns=columns,
                )

    return check


def alike(*positions: int) -> Rule:
    """Same element type, same order of bytes, extents covered."""
    return all_of(same_dtype(*positions), same_layout(*positions), covering(*positions))


def distinct(first: int, second: int) -> Rule:
    """Two operands that must not be one tile (seen where both addresses are known)."""

    def check(call: StaticCall) -> None:
        one, other = operand(call, first), operand(call, second)
        if not isinstance(one, StaticOperand) or not isinstance(other, StaticOperand):
            return
        known = one.address is not None and one.address == other.address and one.type and other.type
        if known and one.type.space is other.type.space:  # type: ignore[union-attr]
            names = argument_name(call, first), argument_name(call, second)
            raise VectorTilesMustDiffer(operation=call.operation, address=one.address, first=names[0], second=names[1])

    return check


def shaped(position: int, expected: str, fits: Callable[[tuple[int, int]], bool]) -> Rule:
    """The physical shape of a tile satisfies ``fits``; ``expected`` says so in words."""

    def check(call: StaticCall) -> None:
        for index, tile in tiles_of(call, [position]):
            if not fits(tile.shape):
                name, got = argument_name(call, index), list(tile.shape)
                raise VectorShapeRefused(operation=call.operation, argument=name, got=got, expected=expected)

    return check


def keyword_in(name: str, allowed: Sequence[int], expected: str, default: Any = None) -> Rule:
    """A keyword that is a plain integer lies in ``allowed``."""

    def check(call: StaticCall) -> None:
        got = attribute(call, name, default)
        if isinstance(got, bool) or not isinstance(got, int) or got not in allowed:
            example = f"{name}={allowed[0]}"
            raise VectorKeywordRange(operation=call.operation, keyword=name, expected=expected, got=got, example=example)

    return check


def shift(position: int) -> Rule:
    """A constant shift lies in 0 … bits - 1."""

    def check(call: StaticCall) -> None:
        given, out = operand(call, position), call.tile(0)
        number = given.value if is_scalar(given) else None
        if out is not None and isinstance(number, int) and not 0 <= number < out.dtype.bits:
            name, bits = argument_name(call, position), out.dtype.bits
            raise ScalarShiftRange(operation=call.operation, argument=name, got=number, dtype=out.dtype.label, last=bits - 1)

    return check
