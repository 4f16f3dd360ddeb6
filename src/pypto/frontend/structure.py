"""Regions of tensors: ``view``, ``assemble``, ``move``, ``reshape``, ``atomic_add``, ``print``.

These know whether a handle denotes memory or a value: reading a part of memory copies what it holds now, writing changes it in program
order, ``reshape(inplace=True)`` gives the same memory another shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.dtypes import DataType
from pypto.errors.base import UserError
from pypto.errors.frontend import NotIterable, WriteIntoView
from pypto.errors.operations import OutsideKernel
from pypto.errors.regions import (
    AssembleArguments,
    MovedNotTensor,
    ReshapeInplace,
    ReshapeNeedsIntegers,
    ReshapeSize,
    StoreOutside,
    StoreShape,
    StoreType,
    ViewArguments,
)
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor, as_user
from pypto.frontend.trace import Tracer
from pypto.ir import symbols as ir
from pypto.ir.program import Storage, TensorType
from pypto.ir.symbols import Scalar
from pypto.ops.table import OPERATIONS, RECORDER


def current_tracer() -> Tracer:
    """The trace that is going on, or the error that there is none."""
    found = RECORDER.get()
    if not isinstance(found, Tracer):
        raise OutsideKernel()
    return found


def number_of(thing: Any) -> Scalar | None:
    """``thing`` as an integer scalar, or None."""
    if thing is None or isinstance(thing, (str, Tensor)):
        return None
    tracer = RECORDER.get()
    scalar = tracer.scalar(thing) if isinstance(tracer, Tracer) else None
    return None if scalar is None or ir.kind_of(scalar) == "float" else scalar


def sizes_text(sizes: Sequence[Scalar]) -> str:
    return "[" + ", ".join(str(as_user(size)) for size in sizes) + "]"


# -- reading regions -----------------------------------------------------------------------------------------------------------------


def read_region(
    tracer: Tracer, tensor: Tensor, shape: Sequence[Scalar], offsets: Sequence[Scalar], valid: Sequence[Scalar] | None = None
) -> Tensor:
    """A view: what the region holds now."""
    source = tracer.source_of(tensor)
    tracer.builder.span = tracer.span
    if isinstance(source, Storage):
        part = tracer.handle(tracer.builder.load(source, shape, offsets, valid, hint=""))
    else:
        attributes = {"shape": tuple(shape), "offsets": tuple(offsets), "valid": None if valid is None else tuple(valid)}
        part = tracer.record("view", [tensor], attributes)
    base, name = tensor._name or tensor.described(), tensor._name if tensor._name.isidentifier() else "t"
    part._frozen = lambda: WriteIntoView(base=base, name=name, region=_slices(shape, offsets), offsets=_listed(offsets))
    return part


def _listed(scalars: Sequence[Scalar]) -> str:
    return ", ".join(str(as_user(s)) for s in scalars)


def _slices(shape: Sequence[Scalar], offsets: Sequence[Scalar]) -> str:
    """The region as a user writes it."""
    return ", ".join(f"{as_user(o)}:{as_user(ir.add(o, s))}" for o, s in zip(offsets, shape, strict=True))


def with_axes(tracer: Tracer, tensor: Tensor, added: Sequence[int] = (), dropped: Sequence[int] = ()) -> Tensor:
    """The same elements with axes of size 1 inserted (numbered in the result) or left out."""
    type = tracer.type_of(tensor)
    pairs = [pair for axis, pair in enumerate(zip(type.shape, type.valid, strict=True)) if axis not in dropped]
    for axis in added:
        pairs.insert(axis, (1, 1))
    shape, valid = zip(*pairs, strict=True)
    made = tracer.record("reshape", [tensor], {"shape": shape, "valid": valid})
    made._frozen = tensor._frozen if dropped else None
    return made


def view(
    input: Tensor,
    shape: Sequence[int] | None = None,
    offsets: Sequence[Any] | None = None,
    *,
    valid_shape: Sequence[Any] | None = None,
    dtype: DataType | None = None,
) -> Tensor:
    """The part of ``input`` of ``shape`` at ``offsets`` (ints or symbolic scalars), as it is now.

    Of the result, ``min(max(input.valid - offset, 0), shape)`` is valid per axis, or ``valid_shape`` when given. With ``dtype`` instead of
    a shape: the same bytes as another element type. Raises ``ValueError`` for ranks, sizes and valid shapes that cannot be.

    >>> import pypto
    >>> def rows(x, out):
    ...     out[:] = pypto.view(x, [2, 8], [1, 0]) * 2.0
    """
    tracer = current_tracer()
    if not tracer.is_tensor(input):
        raise ViewArguments(problem=f"input must be a tensor, got {type(input).__name__}")
    if dtype is not None:
        return OPERATIONS["view"].function(input, dtype=dtype)
    type_ = tracer.type_of(input)
    sizes = _integers(shape, type_.rank)
    starts = _scalars("offsets", offsets, type_.rank)
    for axis, start in enumerate(starts):
        if isinstance(start, int) and start < 0:
            raise ViewArguments(problem=f"offset {start} of axis {axis} is negative")
    valid = None if valid_shape is None else _valid(valid_shape, sizes, type_)
    return read_region(tracer, input, sizes, starts, valid)


def _integers(shape: Any, rank: int) -> list[int]:
    if shape is None:
        raise ViewArguments(problem="needs a shape and offsets, or a dtype")
    sizes = _scalars("shape", shape, rank)
    for size in sizes:
        if not isinstance(size, int):
            raise ViewArguments(problem=f"shape must be integers, got {sizes_text(sizes)}; say what is valid with valid_shape")
        if size <= 0:
            raise ViewArguments(problem=f"shape must be positive, got {sizes_text(sizes)}")
    return sizes  # type: ignore[return-value]


def _scalars(what: str, things: Any, rank: int) -> list[Scalar]:
    if things is None:
        raise ViewArguments(problem=f"needs {what}")
    if not isinstance(things, Sequence) or isinstance(things, str):
        raise ViewArguments(problem=f"{what} must be a list, got {type(things).__name__}")
    numbers = [number_of(thing) for thing in things]
    for thing, number in zip(things, numbers, strict=True):
        if number is None:
            raise ViewArguments(problem=f"{what} must be ints or symbolic scalars, got {type(thing).__name__} {thing!r}")
    if len(numbers) != rank:
        raise ViewArguments(problem=f"{what} has {len(numbers)} entries, the input has rank {rank}")
    return numbers  # type: ignore[return-value]


def _valid(valid_shape: Any, shape: Sequence[int], type: TensorType) -> list[Scalar]:
    valid = _scalars("valid_shape", valid_shape, type.rank)
    for axis, extent in enumerate(valid):
        for limit, what in ((type.shape[axis], "the input's size"), (shape[axis], "the view's size")):
            if isinstance(extent, int) and isinstance(limit, int) and not 0 <= extent <= limit:
                raise ViewArguments(problem=f"valid_shape {extent} of axis {axis} does not fit {what} {limit}")
    return valid


# -- writing regions -----------------------------------------------------------------------------------------------------------------


def write_region(tracer: Tracer, tensor: Tensor, value: Tensor, offsets: Sequence[Scalar], effect: str = "store") -> None:
    """Write (or add) the valid part of ``value`` at ``offsets``."""
    target, source = tracer.type_of(tensor), tracer.type_of(value)
    check_dtype(tensor, target, source)
    for axis, (offset, extent, size) in enumerate(zip(offsets, source.valid, target.shape, strict=True)):
        reach = ir.add(offset, extent)
        if isinstance(offset, int) and offset < 0:
            raise StoreOutside(reach=offset, axis=axis, name=tensor._name, size=size)
        if isinstance(reach, int) and isinstance(size, int) and reach > size and extent != 0:
            raise StoreOutside(reach=reach, axis=axis, name=tensor._name, size=size)
    stored = tracer.value_of(value)
    storage = tracer.storage_of(tensor)
    tracer.builder.effect(effect, storage, stored, offsets=tuple(offsets))


def check_dtype(tensor: Tensor, target: TensorType, source: TensorType) -> None:
    if target.dtype is not source.dtype:
        raise StoreType(got=source.dtype.label, expected=target.dtype.label, name=tensor._name, dtype=target.dtype.name)


def move(target: Tensor, source: Tensor) -> None:
    """Take over the contents of ``source``; an empty target also takes its shape. ``source`` stays usable."""
    tracer = current_tracer()
    if not tracer.is_tensor(source):
        raise MovedNotTensor(got=type(source).__name__)
    value_type = tracer.type_of(source)
    if target._type() is None and target._tracer in (tracer, None):
        tracer.adopt(target, source)
        return
    held = tracer.type_of(target)
    check_dtype(target, held, value_type)
    if held.rank != value_type.rank:
        raise StoreShape(got=sizes_text(value_type.shape), expected=sizes_text(held.shape))
    for expected, got in zip(held.shape, value_type.shape, strict=True):
        require_equal(tracer, expected, got, StoreShape(got=sizes_text(value_type.shape), expected=sizes_text(held.shape)))
    tracer.store_whole(target, tracer.value_of(source))


def require_equal(tracer: Tracer, expected: Scalar, got: Scalar, error: UserError) -> None:
    """Two extents must agree: decided now where they are known, else checked when the kernel runs."""
    from pypto.ir.simplify_symbols import simplify

    difference = simplify(ir.sub(expected, got))
    if isinstance(difference, int):
        if difference != 0:
            raise error
        return
    tracer.check(ir.compare("eq", difference, 0), error)


def assemble(*arguments: Any, parallel: bool = False) -> None:
    """Write tensors into a larger one: ``assemble(src, offsets, dst)`` or ``assemble([(src, offsets), …], dst)``.

    Offsets are ints or symbolic scalars; the valid part of ``src`` is written. Overlapping parts are written in order.

    >>> import pypto
    >>> def halves(x, out):
    ...     pypto.assemble([(x, [0, 0]), (x * 2.0, [4, 0])], out)
    """
    for source, offsets, target in _parts(arguments):
        _write(source, offsets, target, "store")


def _parts(arguments: tuple[Any, ...]) -> list[tuple[Any, Any, Any]]:
    if len(arguments) == 3:
        return [arguments]  # type: ignore[list-item]
    if len(arguments) != 2 or not isinstance(arguments[0], (list, tuple)):
        raise AssembleArguments(problem=f"cannot be called with {len(arguments)} argument(s) of these kinds")
    pairs, target = arguments
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise AssembleArguments(problem="every part must be a pair (src, offsets)")
    return [(source, offsets, target) for source, offsets in pairs]


def _write(source: Any, offsets: Any, target: Any, effect: str) -> None:
    tracer = current_tracer()
    for what, thing in (("src", source), ("dst", target)):
        if not tracer.is_tensor(thing):
            raise AssembleArguments(problem=f"{what} must be a tensor, got {type(thing).__name__}")
    rank, found = tracer.type_of(target).rank, tracer.type_of(source).rank
    if found != rank:
        raise AssembleArguments(problem=f"src has rank {found}, dst has rank {rank}")
    if not isinstance(offsets, (list, tuple)) or len(offsets) != rank:
        raise AssembleArguments(problem=f"offsets must be a list of {rank} ints or symbolic scalars")
    numbers = [number_of(offset) for offset in offsets]
    if any(number is None for number in numbers):
        raise AssembleArguments(problem=f"offsets must be ints or symbolic scalars, got {list(offsets)!r}")
    write_region(tracer, target, source, numbers, effect)  # type: ignore[arg-type]


def assemble_method(self: Tensor, input: Tensor, offsets: Sequence[Any]) -> None:
    """Write ``input`` into this tensor at ``offsets``."""
    assemble(input, offsets, self)


def atomic_add(src: Tensor, offsets: Sequence[Any], dst: Tensor) -> None:
    """Add ``src`` to the region of ``dst`` at ``offsets``; ``dst`` must have been written before."""
    _write(src, offsets, dst, "accumulate")


def fill(self: Tensor, other: float) -> Tensor:
    """Set every element to a number; gives the tensor itself."""
    move(self, OPERATIONS["full"].function(self.shape, other, self.dtype))
    return self


# -- shapes --------------------------------------------------------------------------------------------------------------------------


def reshape(input: Tensor, shape: Sequence[Any], *, valid_shape: Sequence[Any] | None = None, inplace: bool = False) -> Tensor:
    """The same elements, row-major, in another shape (one entry may be -1).

    With ``inplace=True`` the result is the same memory: writing into it writes into ``input``; sizes may then be symbolic.
    ``valid_shape`` says what of the result is valid. Raises ``TypeError`` and ``ValueError`` for shapes that cannot be.

    >>> import pypto
    >>> def flat(x, out):
    ...     out[:] = pypto.reshape(x, [-1]) + 1.0
    """
    tracer = current_tracer()
    if not inplace:
        if isinstance(shape, Sequence) and not isinstance(shape, str):
            numbers = [number_of(size) for size in shape]
            if any(isinstance(number, ir.Expression) for number in numbers):
                raise ReshapeNeedsIntegers(shape=[str(size) for size in shape])
        return OPERATIONS["reshape"].function(input, shape, valid_shape=valid_shape)
    if valid_shape is not None:
        raise ReshapeInplace()
    if not tracer.is_tensor(input):
        raise ViewArguments(problem=f"reshape() input must be a tensor, got {type(input).__name__}")
    sizes = inplace_sizes(tracer.type_of(input), shape)
    tracer.checked(input)
    if input._storage is None:
        return tracer.alias_of_value(input, sizes)
    tracer.builder.span = tracer.span
    made = tracer.storage_handle(tracer.builder.alias(input._storage, sizes))
    made._frozen = input._frozen
    return made


def inplace_sizes(type: TensorType, shape: Any) -> tuple[Scalar, ...]:
    """The target shape with -1 worked out; the number of elements must agree where both are known."""
    from pypto.ir.simplify_symbols import simplify

    sizes = [number_of(size) for size in shape] if isinstance(shape, Sequence) and not isinstance(shape, str) else [None]
    if any(size is None for size in sizes) or sum(size == -1 for size in sizes if isinstance(size, int)) > 1:
        raise ReshapeSize(got=repr(shape), expected=sizes_text(type.shape))
    total, known = product(type.shape), product([s for s in sizes if not (isinstance(s, int) and s == -1)])  # type: ignore[misc]
    found = tuple(simplify(ir.floordiv(total, known)) if isinstance(s, int) and s == -1 else s for s in sizes)
    difference = simplify(ir.sub(product(found), total))  # type: ignore[arg-type]
    if isinstance(difference, int) and difference != 0:
        raise ReshapeSize(got=sizes_text(found), expected=sizes_text(type.shape))  # type: ignore[arg-type]
    return found  # type: ignore[return-value]


def product(sizes: Sequence[Scalar]) -> Scalar:
    total: Scalar = 1
    for size in sizes:
        total = ir.mul(total, size)
    return total


# -- printing ------------------------------------------------------------------------------------------------------------------------


def print(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """Print when the kernel runs, every time the statement is reached: text, numbers, symbolic scalars, tensors (their valid part).

    >>> import pypto
    >>> def shows(x, out):
    ...     for i in pypto.loop(2):
    ...         pypto.print("row", i, x[i : i + 1, :])
    ...     out[:] = x
    """
    tracer = current_tracer()
    text: list[str] = [""]
    operands: list[Any] = []
    for position, value in enumerate(values):
        text[-1] += sep if position else ""
        operand = _printed(tracer, value)
        if operand is None:
            text[-1] += str(value)
        else:
            operands.append(operand)
            text.append("")
    text[-1] += end.removesuffix("\n")  # the engines end the line
    tracer.builder.span = tracer.span
    tracer.builder.effect("print", *operands, text=tuple(text))


def _printed(tracer: Tracer, value: Any) -> Any:
    """The operand that stands for a value, or None for text that is known now."""
    if isinstance(value, Tensor):
        return tracer.value_of(value)
    if isinstance(value, SymbolicScalar) and not value.is_concrete():
        return value.scalar
    if hasattr(value, "__next__"):
        raise NotIterable(what="a generator", advice="print a list")
    return None
