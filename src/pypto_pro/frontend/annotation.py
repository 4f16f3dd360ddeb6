"""Annotations of parameters and variables: from syntax to types, and checks of values against them."""

from __future__ import annotations

import ast
from typing import Any

from pypto.dtypes import DataType
from pypto_pro.errors.annotations import NotAnnotatedAs
from pypto_pro.errors.base import ParserTypeError
from pypto_pro.errors.calls import HelperPolicy, ReturnAnnotated
from pypto_pro.frontend import scalars
from pypto_pro.frontend.state import Frame
from pypto_pro.frontend.values import (
    Number,
    PointerHandle,
    Static,
    TensorHandle,
    TileHandle,
    as_number,
    describe,
    static_number,
)
from pypto_pro.language.typing import STATIC, Ptr, Scalar, ShapePolicy, Tensor, Tile


def evaluate(reader: Any, node: ast.expr) -> Any:
    """An annotation as a Python object, names resolved as in the function; None where it cannot be (then nothing is checked)."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return None
    try:
        return reader.python_value(node)
    except ParserTypeError:  # pl.Tensor[…] and its kin, written wrongly
        raise
    except Exception:  # an annotation that means nothing to us is the user's own affair
        return None


def check_parameters(reader: Any, frame: Frame) -> None:
    """Arguments of a helper against the annotations it has."""
    arguments = frame.code.node.args
    for one in (*arguments.posonlyargs, *arguments.args):
        if one.annotation is None:
            continue
        annotation = evaluate(reader, one.annotation)
        value = frame.env[one.arg]
        frame.env[one.arg] = checked(annotation, one.arg, value, "parameter", frame.code.name)


def check_value(reader: Any, node: ast.expr, name: str, value: Any, what: str) -> Any:
    return checked(evaluate(reader, node), name, value, what, "")


def check_return(reader: Any, frame: Frame, value: Any) -> Any:
    returns = getattr(frame.code.node, "returns", None)
    if returns is None:
        return value
    annotation = evaluate(reader, returns)
    if annotation is None and isinstance(returns, ast.Constant) and returns.value is None:
        return value
    if not fits(annotation, value):
        raise ReturnAnnotated(name=frame.code.name, expected=ast.unparse(returns), got=describe(value))
    return converted(annotation, value)


def checked(annotation: Any, name: str, value: Any, what: str, helper: str) -> Any:
    """The value as the annotation has it; raises where it does not fit."""
    if not fits(annotation, value):
        raise NotAnnotatedAs(what=what, name=name, expected=_text(annotation), got=describe(value))
    if isinstance(annotation, Tensor) and isinstance(value, TensorHandle):
        check_policy(annotation, name, value, helper)
    return converted(annotation, value)


def _text(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)


def fits(annotation: Any, value: Any) -> bool:
    """Whether a value is of the annotated kind; what means nothing here fits everything."""
    if isinstance(annotation, Tensor) or annotation is Tensor:
        return isinstance(value, TensorHandle)
    if isinstance(annotation, Ptr) or annotation is Ptr:
        return isinstance(value, PointerHandle) and (not isinstance(annotation, Ptr) or annotation.dtype is value.type.dtype)
    if isinstance(annotation, Tile) or annotation is Tile:
        return isinstance(value, TileHandle) and (not isinstance(annotation, Tile) or _tile_fits(annotation, value))
    if isinstance(annotation, (DataType, Scalar)):
        number = as_number(value)
        dtype = annotation if isinstance(annotation, DataType) else annotation.dtype
        return number is not None and (dtype.is_float or not number.dtype.is_float) and _number_fits(value, number, dtype)
    return True


def _tile_fits(annotation: Tile, value: TileHandle) -> bool:
    shape = annotation.shape
    same_shape = not isinstance(shape, (list, tuple)) or tuple(shape) == value.type.shape
    return same_shape and annotation.dtype is value.type.dtype


def _number_fits(value: Any, number: Number, dtype: DataType) -> bool:
    """Literals fit every type of their kind; run-time scalars keep theirs, INDEX fits every integer."""
    if static_number(value) is not None or number.dtype is dtype or number.dtype is DataType.DT_BOOL:
        return True
    return number.dtype.is_float is dtype.is_float and number.dtype.bits <= max(dtype.bits, 64)


def converted(annotation: Any, value: Any) -> Any:
    dtype = annotation.dtype if isinstance(annotation, Scalar) else annotation
    number = as_number(value)
    if not isinstance(dtype, DataType) or number is None or isinstance(value, Static):
        return value
    return scalars.convert(number, dtype)


def check_policy(annotation: Tensor, name: str, value: TensorHandle, helper: str) -> None:
    """Rank, element type, fixed and STATIC axes of a helper's tensor parameter."""
    facts = {"name": helper or name, "parameter": name}
    if isinstance(annotation.dtype, DataType) and annotation.dtype is not value.type.dtype:
        raise HelperPolicy(what="the dtype", expected=annotation.dtype.name, got=value.type.dtype.name, **facts)
    shape = list(annotation.shape) if isinstance(annotation.shape, (list, tuple)) else []
    rank = len(value.type.shape)
    if shape and shape[-1] is Ellipsis:
        shape = shape[:-1] + [STATIC] * (rank - len(shape) + 1)
    if len(shape) != rank:
        raise HelperPolicy(what="the rank", expected=len(shape), got=rank, **facts)
    for axis, (item, known) in enumerate(zip(shape, value.type.shape, strict=True)):
        if item is STATIC and not isinstance(known, int):
            raise HelperPolicy(what=f"axis {axis}", expected="STATIC", got="a run-time extent", **facts)
        if not isinstance(item, ShapePolicy) and isinstance(item, int) and item != known:
            raise HelperPolicy(what=f"axis {axis}", expected=item, got=known, **facts)
