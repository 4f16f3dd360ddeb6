"""What the plan knows about a value: in memory, computed in a nest that is still open, or a formula that any nest can repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypto.cpu.items import NestItem
from pypto.cpu.nests import Term
from pypto.cpu.views import View, same
from pypto.ir.program import TensorType
from pypto.ir.symbols import Scalar, bounds_of

if TYPE_CHECKING:
    from pypto.cpu.fuse import BlockPlan

# For each axis of a nest the axis of an operand that follows it, or None where the operand does not vary.
Mapping = tuple["int | None", ...]
Formula = Callable[[NestItem, Mapping], Term]


@dataclass(eq=False)
class Held:
    """``home``/``ready``: the block whose item number ``ready`` makes the value (-1: there from the start).

    ``view``: its place in memory, once it has one. ``term`` of nest ``item``: it can be used there without memory; ``axes`` are the
    nest's axes that its kept axes follow. ``formula``: anyone can compute it on the spot (constants, positions).
    """

    type: TensorType
    home: BlockPlan
    ready: int = -1
    view: View | None = None
    item: NestItem | None = None
    term: Term | None = None
    axes: tuple[int, ...] = ()
    formula: Formula | None = None
    scalars: tuple[Scalar, ...] = ()
    uniform: bool = False
    repeats: int = 0  # how many operations a formula repeats


def kept_axes(type: TensorType) -> tuple[int, ...]:
    """Axes that a nest iterates: all but those of size 1."""
    return tuple(a for a, size in enumerate(type.shape) if not same(size, 1))


def extents_of(type: TensorType) -> tuple[Scalar, ...]:
    """Valid extents of the kept axes."""
    return tuple(type.valid[a] for a in kept_axes(type))


def guards_of(type: TensorType) -> tuple[Scalar, ...]:
    """Valid extents of axes of size 1 that may hold nothing; a nest runs only when none of them is 0."""
    found: list[Scalar] = []
    for size, valid in zip(type.shape, type.valid, strict=True):
        if same(size, 1) and may_be_empty(valid) and all(not same(valid, g) for g in found):
            found.append(valid)
    return tuple(found)


def may_be_empty(valid: Scalar) -> bool:
    return bounds_of(valid)[0] < 1


def sizes_of(type: TensorType) -> tuple[Scalar, ...]:
    return tuple(type.shape[a] for a in kept_axes(type))


def operand_axes(operand: TensorType, result: TensorType) -> Mapping:
    """How a broadcast operand follows the kept axes of ``result`` (aligned from the right)."""
    shift = result.rank - operand.rank
    found: list[int | None] = []
    for axis in kept_axes(result):
        own = axis - shift
        varies = own >= 0 and not same(operand.shape[own], 1)
        found.append(own if varies else None)
    return tuple(found)
