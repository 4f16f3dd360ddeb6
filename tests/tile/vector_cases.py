"""Runs a vector operation on poisoned memory and proves three things beside its values: what it writes lies inside what it says it
writes, nothing else changes, and what it does not say it reads does not matter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pypto.chips import chip
from pypto.cores.enums import CoreType, MemorySpace, TensorLayout, TilePad
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.ops.tile.table import StaticCall, StaticOperand, find
from pypto.sim.memory import tile_over

POISON, OTHER_POISON = 0xFF, 0x5B
ADDRESS = 64


@dataclass
class Operand:
    """A tile to be: ``values`` are its valid region (None: poison), ``valid`` its extents (the shape of the values)."""

    shape: tuple[int, int]
    dtype: DataType
    values: np.ndarray | None = None
    valid: tuple[int, int] | None = None
    layout: TensorLayout = TensorLayout.ND
    pad: TilePad = TilePad.null
    space: MemorySpace = MemorySpace.Vec
    fixed: tuple[int, int] | None = None  # constant extents of the type

    def type(self) -> Tile:
        return Tile(self.shape, self.dtype, self.space, self.layout, pad=self.pad, valid=self.fixed)

    def view(self, poison: int, address: int = ADDRESS) -> Any:
        kind = self.type()
        rows = -(-self.shape[0] // 16) * 16  # blocks are whole
        columns = -(-self.shape[1] // 32) * 32
        memory = np.full(address + ADDRESS + rows * columns * self.dtype.size, poison, np.uint8)
        made = tile_over(memory, kind, address)
        if self.values is not None:
            made.write_block(0, 0, self.values)
            made.set_valid(*self.values.shape)
        if self.valid is not None:
            made.set_valid(*self.valid)
        return made


@dataclass
class Call:
    operation: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    core: CoreType = CoreType.VECTOR
    subblock: int = 0
    chip: Any = field(default_factory=lambda: chip("950"))


def check(name: str, operands: tuple[Any, ...], attributes: dict[str, Any], core: CoreType | None = None) -> None:
    """The row's static check; equal operands are one tile."""
    given = []
    for position, one in enumerate(operands):
        kind = one.type() if isinstance(one, Operand) else None
        address = 1000 + 32 * [id(other) for other in operands].index(id(one)) if kind else None
        given.append(None if one is None else StaticOperand(f"x{position}", kind, None if kind else one, address))
    known = {key: value for key, value in attributes.items() if not isinstance(value, Operand)}
    types = {key: value.type() for key, value in attributes.items() if isinstance(value, Operand)}
    find(name).check(StaticCall(name, tuple(given), known, types, chip("950"), core or core_of(operands)))


def core_of(operands: tuple[Any, ...]) -> CoreType:
    """The core whose memory holds the first operand."""
    return CoreType.CUBE if getattr(operands[0], "space", None) is MemorySpace.Mat else CoreType.VECTOR


def touches_of(call: Call) -> list[Any]:
    """What the row says, or by default the valid region of every tile by its role."""
    row = find(call.operation)
    if row.touches is not None:
        return list(row.touches(call))
    from pypto.ops.tile.table import Touch

    return [
        Touch(operand, role, 0, 0, operand.rows, operand.columns)
        for operand, role in zip(call.operands, row.roles, strict=False)
        if role != "-" and hasattr(operand, "read_block")
    ]


def mask(touches: list[Any], view: Any, roles: str) -> np.ndarray:
    """Which bytes of a view's memory are touched in one of ``roles``."""
    blank = view.twin(np.zeros_like(view.memory))
    ones = np.frombuffer(b"\xff" * view.numpy_dtype.itemsize, view.numpy_dtype)
    for one in touches:
        if one.target is view and one.role in roles.split() and one.rows and one.columns:
            blank.write_block(one.row, one.column, np.broadcast_to(ones, (one.rows, one.columns)))
    return blank.memory != 0


def make(operands: tuple[Any, ...], attributes: dict[str, Any], poison: int) -> tuple[list[Any], dict[str, Any]]:
    made: dict[int, Any] = {}
    for one in (*operands, *attributes.values()):
        if isinstance(one, Operand) and id(one) not in made:
            made[id(one)] = one.view(poison, ADDRESS * (1 + len(made)))
    return [made.get(id(one), one) for one in operands], {key: made.get(id(one), one) for key, one in attributes.items()}


def execute(name: str, *operands: Any, checked: bool = True, **attributes: Any) -> list[Any]:
    """Runs the row; the views, after the properties above have been asserted. The same operand given twice is one tile."""
    if checked:
        check(name, operands, attributes)
    with np.errstate(all="ignore"):
        views, keywords = make(operands, attributes, POISON)
        call = Call(name, tuple(views), keywords)
        touches = touches_of(call)
        tiles = {id(view): view for view in (*views, *keywords.values()) if hasattr(view, "read_block")}
        before = {key: view.memory.copy() for key, view in tiles.items()}
        find(name).run(call)
        for key, view in tiles.items():
            changed = view.memory != before[key]
            assert not (changed & ~mask(touches, view, "W RW")).any(), f"{name} writes more than it says"
        _again(name, operands, attributes, call, touches, before)
    return views


def _again(name: str, operands: Any, attributes: Any, call: Call, touches: list[Any], before: dict[int, np.ndarray]) -> None:
    """Other bytes wherever the operation does not read: the result stays."""
    views, keywords = make(operands, attributes, OTHER_POISON)
    pairs = [*zip(call.operands, views, strict=True), *((call.attributes[key], keywords[key]) for key in keywords)]
    pairs = [(old, new) for old, new in pairs if hasattr(old, "read_block")]
    for old, new in pairs:
        read = mask(touches, old, "R RW")
        new.memory[:] = np.where(read, before[id(old)], OTHER_POISON)
    find(name).run(Call(name, tuple(views), keywords))
    for old, new in pairs:
        written = mask(touches, old, "W RW")
        assert (old.memory[written] == new.memory[written]).all(), f"{name} reads more than it says"
