"""Calls of tile operations without a machine: memories as bytes, poisoned, and the two faces of a call, static and running."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pypto.chips import chip
from pypto.cores.enums import CoreType, MemorySpace, TensorLayout
from pypto.cores.types import Tensor, Tile
from pypto.dtypes import DataType
from pypto.ops.tile.table import StaticCall, StaticOperand, find
from pypto.sim.memory import TensorMemory, tile_over

POISON = 0xFF  # a NaN in every float type that has one
SLACK = 4096


def tile(shape, dtype, space=MemorySpace.Vec, layout=None, fractal=0, valid=None, values=None):
    """A poisoned tile; ``values`` fill its upper left corner, ``valid`` are its valid extents."""
    if layout is None:
        layout = {MemorySpace.Mat: TensorLayout.NZ, MemorySpace.Left: TensorLayout.NZ, MemorySpace.Acc: TensorLayout.NZ}.get(
            space, TensorLayout.ZN if space is MemorySpace.Right else TensorLayout.ND
        )
    if space is MemorySpace.Acc and not fractal:
        fractal = 1024
    kind = Tile(tuple(shape), dtype, space, layout, fractal)
    memory = np.full(kind.bytes * 2 + SLACK, POISON, np.uint8)
    made = tile_over(memory, kind, 512)
    if values is not None:
        made.write_block(0, 0, np.asarray(values).astype(made.numpy_dtype))
    if valid is not None:
        made.set_valid(*valid)
    return made


def tensor(values, dtype=None, layout=TensorLayout.ND):
    """A tensor that holds ``values``."""
    values = np.asarray(values)
    dtype = dtype or next(one for one in DataType if one.facts.numpy == values.dtype)
    made = TensorMemory(np.ascontiguousarray(values).reshape(-1).copy(), values.shape, dtype)
    made.layout = layout
    return made


def poisoned(shape, dtype, layout=TensorLayout.ND):
    flat = np.full(int(np.prod(shape)) * dtype.size, POISON, np.uint8).view(dtype.numpy)
    made = TensorMemory(flat, shape, dtype)
    made.layout = layout
    return made


@dataclass
class Call:
    """A call at run time. ``vectors`` are the bytes of the two vector cores."""

    operation: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    core: CoreType = CoreType.CUBE
    subblock: int = 0
    chip: Any = field(default_factory=lambda: chip("950"))
    printed: list[str] = field(default_factory=list)
    others: dict[tuple[int, int], Any] = field(default_factory=dict)

    def on_vector_core(self, tile, subblock):
        key = (id(tile), subblock)
        if key not in self.others:
            self.others[key] = tile_over(tile.memory.copy(), tile.type, tile.address)
        return self.others[key]

    def print(self, text):
        self.printed.append(text)


def run(operation, *operands, **attributes) -> Call:
    """Runs a row on views; checks first that what it touches covers what it may move."""
    call = Call(operation, operands, {name: value for name, value in attributes.items() if value is not None})
    row = find(operation)
    call.touched = list(row.touches(call)) if row.touches else []
    call.result = row.run(call)
    return call


def static(kind, value=None, address=None, text="x"):
    """An operand before anything runs."""
    return StaticOperand(text, kind, value, address)


def offsets(*values):
    return tuple(static(None, value) for value in values)


def check(operation, *operands, core=None, target="950", types=None, **attributes):
    """Checks a static call. Tile and tensor types stand for operands of theirs; lists for offsets; other values for constants."""
    given = tuple(None if one is None else _operand(one) for one in operands)
    core = core or _core_of(given)
    call = StaticCall(operation, given, attributes, types or {}, chip(target), core)
    row = find(operation)
    if row.check is not None:
        row.check(call)
    return call


def _operand(one):
    if isinstance(one, StaticOperand):
        return one
    if isinstance(one, (Tile, Tensor)):
        return static(one)
    if isinstance(one, (list, tuple)):
        return tuple(_operand(item) for item in one)
    return static(None, one)


def _core_of(given):
    spaces = [one.type.space for one in given if isinstance(one, StaticOperand) and isinstance(one.type, Tile)]
    source = spaces[1] if len(spaces) > 1 else spaces[0] if spaces else MemorySpace.Mat
    return CoreType.VECTOR if source is MemorySpace.Vec else CoreType.CUBE


def values_of(shape, dtype, seed=0):
    """Random values that every type of that kind can hold exactly enough to compare bits."""
    generator = np.random.default_rng(seed)
    if dtype.is_integer or dtype is DataType.DT_HF8:
        numbers = generator.integers(0, 100, shape)
    else:
        numbers = generator.standard_normal(shape).astype(np.float32)
    return numbers.astype(dtype.numpy)


def same(first, second):
    """Equal to the last bit, NaN included."""
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def with_type(view, **changes):
    """The type of a view with some fields changed."""
    return replace(view.type, **changes)


def outside(view, row, column, rows, columns):
    """Bytes of a tile's memory that lie outside a rectangle of it, to compare before and after."""
    size = view.type.dtype.facts.bits
    inside = view.placement.element(np.arange(row, row + rows)[:, None], np.arange(column, column + columns)[None, :])
    mask = np.ones(len(view.memory) * 8, bool)
    for bit in range(size):
        mask[(view.address * 8 + np.asarray(inside).reshape(-1) * size + bit)] = False
    return np.unpackbits(view.memory, bitorder="little")[mask]


VALID = {  # valid extents of a tile of [rows, columns]: full, short in rows, short in columns, one element, none
    "full": lambda rows, columns: (rows, columns),
    "short rows": lambda rows, columns: (rows - 5, columns),
    "short columns": lambda rows, columns: (rows, columns - 3),
    "short both": lambda rows, columns: (rows - 9, columns - 7),
    "one": lambda rows, columns: (1, 1),
    "zero": lambda rows, columns: (0, 0),
}
