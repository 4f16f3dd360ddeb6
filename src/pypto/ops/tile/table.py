"""The table of tile operations: one row is all that the house knows about one.

The front end binds a call with ``parameters``, checks it with ``check`` and finds its pipe; automatic locking and the pipeline
transform read ``roles``; the simulator asks ``touches`` which bytes are read and written, calls ``run`` to move the data, and
prices the work with ``cost``. Adding an operation is adding a row.

>>> from pypto.ops.tile.table import find
>>> find("add").roles
('W', 'R', 'R')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, Union

import numpy as np

from pypto.cores.enums import CoreType, MemorySpace, PipeType
from pypto.cores.types import Tile as TileType
from pypto.cores.types import Type
from pypto.dtypes import DataType

# ---------------------------------------------------------------------------------------------- what a call looks like


@dataclass(frozen=True)
class Parameter:
    """One parameter. ``kinds``: any of ``tile group tensor pointer scalar real struct offsets integers flag text enum type``.

    ``real``: integers of the source text arrive as floats (run-time ones as they are). ``group`` is a whole tile group.
    ``offsets`` is a list of integer scalars (run-time allowed), ``integers`` a list known before anything runs. ``enum`` is the class of an
    enumeration; ``constant``: the value must be known before anything runs. Without ``default`` the parameter is mandatory.
    """

    name: str
    kinds: frozenset[str]
    keyword: bool = False
    optional: bool = False
    default: Any = None
    enum: type | None = None
    constant: bool = False
    variadic: bool = False


def positional(name: str, kinds: str, *, optional: bool = False, variadic: bool = False) -> Parameter:
    return Parameter(name, frozenset(kinds.split()), optional=optional, variadic=variadic)


def keyword(
    name: str,
    kinds: str = "enum",
    *,
    default: Any = None,
    enum: type | None = None,
    required: bool = False,
    constant: bool = True,
) -> Parameter:
    return Parameter(
        name, frozenset(kinds.split()), keyword=True, optional=not required, default=default, enum=enum, constant=constant
    )


@dataclass(frozen=True)
class StaticOperand:
    """What is known of an operand before anything runs. ``value`` where it is a constant (lists hold numbers or None)."""

    text: str
    type: Type | None
    value: Any = None
    address: int | None = None  # of a tile declared at a known place


@dataclass(frozen=True)
class StaticCall:
    """A call as the front end sees it: operands by position (None where left out), keywords that are known, the chip and the core."""

    operation: str
    operands: tuple[StaticOperand | None | tuple[StaticOperand, ...], ...]
    attributes: Mapping[str, Any]
    attribute_types: Mapping[str, Type | None]
    chip: Any
    core: CoreType

    def tile(self, index: int) -> TileType | None:
        operand = self.operands[index] if index < len(self.operands) else None
        found = operand.type if isinstance(operand, StaticOperand) else None
        return found if isinstance(found, TileType) else None


class TileView(Protocol):
    """A tile at run time: a piece of one memory of one core. Rows and columns are logical, whatever the layout."""

    type: TileType
    rows: int  # valid extents at this moment; assignable through ``set_valid``
    columns: int
    address: int

    @property
    def numpy_dtype(self) -> np.dtype: ...
    def read(self) -> np.ndarray:
        """The valid region, ``[rows, columns]``; may share memory: never write into it."""

    def write(self, values: Any) -> None:
        """Writes the valid region; ``values`` broadcast to ``[rows, columns]`` and are of the element type already."""

    def target(self) -> np.ndarray | None:
        """The valid region as an array to write into, or None where the layout has none: then use ``write``."""

    def read_block(self, row: int, column: int, rows: int, columns: int) -> np.ndarray:
        """Any rectangle of the physical shape."""

    def write_block(self, row: int, column: int, values: np.ndarray) -> None: ...
    def set_valid(self, rows: int, columns: int) -> None: ...


class TensorView(Protocol):
    """A tensor in global memory at run time, with strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DataType

    @property
    def numpy_dtype(self) -> np.dtype: ...
    def read_window(self, offsets: Sequence[int], axes: tuple[int, int], rows: int, columns: int) -> np.ndarray:
        """``[rows, columns]`` elements from ``offsets`` on, along two axes; the other axes stay at their offset."""

    def write_window(self, offsets: Sequence[int], axes: tuple[int, int], values: np.ndarray) -> None: ...


