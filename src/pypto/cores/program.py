"""The core program: what one core is told to do.

A kernel of the tile level becomes one ``CoreProgram`` for the cube core and one for the vector cores. A program is a tree
of immutable statements. The scalar unit walks it, evaluates ``Expression``s at once, and hands every ``Instruction`` to the queue
of its pipe; nothing but explicit synchronisation orders different pipes. Names are variables of the scalar unit, mutable as in Python;
what a name holds (number, tile, group, tensor, pointer, struct) is in ``CoreProgram.types``.

Grammar
-------
statement:  Assign | DeclareTile | DeclareGroup | DeclareStruct | DeclareTensor | SetField | Instruction
            | Loop | Repeat | If | Break | Continue | Return
expression: Constant | Name | Operation | Slot | Window | Field | Item | Extent | ValidExtent | System

Expressions never block and have no effect but one: ``Slot(..., "next")`` turns the ring of its group. What has to wait for data
(a scalar read from a tile or from global memory) is an ``Instruction`` with a ``result``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Union

from pypto.cores.enums import CoreType, PipeType
from pypto.cores.types import INDEX, Type
from pypto.cores.types import Tile as TileType
from pypto.diagnostics import Span
from pypto.dtypes import DataType

# ---------------------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Constant:
    """A number known before anything runs."""

    value: int | float | bool
    dtype: DataType = INDEX


@dataclass(frozen=True)
class Name:
    """A variable of the scalar unit, or a parameter of the kernel."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operator on scalars. ``operator`` is one of ``OPERATORS``; ``dtype`` is the type of the result.

    Integers: ``//`` and ``%`` truncate toward zero as C does; ``/`` yields fp32. ``choose`` takes condition, then, otherwise, and also
    chooses between tiles; ``convert`` converts its operand to ``dtype`` (float to integer truncates).
    """

    operator: str
    operands: tuple[Expression, ...]
    dtype: DataType = INDEX


OPERATORS = frozenset(
    "+ - * / // % << >> & | ^ ~ negate not and or < <= > >= == != min max choose convert is_null".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Slot:
    """A tile of a group: ``how`` is ``next``, ``current``, ``previous``, or ``at`` with an index."""

    group: Expression
    how: str
    index: Expression | None = None


@dataclass(frozen=True)
class Window:
    """Part of a tile that shares its bytes: rows and columns from … to (exclusive)."""

    tile: Expression
    row: Expression
    row_end: Expression
    column: Expression
    column_end: Expression


@dataclass(frozen=True)
class Field:
    """A field of a struct; ``index`` picks an element of an array field."""

    struct: Expression
    name: str
    index: Expression | None = None


@dataclass(frozen=True)
class Item:
    """An element of a struct array (``of`` is a name), or of a tuple of expressions, by a run-time index."""

    of: Expression | tuple[Expression, ...]
    index: Expression


@dataclass(frozen=True)
class Extent:
    """Run-time length of an axis of a tensor."""

    tensor: Expression
    axis: int


@dataclass(frozen=True)
class ValidExtent:
    """Valid rows (axis 0) or columns (axis 1) of a tile at this moment."""

    tile: Expression
    axis: int


@dataclass(frozen=True)
class System:
    """``block_idx``, ``block_num``, ``subblock_idx`` or ``subblock_num`` (tile API section 3.11)."""

    name: str


Expression = Union[Constant, Name, Operation, Slot, Window, Field, Item, Extent, ValidExtent, System]

# ----------------------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Assign:
    """``name = value``: a number, or another name for a tile, group, tensor, pointer, struct."""

    name: str
    value: Expression
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DeclareTile:
    """A tile at a fixed ``address`` (bytes) of its memory space."""

    name: str
    type: TileType
    address: int
    ids: tuple[int, ...] = ()
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DeclareGroup:
    """A ring of tiles; its cursor starts at the last one, so that the first ``next`` gives tile 0.

    ``forward`` and ``backward`` are the cross-core events of the group, kept for reports; the pipeline transform has used them already.
    """

    name: str
    type: TileType
    addresses: tuple[int, ...]
    ids: tuple[tuple[int, ...], ...] = ()
    forward: tuple[int, ...] = ()
    backward: tuple[int, ...] = ()
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DeclareStruct:
    """A record (or ``count`` of them) with its first values; an array field has a tuple of them."""

    name: str
    kind: str
    fields: tuple[tuple[str, Expression | tuple[Expression, ...]], ...]
    count: int | None = None
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DeclareTensor:
    """A view on the memory of ``base`` (a tensor or pointer name), ``offset`` elements further on.

    ``shape`` None makes a pointer. ``strides`` in elements, None for contiguous rows.
    """

    name: str
    base: Expression
    dtype: DataType
    shape: tuple[Expression, ...] | None = None
    strides: tuple[Expression, ...] | None = None
    offset: Expression = Constant(0)
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class SetField:
    """``struct.name = value`` or ``struct.name[index] = value``; a tuple fills an array field."""

    struct: Expression
    name: str
    value: Expression | tuple[Expression, ...]
    index: Expression | None = None
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Instruction:
    """One operation for one pipe. ``operation`` names a row of ``ops.tile``; ``operands`` follow its positional parameters
    (a tuple where the parameter is a list of offsets, None where it was left out); ``attributes`` are its keywords, constants
    or expressions. ``result`` names the variable that takes the scalar it yields."""

    operation: str
    pipe: PipeType
    operands: tuple[Expression | tuple[Expression, ...] | None, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    result: str | None = None
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Loop:
    """``for variable in range(start, stop, step)``; the bounds are evaluated once."""

    variable: str
    start: Expression
    stop: Expression
    step: Expression
    body: tuple[Statement, ...]
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Repeat:
    """Again and again until a ``Break`` or ``Return``."""

    body: tuple[Statement, ...]
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class If:
    """One of two bodies."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True)
