"""Shapes of a launch against the annotations, and what a kernel is compiled for (tile API section 2.4).

A fixed axis must match, ``DYNAMIC`` becomes a run-time extent named ``__pypto_dyn_<parameter>_<axis>``, ``STATIC`` (and a final ``...``)
a constant that is part of the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto_pro.errors.launching import (
    ShapesMapping,
    ShapesMissing,
    ShapesUnknown,
    StaticOfNone,
    TensorAxis,
    TensorAxisPositive,
    TensorRank,
)
from pypto_pro.frontend.signature import KernelParameter, Signature
from pypto_pro.language.typing import DYNAMIC, STATIC

Shape = tuple[Any, ...]


def dynamic_name(parameter: str, axis: int) -> str:
    """Name of the run-time extent of an axis.

    >>> dynamic_name("x", 1)
    '__pypto_dyn_x_1'
    """
    return f"__pypto_dyn_{parameter}_{axis}"


def policy_of(parameter: KernelParameter, rank: int) -> Shape:
    """The items of the annotation for a tensor of ``rank``: a final ``...`` stands for STATIC axes."""
    if not parameter.open_ended:
        return parameter.shape
    head = parameter.shape[:-1]
    return (*head, *([STATIC] * (rank - len(head))))


def bind_shape(kernel: str, parameter: KernelParameter, shape: Sequence[int] | None) -> Shape:
    """The shape that a parameter is compiled for, given that of its argument (None for a null tensor)."""
    if shape is None:
        return _of_null(kernel, parameter)
    policy = policy_of(parameter, len(shape))
    facts: dict[str, Any] = {"kernel": kernel, "name": parameter.name}
    if len(policy) != len(shape):
        raise TensorRank(expected=len(policy), got=len(shape), **facts)
    found: list[Any] = []
    for axis, (item, size) in enumerate(zip(policy, shape, strict=True)):
        if size <= 0:
            raise TensorAxisPositive(axis=axis, got=size, **facts)
        if item is not DYNAMIC and item is not STATIC and item != size:
            raise TensorAxis(axis=axis, expected=item, got=size, **facts)
        found.append(dynamic_name(parameter.name, axis) if item is DYNAMIC else int(size))
    return tuple(found)


def _of_null(kernel: str, parameter: KernelParameter) -> Shape:
    found: list[Any] = []
    for axis, item in enumerate(parameter.shape):
        if item is STATIC:
            raise StaticOfNone(kernel=kernel, name=parameter.name, axis=axis)
        if item is not Ellipsis:
            found.append(dynamic_name(parameter.name, axis) if item is DYNAMIC else item)
    return tuple(found)


def bind_static(signature: Signature, static_shapes: Mapping[str, Sequence[int]] | None = None) -> dict[str, Shape]:
    """Shapes to compile for without a launch: ``static_shapes`` gives those of parameters with STATIC axes."""
    if static_shapes is not None and not isinstance(static_shapes, Mapping):
        raise ShapesMapping(got=type(static_shapes).__name__)
    given = dict(static_shapes or {})
    tensors = {one.name: one for one in signature.parameters if one.kind == "tensor"}
    unknown = sorted(set(given) - set(tensors))
    if unknown:
        raise ShapesUnknown(names=", ".join(unknown))
    open_ones = [name for name, one in tensors.items() if (STATIC in one.shape or one.open_ended) and name not in given]
    if open_ones:
        raise ShapesMissing(names=", ".join(open_ones))
    return {name: bind_shape(signature.name, one, given[name]) if name in given else _named(one) for name, one in tensors.items()}


def _named(parameter: KernelParameter) -> Shape:
    return tuple(dynamic_name(parameter.name, axis) if item is DYNAMIC else item for axis, item in enumerate(parameter.shape))


def static_signature(signature: Signature, shapes: Mapping[str, Shape]) -> tuple[tuple[int, int, int], ...]:
    """(parameter index, axis, size) of every STATIC axis: the part of the key that shapes make."""
    found = []
    for index, one in enumerate(signature.parameters):
        if one.kind != "tensor":
            continue
        policy = policy_of(one, len(shapes[one.name]))
        found += [(index, axis, shapes[one.name][axis]) for axis, item in enumerate(policy) if item is STATIC]
    return tuple(found)
