"""``t[key]`` and ``t[key] = value`` (tensor API sections 4.4 and 4.5, rulings applied).

Keys are ints, symbolic scalars and slices of step 1, one per axis (missing axes and ``...`` are full slices). All ints read or write one
element; slices read a view or write a region. The written region has the value's shape; a slice that gives both ends must agree with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypto.errors.regions import (
    GatherAxis,
    IndexCount,
    IndexKind,
    IndexOutOfRange,
    SliceEmpty,
    SliceExtent,
    SliceStep,
    StoreRank,
    StoreShape,
    StoreValue,
    TooManyEllipses,
)
from pypto.errors.runtime import IndexOutOfBounds
from pypto.frontend.structure import current_tracer, move, number_of, read_region, require_equal, with_axes, write_region
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor, as_user
from pypto.frontend.trace import Tracer, scalar_kind
from pypto.ir import symbols as ir
from pypto.ir.program import TensorType
from pypto.ir.symbols import Scalar
from pypto.ops.build import clipped_valid
from pypto.ops.table import OPERATIONS


@dataclass(frozen=True)
class Axis:
    """What a key says about one axis: an ``index``, or a slice from ``start`` to ``stop`` (None: not given)."""

    index: Scalar | None = None
    start: Scalar | None = None
    stop: Scalar | None = None

    @property
    def is_full(self) -> bool:
        return self.index is None and self.start is None and self.stop is None


# -- keys --------------------------------------------------------------------------------------------------------------------------


def expanded(key: Any, rank: int) -> list[Any]:
    """The key as one entry per axis."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [position for position, entry in enumerate(keys) if entry is ...]
    if len(dots) > 1:
        raise TooManyEllipses()
    if len(keys) - len(dots) > rank:
        raise IndexCount(expected=rank, got=len(keys) - len(dots))
    position = dots[0] if dots else len(keys)
    missing = rank - (len(keys) - len(dots))
    return [*keys[:position], *[slice(None)] * missing, *keys[position + 1 :]]


def axes_of(key: Any, type: TensorType) -> list[Axis]:
    """The key, checked against the tensor's type."""
    return [_axis(entry, axis, type.shape[axis]) for axis, entry in enumerate(expanded(key, type.rank))]


def _axis(entry: Any, axis: int, size: Scalar) -> Axis:
    if isinstance(entry, slice):
        if entry.step is not None and number_of(entry.step) != 1:
            raise SliceStep(step=entry.step)
        return Axis(None, _bound(entry.start, size), _bound(entry.stop, size))
    index = number_of(entry)
    if index is None or isinstance(entry, bool):
        advice = "use pypto.gather or pypto.index_select for tensor indices, and unsqueeze to add an axis"
        raise IndexKind(got=f"{type(entry).__name__} {entry!r}", advice=advice)
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise IndexOutOfRange(index=index, axis=axis, size=size)
    return Axis(index=_from_end(index, size))


def _bound(bound: Any, size: Scalar) -> Scalar | None:
    if bound is None:
        return None
    number = number_of(bound)
    if number is None or isinstance(bound, bool):
        raise IndexKind(got=f"a slice with {type(bound).__name__} {bound!r}", advice="slice bounds are ints or symbolic scalars")
    return _from_end(number, size)


def _from_end(number: Scalar, size: Scalar) -> Scalar:
    """Negative ints count from the end; symbolic scalars are never adjusted."""
    return ir.add(size, number) if isinstance(number, int) and number < 0 else number


def extent(axis: Axis, size: Scalar) -> Scalar:
    """``stop - start``, simplified."""
    from pypto.ir.simplify_symbols import simplify

    if axis.index is not None:
        return 1
    start = 0 if axis.start is None else axis.start
    stop = size if axis.stop is None else axis.stop
    return simplify(ir.sub(stop, start))


def checked_extent(tracer: Tracer, axis: Axis, number: int, size: Scalar) -> Scalar:
    """The extent of a view along an axis: a number, or made of the sizes of DYNAMIC axes."""
    found = extent(axis, size)
    if isinstance(found, int):
        if found <= 0:
            raise SliceEmpty(start=_shown(axis.start, 0), stop=_shown(axis.stop, size), axis=number)
        return found
    if axis.is_full or all(symbol in tracer.builder.dimensions for symbol in ir.symbols_in(found)):
        return found
    raise SliceExtent(text=str(as_user(found)), axis=number)


def _shown(bound: Scalar | None, default: Scalar) -> str:
    return str(as_user(default if bound is None else bound))


# -- reading -------------------------------------------------------------------------------------------------------------------------