class Continue:
    """Goes to the next turn of the innermost loop."""


@dataclass(frozen=True)
class Return:
    """Ends the program of this core."""


Statement = Union[
    Assign,
    DeclareTile,
    DeclareGroup,
    DeclareStruct,
    DeclareTensor,
    SetField,
    Instruction,
    Loop,
    Repeat,
    If,
    Break,
    Continue,
    Return,
]

# ------------------------------------------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel: its name and type. A tiling class is a struct; an axis that is a name is a scalar of that name."""

    name: str
    type: Type


@dataclass(frozen=True)
class CoreProgram:
    """What a core of one kind runs. ``types`` tells what every name holds."""

    core: CoreType
    body: tuple[Statement, ...]
    types: Mapping[str, Type] = field(default_factory=dict)


@dataclass(frozen=True)
class TileProgram:
    """A kernel of the tile level: one program per kind of core. With both, a block is one cube core and two vector cores."""

    name: str
    parameters: tuple[Parameter, ...]
    cube: CoreProgram | None = None
    vector: CoreProgram | None = None
    chip: str = "950"
    place: Span | None = field(default=None, compare=False, repr=False)

    @property
    def mixed(self) -> bool:
        return self.cube is not None and self.vector is not None

    @property
    def cores(self) -> tuple[CoreProgram, ...]:
        return tuple(core for core in (self.cube, self.vector) if core is not None)


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement, outer before inner, in the order of the text."""
    for statement in body:
        yield statement
        if isinstance(statement, (Loop, Repeat)):
            yield from walk(statement.body)
        elif isinstance(statement, If):
            yield from walk(statement.then)
            yield from walk(statement.otherwise)


def expressions_in(part: Any) -> Iterator[Any]:
    """Every expression in a statement or expression, or in a tuple or mapping of such; nested statements are among them."""
    pending = [part]
    while pending:
        one = pending.pop()
        if isinstance(one, (tuple, list)):
            pending.extend(one)
        elif isinstance(one, dict):
            pending.extend(one.values())
        elif is_dataclass(one) and type(one).__module__ == __name__:
            yield one
            pending.extend(getattr(one, field.name) for field in fields(one) if field.name not in ("place", "type"))


def names_read(part: Any) -> Iterator[str]:
    """Names that statements or expressions read, as often as they do."""
    return (one.name for one in expressions_in(part) if isinstance(one, Name))