@dataclass(frozen=True)
class Touch:
    """Bytes that a call reads (``R``), writes (``W``), updates (``RW``), adds to atomically (``A``) or uses as scratch (``T``: they are
    written as far as others are concerned, and undefined afterwards).

    ``target`` is a tile view (rectangle ``row, column, rows, columns`` of its physical shape) or a tensor view (then ``offsets``
    and ``axes`` say where the rectangle lies).
    """

    target: Any
    role: str
    row: int
    column: int
    rows: int
    columns: int
    offsets: tuple[int, ...] = ()
    axes: tuple[int, int] = (0, 1)


class Running(Protocol):
    """A call at run time. ``operands``: tile views, tensor views, numbers, lists of numbers, None. ``attributes``: plain values."""

    operation: str
    operands: Sequence[Any]
    attributes: Mapping[str, Any]
    chip: Any

    @property
    def core(self) -> CoreType: ...
    @property
    def subblock(self) -> int: ...
    def on_vector_core(self, tile: TileView, subblock: int) -> TileView:
        """The same tile in the UB of vector core 0 or 1 of this group, with the valid extents it has there."""

    def print(self, text: str) -> None:
        """Adds to what the kernel prints, at this point of simulated time."""


Pipe = Union[PipeType, Callable[[Sequence[MemorySpace | None]], "PipeType | None"]]

# ----------------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class TileOperation:
    """One row. ``roles`` follow the positional parameters: W written, R read, RW updated, T scratch, - not a tile (a trailing ``*`` repeats
    the last).

    ``cost`` names rates of the chip file, each charged once on the bytes of the largest tile of the call; ``work(call)`` replaces it where
    the price does not follow bytes (matrix products): it yields pairs of rate name and amount.
    ``run`` returns a number where the operation has a result. ``locks`` says whether automatic locking covers it.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    roles: tuple[str, ...]
    pipe: Pipe
    run: Callable[[Running], Any]
    check: Callable[[StaticCall], None] | None = None
    touches: Callable[[Running], Iterable[Touch]] | None = None
    cost: tuple[str, ...] = ()
    work: Callable[[Running], Iterable[tuple[str, float]]] | None = None
    dependent: bool = False  # ``touches`` depends on the values in tiles: asked for every call
    locks: bool = True
    hidden: bool = False  # usable in kernels, but not an attribute of ``pl``
    result: bool = False
    example: str = ""

    @property
    def positional(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if not parameter.keyword)

    @property
    def keywords(self) -> dict[str, Parameter]:
        return {parameter.name: parameter for parameter in self.parameters if parameter.keyword}


_ROWS: dict[str, TileOperation] = {}
FAMILIES = (
    "elementwise",
    "fused",
    "reductions",
    "comparison",
    "gathering",
    "sorting",
    "conversion",
    "padding",
    "quantisation",
    "movement",
    "matrix",
    "synchronisation",
    "debugging",
)


def register(row: TileOperation) -> TileOperation:
    """Adds a row; a name has one row."""
    if row.name in _ROWS:
        raise ImportError(f"tile operation {row.name} is defined twice")
    _ROWS[row.name] = row
    return row


@cache
def _loaded() -> dict[str, TileOperation]:
    for family in FAMILIES:
        import_module(f"pypto.ops.tile.{family}")
    return _ROWS


def find(name: str) -> TileOperation | None:
    """The row of ``name``, or None."""
    return _loaded().get(name)


def rows() -> tuple[TileOperation, ...]:
    """Every row, in the order of the families."""
    return tuple(_loaded().values())
