"""Comparisons, choices and logic (tensor API sections 9.3, 9.4 and 9.13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import warn
from pypto.dtypes import DataType
from pypto.elements import Element
from pypto.errors.operations import (
    ConditionNotBool,
    FloatScalarOnInteger,
    NegativeForUnsigned,
    NotATensor,
    SelectDtypesDiffer,
)
from pypto.ir.program import Literal, Operand, TensorType
from pypto.ops import rules
from pypto.ops.arguments import dtype_of, integral, is_tensor, kind_name, literal, pair, scalar_of, tensor, type_of
from pypto.ops.dtype_sets import ALL_FLOATS, B16, BOOL, F16, F32, FLOATS, I8, I16, I32, INTEGERS, NUMBERS, U8, U16, U32
from pypto.ops.families import composite, elementwise
from pypto.ops.numerics import exact
from pypto.ops.table import Kind, Unit, Vectors, operation, record, recorder

# -- comparisons --------------------------------------------------------------------------------------------------------------


def comparison(name: str, ufunc: np.ufunc, operator: str, reflected: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return elementwise(
        name,
        dtypes=NUMBERS,
        chip=(F16, F32),
        result=BOOL,
        equal_ranks=True,
        empty=False,
        compute=exact(ufunc),
        lower=lambda b, x, y: b.compare(name, x, y),
        instruction="VCMP",
        method=True,
        operators=(operator,),
    )


def _compare(name: str, input: Any, other: Any) -> Any:
    """Record a comparison. BOOL tensors are compared as INT8."""
    first, second = pair(name, _as_number(input), _whole_number(name, input, _as_number(other)))
    number = scalar_of(other) if not is_tensor(other) else None
    if isinstance(number, int):
        span = getattr(recorder(), "span", None)
        warn(f"{name}(): the default chip compares with floats only; write {number}.0", span, portability=True)
    return record(name, [first, second])


def _as_number(thing: Any) -> Any:
    """BOOL tensors as INT8."""
    from pypto.ops.casting import cast

    return cast(thing, I8) if is_tensor(thing) and dtype_of(thing) is BOOL else thing


def _whole_number(name: str, input: Any, other: Any) -> Any:
    """A whole float for an integer tensor becomes an int; a fraction has no place there."""
    if isinstance(other, float) and is_tensor(input) and not dtype_of(input).is_float:
        if not integral(other):
            raise FloatScalarOnInteger(operation=name, dtype=dtype_of(input).name, value=other)
        return int(other)
    return other


@comparison("gt", np.greater, "__gt__", "__lt__")
def gt(input: Any, other: Any) -> Any:
    """``input > other`` as BOOL; false where either is NaN. ``other``: a tensor of equal rank, an ``Element`` or a number.

    >>> evaluate(gt, [1.0, 3.0], 2.0).tolist()
    [False, True]
    """
    return _compare("gt", input, other)


@composite("greater", method=True)
def greater(input: Any, other: Any) -> Any:
    """The same as ``gt``.

    >>> evaluate(greater, [1.0, 3.0], 2.0).tolist()
    [False, True]
    """
    return gt(input, other)


@comparison("ge", np.greater_equal, "__ge__", "__le__")
def ge(input: Any, other: Any) -> Any:
    """``input >= other`` as BOOL; false where either is NaN.

    >>> evaluate(ge, [1.0, 2.0], 2.0).tolist()
    [False, True]
    """
    return _compare("ge", input, other)


@comparison("eq", np.equal, "__eq__", "__eq__")
def eq(input: Any, other: Any) -> Any:
    """``input == other`` as BOOL; false where either is NaN.

    >>> evaluate(eq, [1.0, 2.0], 2.0).tolist()
    [False, True]
    """
    return _compare("eq", input, other)


@comparison("ne", np.not_equal, "__ne__", "__ne__")
def ne(input: Any, other: Any) -> Any:
    """``input != other`` as BOOL; true where either is NaN.

    >>> evaluate(ne, [1.0, 2.0], 2.0).tolist()
    [True, False]
    """
    return _compare("ne", input, other)


@comparison("lt", np.less, "__lt__", "__gt__")
def lt(input: Any, other: Any) -> Any:
    """``input < other`` as BOOL; false where either is NaN.

    >>> evaluate(lt, [1.0, 3.0], 2.0).tolist()
    [True, False]
    """
    return _compare("lt", input, other)


@comparison("le", np.less_equal, "__le__", "__ge__")
def le(input: Any, other: Any) -> Any:
    """``input <= other`` as BOOL; false where either is NaN.

    >>> evaluate(le, [1.0, 2.0, 3.0], 2.0).tolist()
    [True, True, False]
    """
    return _compare("le", input, other)


# -- where --------------------------------------------------------------------------------------------------------------------


def _infer_where(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    condition, *choices = operands
    types = rules.types_of(operands)
    if types[0].dtype is not BOOL:
        raise ConditionNotBool(operation="where", dtype=types[0].dtype.name)
    for type in types[1:]:
        rules.check_dtype("where", type.dtype, (*NUMBERS, BOOL))
    for type in types:
        rules.check_rank("where", type)
    dtypes = [c.dtype if isinstance(c, Literal) else c.type.dtype for c in choices]  # type: ignore[union-attr]
    if dtypes[0] is not dtypes[1]:
        raise SelectDtypesDiffer(first=dtypes[0].name, second=dtypes[1].name, hint=dtypes[0].name)
    rules.check_equal_ranks("where", types)
    shape, valid = rules.broadcast("where", types)
    return [TensorType(dtypes[0], shape, valid)]


@operation(
    kind=Kind.ELEMENTWISE,
    infer=_infer_where,
    compute=np.where,
    lower=lambda b, condition, x, y: b.select(condition, x, y),
    npu=Unit("V", "VSEL"),
    dtypes=(BOOL,),
    method=True,
)
def where(condition: Any, input: Any, other: Any) -> Any:
    """``input`` where ``condition`` (BOOL) holds, else ``other``; tensors of equal rank, broadcast.

    A float counts as an FP32 element; wrap it in ``Element`` for other types. An int takes the other side's type.

    >>> evaluate(where, np.array([True, False]), [1.0, 2.0], 0.0).tolist()
    [1.0, 0.0]
    """
    first, second = _known_dtype(input), _known_dtype(other)
    if first is not None and second is not None and first is not second:
        raise SelectDtypesDiffer(first=first.name, second=second.name, hint=(first if is_tensor(input) else second).name)
    _refuse_negative(input, second)
    _refuse_negative(other, first)
    if is_tensor(condition) and dtype_of(condition) is not BOOL:
        raise ConditionNotBool(operation="where", dtype=dtype_of(condition).name)
    recorder()
    if not is_tensor(condition):
        raise NotATensor(operation="where", argument="condition", kind=kind_name(condition))
    dtype = first or second or F32
    return record("where", [condition, _choice("input", input, dtype), _choice("other", other, dtype)])


def _known_dtype(thing: Any) -> DataType | None:
    if is_tensor(thing):
        return dtype_of(thing)
    if isinstance(thing, Element):
        return thing.dtype
    return F32 if isinstance(thing, float) else None


def _refuse_negative(thing: Any, other: DataType | None) -> None:
    """Negative numbers have no place in unsigned types."""
    dtype = thing.dtype if isinstance(thing, Element) else other
    value = thing.value if isinstance(thing, Element) else thing
    if isinstance(value, (int, float)) and dtype is not None and dtype.is_unsigned and value < 0:
        raise NegativeForUnsigned(operation="where", value=value, dtype=dtype.name)


def _choice(argument: str, thing: Any, dtype: DataType) -> Any:
    return thing if is_tensor(thing) else literal("where", argument, thing, dtype, wraps=False)


# -- logic --------------------------------------------------------------------------------------------------------------------

TRUTHFUL = (*NUMBERS, BOOL)
LOGICAL_CHIP = (F32, F16, B16, I8, U8, BOOL, I16, I32)


def _truth(name: str, argument: str, thing: Any) -> Any:
    """``thing != 0`` as BOOL."""
    from pypto.ops.casting import cast

    handle = tensor(name, argument, thing)
    rules.check_dtype(name, dtype_of(handle), TRUTHFUL)
    return handle if dtype_of(handle) is BOOL else cast(handle, BOOL)


def logical(name: str, ufunc: np.ufunc, lower: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    unit = f"V{name[8:].upper()}"
    return elementwise(name, dtypes=(BOOL,), equal_ranks=True, compute=ufunc, lower=lower, method=True, instruction=unit)


@logical("logical_and", np.logical_and, lambda b, x, y: b.mask_and(x, y))
def logical_and(input: Any, other: Any) -> Any:
    """Both non-zero, as BOOL; the operands' types may differ, their ranks not. NaN counts as true.

    >>> evaluate(logical_and, [1.0, 0.0], [1.0, 1.0]).tolist()
    [True, False]
    """
    return record("logical_and", [_truth("logical_and", "input", input), _truth("logical_and", "other", other)])


@logical("logical_or", np.logical_or, lambda b, x, y: b.mask_or(x, y))
def logical_or(input: Any, other: Any) -> Any:
    """Either non-zero, as BOOL; the operands' types may differ, their ranks not. NaN counts as true.

    >>> evaluate(logical_or, [1.0, 0.0], [0.0, 0.0]).tolist()
    [True, False]
    """
    return record("logical_or", [_truth("logical_or", "input", input), _truth("logical_or", "other", other)])


def _lower_not(b: Vectors, x: Any) -> Any:
    return b.mask_not(x) if b.dtype is BOOL else b.compare("eq", x, b.constant(0))


@elementwise(
    "logical_not",
    dtypes=TRUTHFUL,
    chip=(F32, F16, B16, BOOL, I8, U8, I16, U16, I32, U32),
    result=BOOL,
    compute=exact(lambda x: x == 0),
    lower=_lower_not,
    instruction="VNOT",
    method=True,
)
def logical_not(input: Any) -> Any:
    """``input == 0`` as BOOL; NaN gives false.

    >>> evaluate(logical_not, [1.0, 0.0]).tolist()
    [False, True]
    """
    return record("logical_not", [tensor("logical_not", "input", input)])


# -- kinds of numbers ---------------------------------------------------------------------------------------------------------


@elementwise(
    "isnan",
    dtypes=ALL_FLOATS,
    chip=FLOATS,
    result=BOOL,
    compute=exact(np.isnan),
    lower=lambda b, x: b.compare("uno", x, x),
    instruction="VCMP",
    method=True,
)
def isnan(self: Any) -> Any:
    """Whether each element is NaN, as BOOL.

    >>> evaluate(isnan, [1.0, float("nan")]).tolist()
    [False, True]
    """
    return record("isnan", [tensor("isnan", "self", self)])


@elementwise(
    "isfinite",
    dtypes=ALL_FLOATS,
    chip=FLOATS,
    result=BOOL,
    compute=exact(np.isfinite),
    lower=lambda b, x: b.compare("lt", b.abs(x), b.constant(float("inf"))),
    instruction="VCMP",
    method=True,
)
def isfinite(self: Any) -> Any:
    """Whether each element is neither NaN nor infinite, as BOOL; integers are all finite.

    >>> evaluate(isfinite, [1.0, float("inf")]).tolist()
    [True, False]
    """
    handle = tensor("isfinite", "self", self)
    if dtype_of(handle) in INTEGERS:
        type = type_of(handle)
        return record("full", [Literal(True, BOOL)], {"shape": type.shape, "valid": type.valid})
    return record("isfinite", [handle])
