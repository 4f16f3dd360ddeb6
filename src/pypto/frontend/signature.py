"""What a kernel's parameters are: tensors with their marks, run-time scalars, constants; and calls bound to them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from pypto.dtypes import DataType
from pypto.enums import StatusType
from pypto.errors.arguments import (
    DtypeMismatch,
    MissingArgument,
    RankMismatch,
    RepeatedArgument,
    ShapeMismatch,
    TensorAfterConstant,
    TooFewTensors,
    TooManyArguments,
    UnknownKeywords,
)
from pypto.errors.base import UserError
from pypto.frontend.interop import HostTensor
from pypto.frontend.python import code_of, refuse_variable_arguments
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor

D = DataType
# A uint8 buffer may stand for these (tensor API section 6.3).
RAW_BYTES = (D.DT_HF8, D.DT_FP4_E2M1X2, D.DT_FP4_E1M2X2, D.DT_FP4_E2M1, D.DT_FP4_E1M2)
TENSOR, SCALAR, CONSTANT, AUTO = "tensor", "scalar", "constant", "auto"


@dataclass(frozen=True)
class Parameter:
    """One parameter: its kind, its description (of a tensor), its default (``inspect.Parameter.empty`` when there is none)."""

    name: str
    kind: str
    default: Any
    expected: Tensor | None = None
    by_position: bool = True
    by_name: bool = True


def parameters_of(function: FunctionType, local_names: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The parameters of a kernel, in order; ``*args`` and ``**kwargs`` are refused."""
    named = list(inspect.signature(function).parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in named):
        refuse_variable_arguments(code_of(function))
    kinds = {p.name: _declared(function, p.annotation, p.name, local_names) for p in named}
    any_tensor = any(kind == TENSOR for kind, _ in kinds.values())
    made = tuple(_parameter(p, *kinds[p.name], any_tensor) for p in named)
    _check_order(function.__name__, made)
    return made


def _parameter(p: inspect.Parameter, kind: str, expected: Tensor | None, any_tensor: bool) -> Parameter:
    if kind == AUTO and any_tensor:
        kind = CONSTANT
    return Parameter(p.name, kind, p.default, expected, p.kind is not p.KEYWORD_ONLY, p.kind is not p.POSITIONAL_ONLY)


def _declared(function: FunctionType, annotation: Any, name: str, local_names: Mapping[str, Any]) -> tuple[str, Tensor | None]:
    if annotation is inspect.Parameter.empty:
        return AUTO, None
    if isinstance(annotation, str):
        annotation = _evaluated(function, annotation, local_names)
    if annotation is Tensor:
        return TENSOR, None
    if annotation is SymbolicScalar or isinstance(annotation, SymbolicScalar):
        return SCALAR, None
    if hasattr(annotation, "to_tensor"):
        return TENSOR, annotation.to_tensor(name)
    return CONSTANT, None


def _evaluated(function: FunctionType, text: str, local_names: Mapping[str, Any]) -> Any:
    """An annotation written as a string; one that cannot be evaluated describes a constant."""
    cells = dict(zip(function.__code__.co_freevars, (_held(c) for c in function.__closure__ or ()), strict=True))
    try:
        return eval(text, dict(function.__globals__), {**local_names, **cells})
    except UserError:
        raise
    except Exception:  # the annotation is the user's code, which may raise anything
        return None


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _check_order(kernel: str, parameters: tuple[Parameter, ...]) -> None:
    before = ""
    for position, parameter in enumerate(parameters):
        if parameter.kind == TENSOR and before and parameter.by_position:
            raise TensorAfterConstant(kernel=kernel, name=parameter.name, before=before)
        if parameter.kind in (CONSTANT, SCALAR) and not (position == 0 and parameter.name == "self"):
            before = before or parameter.name


# -- calls -----------------------------------------------------------------------------------------------------------------------


def bound(kernel: str, parameters: tuple[Parameter, ...], arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> list[Any]:
    """The value of every parameter of a call."""
    positional = [p for p in parameters if p.by_position]
    if len(arguments) > len(positional):
        raise TooManyArguments(kernel=kernel, expected=len(positional), got=len(arguments))
    given = {p.name: value for p, value in zip(positional, arguments, strict=False)}
    known = {p.name for p in parameters if p.by_name}
    unknown = [name for name in keywords if name not in known]
    if unknown:
        raise UnknownKeywords(kernel=kernel, names=unknown, known=", ".join(sorted(known)))
    for name, value in keywords.items():
        if name in given:
            raise RepeatedArgument(kernel=kernel, name=name)
        given[name] = value
    return [given[p.name] if p.name in given else _default(kernel, parameters, p, given) for p in parameters]


def _default(kernel: str, parameters: tuple[Parameter, ...], parameter: Parameter, given: Mapping[str, Any]) -> Any:
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default
    if parameter.kind == TENSOR:
        tensors = [p.name for p in parameters if p.kind == TENSOR]
        got = sum(name in given for name in tensors)
        raise TooFewTensors(kernel=kernel, expected=len(tensors), got=got, names=", ".join(tensors))
    raise MissingArgument(kernel=kernel, name=parameter.name)


# -- annotation against argument ----------------------------------------------------------------------------------------------------


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def checked_shape(kernel: str, parameter: Parameter, index: int, host: HostTensor) -> tuple[Any, ...]:
    """Per axis: an int (compiled in), or a mark for an axis of any size (its name, or its number)."""
    expected = parameter.expected
    marks = list(expected.marks or []) if expected is not None else []
    facts: dict[str, Any] = {"kernel": kernel, "ordinal": ordinal(index + 1), "name": parameter.name}
    if expected is not None and expected.explicit_dtype:
        _check_dtype(expected.wanted_dtype, host, facts)
    open_end = bool(marks) and marks[-1] is ...
    fixed = marks[:-1] if open_end else marks
    if marks and (len(host.shape) < len(fixed) if open_end else len(host.shape) != len(fixed)):
        raise RankMismatch(got=len(host.shape), expected=f"{len(fixed)}{' or more' if open_end else ''}", **facts)
    fixed += [StatusType.STATIC] * (len(host.shape) - len(fixed))
    return tuple(_axis(mark, axis, host, marks, facts) for axis, mark in enumerate(fixed))


def _axis(mark: Any, axis: int, host: HostTensor, marks: list[Any], facts: Mapping[str, Any]) -> Any:
    size = host.shape[axis]
    if isinstance(mark, SymbolicScalar):
        return str(mark)
    if mark in (StatusType.DYNAMIC, StatusType.DYN) or (isinstance(mark, int) and mark == -1):
        return None
    if mark is StatusType.STATIC:
        return None if axis in host.dynamic else size
    if int(mark) != size:
        shown = [m.name if isinstance(m, StatusType) else m for m in marks]
        raise ShapeMismatch(got=list(host.shape), expected=str(shown).replace("Ellipsis", "..."), axis=axis, **facts)
    return size


def _check_dtype(expected: DataType, host: HostTensor, facts: Mapping[str, Any]) -> None:
    if host.dtype is expected:
        return
    if host.dtype is D.DT_UINT8 and expected in RAW_BYTES:
        host.dtype = expected
        host._array = None
        if expected in (D.DT_FP4_E2M1, D.DT_FP4_E1M2):
            host.shape = (*host.shape[:-1], host.shape[-1] * 2)
        return
    raise DtypeMismatch(got=host.dtype.name, expected=expected.name, **facts)