def get_item(tensor: Tensor, key: Any) -> Any:
    """``tensor[key]``: the tensor itself, a view, one element as a scalar, or a gather (``t[dim:index]``)."""
    tracer = current_tracer()
    if isinstance(key, slice) and isinstance(key.stop, Tensor):
        return _gathered(tensor, key)
    type = tracer.type_of(tensor)
    axes = axes_of(key, type)
    if all(axis.is_full for axis in axes) and key is not ... and not _has_dots(key):
        return tensor
    if all(axis.index is not None for axis in axes):
        return read_element(tracer, tensor, [axis.index for axis in axes])  # type: ignore[misc]
    shape = [checked_extent(tracer, axis, k, type.shape[k]) for k, axis in enumerate(axes)]
    offsets = [axis.index if axis.index is not None else axis.start or 0 for axis in axes]
    dropped = [k for k, axis in enumerate(axes) if axis.index is not None]
    if not dropped:
        return read_region(tracer, tensor, shape, offsets)
    valid = list(clipped_valid(type.valid, offsets, shape))
    for k in dropped:  # a slice may reach past the end and holds less then; an index must be inside
        _check_index(tracer, tensor, offsets[k], k, type.valid[k])
        valid[k] = 1
    return with_axes(tracer, read_region(tracer, tensor, shape, offsets, valid), dropped=dropped)


def _check_index(tracer: Tracer, tensor: Tensor, index: Scalar, axis: int, size: Scalar) -> None:
    inside = ir.logical_and(ir.compare("le", 0, index), ir.compare("lt", index, size))
    operation = f"read of '{tensor._name}'" if tensor._name else "read"
    error = IndexOutOfBounds(operation=operation, index=index, axis=axis, size=size)
    if inside is False:
        raise error
    if inside is not True:
        tracer.check(inside, error)


def _has_dots(key: Any) -> bool:
    return isinstance(key, tuple) and any(entry is ... for entry in key)


def _gathered(tensor: Tensor, key: slice) -> Any:
    dim = number_of(key.start)
    if not isinstance(dim, int):
        raise GatherAxis(got=type(key.start).__name__)
    return OPERATIONS["gather"].function(tensor, dim, key.stop)


def read_element(tracer: Tracer, tensor: Tensor, indices: list[Scalar]) -> Any:
    """One element as a run-time scalar."""
    source = tracer.source_of(tensor)
    dtype = source.type.dtype
    tracer.builder.span = tracer.span
    symbol = tracer.builder.read(source, indices, name=tensor._name or "element", kind=scalar_kind(dtype))
    if dtype.is_integer:
        symbol.bounds = (0, 2**dtype.bits - 1) if dtype.is_unsigned else (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1)
    return SymbolicScalar(symbol)


# -- writing ---------------------------------------------------------------------------------------------------------------------------


def set_item(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``: move, write one element, or write a region."""
    tracer = current_tracer()
    if isinstance(key, slice) and isinstance(key.stop, Tensor):
        advice = "use pypto.scatter_(t, dim, index, value)"
        raise StoreValue(what="t[dim:index] = value does not exist", got="a tensor index", advice=advice)
    axes = axes_of(key, tracer.type_of(tensor))
    if all(axis.index is not None for axis in axes):
        write_element(tracer, tensor, [axis.index for axis in axes], value)  # type: ignore[misc]
        return
    if not tracer.is_tensor(value):
        advice = "fill with t.fill_(number) or t[...] = pypto.full(shape, number, dtype)"
        raise StoreValue(what="a region is written from a tensor", got=f"{type(value).__name__}", advice=advice)
    if all(axis.is_full for axis in axes) and not _has_dots(key) and key is not ...:
        move(tensor, value)
        return
    write_slices(tracer, tensor, axes, value)


def write_slices(tracer: Tracer, tensor: Tensor, axes: list[Axis], value: Tensor) -> None:
    """Write ``value``, one of its axes per slice; axes with an index get size 1."""
    kept = [k for k, axis in enumerate(axes) if axis.index is None]
    type = tracer.type_of(value)
    if type.rank != len(kept):
        raise StoreRank(got=type.rank, expected=len(kept))
    sizes = tracer.type_of(tensor).shape
    for position, k in enumerate(kept):
        _match(tracer, axes[k], sizes[k], type, position, [extent(axes[a], sizes[a]) for a in kept])
    added = [k for k, axis in enumerate(axes) if axis.index is not None]
    if added:
        value = with_axes(tracer, value, added=added)
    write_region(tracer, tensor, value, [axis.index if axis.index is not None else axis.start or 0 for axis in axes])


def _match(tracer: Tracer, axis: Axis, size: Scalar, type: TensorType, position: int, region: list[Scalar]) -> None:
    """A slice that says where it ends must have the value's extent."""
    if axis.stop is None:
        return
    shown = [str(as_user(x)) for x in type.shape], [str(as_user(x)) for x in region]
    error = StoreShape(got=f"[{', '.join(shown[0])}]", expected=f"[{', '.join(shown[1])}]")
    require_equal(tracer, extent(axis, size), type.shape[position], error)


def write_element(tracer: Tracer, tensor: Tensor, indices: list[Scalar], value: Any) -> None:
    """One element from a number or symbolic scalar."""
    number = tracer.scalar(value)
    dtype = tracer.type_of(tensor).dtype
    if number is None:
        advice = "for a tensor give one axis a slice: t[i : i + 1, j] = value"
        raise StoreValue(what="one element is written from a number", got=type(value).__name__, advice=advice)
    if ir.kind_of(number) == "float" and not dtype.is_float:
        raise StoreValue(
            what=f"an element of a {dtype.label} tensor is an integer", got=f"float {value}", advice="convert it with int(...)"
        )
    storage = tracer.storage_of(tensor)
    tracer.builder.effect("write", storage, number, indices=tuple(indices))
