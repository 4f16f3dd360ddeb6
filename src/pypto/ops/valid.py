"""Valid extents: what the user gives, and what a reshape makes of them (tensor API section 4.6; rulings)."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.errors.operations import LengthMismatch, ReshapePartial, ValidShapeTooLarge
from pypto.errors.regions import ReshapeSize
from pypto.errors.runtime import PartialNotRepresentable, ShapesDisagree, ValidShapeOutOfBounds
from pypto.ir.symbols import Expression, Scalar, compare, floordiv, logical_and, mod, mul
from pypto.ops.guards import require
from pypto.ops.rules import is_one, same

Extents = Sequence[Scalar]


def given_valid(operation: str, shape: Extents, valid: Extents | None, default: Extents) -> tuple[Scalar, ...]:
    """The user's ``valid_shape`` after checking that it lies inside ``shape``, or ``default``."""
    if valid is None:
        return tuple(default)
    if len(valid) != len(shape):
        raise LengthMismatch(operation=operation, argument="valid_shape", got=len(valid), expected=len(shape))
    for axis, (extent, size) in enumerate(zip(valid, shape, strict=True)):
        require(
            logical_and(compare("le", 0, extent), compare("le", extent, size)),
            ValidShapeOutOfBounds(operation=operation, extent=extent, axis=axis, size=size),
            ValidShapeTooLarge(operation=operation, valid=list(valid), limit=list(shape), axis=axis),
        )
    return tuple(valid)


def product(sizes: Extents) -> Scalar:
    total: Scalar = 1
    for size in sizes:
        total = mul(total, size)
    return total


def check_sizes(source: Extents, target: Extents) -> None:
    """Both shapes hold the same number of elements."""
    first, second = product(source), product(target)
    require(
        compare("eq", first, second),
        ShapesDisagree(first=first, second=second, operation="RESHAPE"),
        ReshapeSize(got=list(target), expected=list(source)),
    )


def reshaped_valid(shape: Extents, valid: Extents, target: Extents) -> tuple[Scalar, ...]:
    """Valid extent after a row-major reshape, or an error when the valid part is no rectangle of ``target``.

    The axes are split into the smallest groups that hold equally many elements on both sides; each group carries its own part.

    >>> reshaped_valid((4, 8), (3, 8), (4, 2, 4)), reshaped_valid((4, 8), (2, 8), (2, 16))
    ((3, 2, 4), (1, 16))
    """
    check_sizes(shape, target)
    if all(same(v, s) for v, s in zip(valid, shape, strict=True)):
        return tuple(target)
    result: list[Scalar] = []
    flat: Scalar = 1  # 0 when an axis of size 1 that disappears holds nothing
    for sources, targets in groups(shape, target):
        if not targets:
            flat = mul(flat, product([valid[a] for a in sources]))
            continue
        part = _group([shape[a] for a in sources], [valid[a] for a in sources], [target[a] for a in targets])
        if part is None:
            raise ReshapePartial(source=list(shape), valid=list(valid), target=list(target))
        result += part
    return (mul(flat, result[0]), *result[1:]) if result else ()


def groups(shape: Extents, target: Extents) -> list[tuple[list[int], list[int]]]:
    """Axes of both sides in groups of equal products, as fine as constants (and identical symbols) allow."""
    result: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        sources, targets = [i][: len(shape) - i], [j][: len(target) - j]
        i, j = i + len(sources), j + len(targets)
        while not same(first := product([shape[a] for a in sources]), second := product([target[a] for a in targets])):
            if j >= len(target) or (i < len(shape) and _smaller(first, second)):
                if i >= len(shape):
                    break
                sources.append(i)
                i += 1
            else:
                targets.append(j)
                j += 1
        result.append((sources, targets))
    return result


def _smaller(first: Scalar, second: Scalar) -> bool:
    """Which side to extend; with symbols, the source side."""
    if isinstance(first, Expression) or isinstance(second, Expression):
        return isinstance(second, Expression) or not isinstance(first, Expression)
    return first < second


def _group(shape: list[Scalar], valid: list[Scalar], target: list[Scalar]) -> list[Scalar] | None:
    """Valid extent of one group's target axes; None when not representable."""
    if all(same(v, s) for v, s in zip(valid, shape, strict=True)):
        return list(target)
    inner = [(s, v) for s, v in zip(shape, valid, strict=True) if not (is_one(s) and is_one(v))]
    places = [a for a, size in enumerate(target) if not is_one(size)] or [len(target) - 1]
    result: list[Scalar] = [1] * len(target)
    if len(inner) == 1 and len(places) == 1:
        result[places[0]] = inner[0][1]
        return result
    run = _run(inner)
    return None if run is None else _placed(run, target, places, result)


def _run(axes: list[tuple[Scalar, Scalar]]) -> Scalar | None:
    """Number of leading elements that are valid, when the valid part is a run: ones, one partial axis, whole axes.

    Whether an axis with a symbolic extent is whole is left to the run: a view of a DYNAMIC tensor usually is.
    """
    flat = product([valid for size, valid in axes if is_one(size)])
    axes = [(size, valid) for size, valid in axes if not is_one(size)] or [(1, 1)]
    while len(axes) > 1 and is_one(axes[0][1]):
        axes = axes[1:]
    for size, valid in axes[1:]:
        whole = compare("eq", valid, size)
        if whole is False:
            return None
        require(whole, PartialNotRepresentable(operation="reshape", valid=valid, target=size))
    return mul(flat, mul(axes[0][1], product([size for size, _ in axes[1:]])))


def _placed(run: Scalar, target: list[Scalar], places: list[int], result: list[Scalar]) -> list[Scalar] | None:
    """A run of elements as whole rows of the outermost target axis that can hold it; a symbolic run must be rows of the first."""
    for position, axis in enumerate(places):
        row = product([target[a] for a in places[position + 1 :]])
        remainder = mod(run, row)
        if position and not _holds(mul(row, target[axis]), run):
            return None
        if isinstance(remainder, Expression) or remainder == 0:
            error = PartialNotRepresentable(operation="reshape", valid=run, target=list(target))
            require(compare("eq", remainder, 0), error)
            result[axis] = floordiv(run, row)
            for inner in places[position + 1 :]:
                result[inner] = target[inner]
            return result
    return None


def _holds(capacity: Scalar, run: Scalar) -> bool:
    """Whether a run is known to fit."""
    return compare("le", run, capacity) is True
