"""The head of a kernel: what each parameter is (tile API sections 1.6, 2.3, 2.4).

Annotations are read from the source, so that postponed ones, symbols of ``datatype`` and names of the decorator's scope all work.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pypto.cores.enums import TensorLayout
from pypto.cores.types import Struct as StructType
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.frontend.python import Code
from pypto.ops.tile.checks import STORAGE_ONLY
from pypto_pro import language
from pypto_pro.errors.annotations import (
    DtypeExpected,
    EllipsisPlace,
    LayoutExpected,
    ManyTilings,
    MissingAnnotation,
    NestedTuple,
    ReturnAnnotation,
    ShapeItem,
    ShapeList,
    StorageOnlyScalar,
    TilingNotLast,
    TupleAnnotation,
    UnknownAnnotation,
    UnknownDtype,
    UnknownLayout,
    UnknownShapeVariable,
)
from pypto_pro.errors.base import ParserError
from pypto_pro.frontend import tiling
from pypto_pro.language.typing import Ptr, Scalar, ShapePolicy, Tensor, Tile


@dataclass(frozen=True)
class KernelParameter:
    """A parameter: ``kind`` is tensor, pointer, scalar or tiling. ``shape`` holds numbers, policies, and a final ``...``."""

    name: str
    kind: str
    dtype: DataType | None = None
    shape: tuple[Any, ...] = ()
    layout: TensorLayout = TensorLayout.ND
    tiling: type | None = None
    fields: StructType | None = None
    span: Span | None = None

    @property
    def open_ended(self) -> bool:
        return bool(self.shape) and self.shape[-1] is Ellipsis


@dataclass(frozen=True)
class Signature:
    name: str
    parameters: tuple[KernelParameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.parameters)


def read_signature(code: Code, scope: Mapping[str, Any], *, lenient: bool = False) -> Signature:
    """The parameters of a kernel; raises for a head that the language does not have.

    ``lenient``: ``pl.function`` also takes tiles, leaves out ``self`` and may return values.
    """
    node = code.node
    arguments = node.args
    found = []
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if lenient and one.arg == "self" and one.annotation is None:
            continue
        try:
            found.append(_parameter(one, code, scope, lenient))
        except ParserError as error:
            if error.place is None:
                error.place = code.span(one)
            raise
    _check_tiling(found, code)
    returns = getattr(node, "returns", None)
    if not lenient and returns is not None and not (isinstance(returns, ast.Constant) and returns.value is None):
        raise ReturnAnnotation(got=ast.unparse(returns), span=code.span(returns))
    return Signature(code.name, tuple(found))


def _check_tiling(found: list[KernelParameter], code: Code) -> None:
    tilings = [one for one in found if one.kind == "tiling"]
    if len(tilings) > 1:
        raise ManyTilings(first=tilings[0].name, second=tilings[1].name, span=tilings[1].span)
    if tilings and found[-1] is not tilings[0]:
        raise TilingNotLast(name=tilings[0].name, span=tilings[0].span)


def _parameter(one: ast.arg, code: Code, scope: Mapping[str, Any], lenient: bool = False) -> KernelParameter:
    name = one.arg
    if one.annotation is None:
        raise MissingAnnotation(name=name)
    node = _unquoted(one.annotation)
    span = code.span(one)
    _refuse_tuples(name, node)
    if isinstance(node, ast.Subscript) and _value(node.value, scope) is Tensor:
        return _tensor(name, node, scope, span)
    value = _value(node, scope)
    if isinstance(value, Tensor):
        return _tensor_of(name, value, span)
    if isinstance(value, Ptr):
        return KernelParameter(name, "pointer", _dtype(name, value.dtype), span=span)
    if isinstance(value, (DataType, Scalar)):
        return KernelParameter(name, "scalar", _scalar(name, value), span=span)
    if lenient and isinstance(value, Tile):
        return KernelParameter(name, "tile", _dtype(name, value.dtype), tuple(value.shape), span=span)
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        fields = tiling.fields_of(value, scope)
        return KernelParameter(name, "tiling", tiling=value, fields=fields, span=span)
    text = ast.unparse(node)
    if value is MISSING and text.rpartition(".")[2].startswith("DT_"):
        raise UnknownDtype(name=name, got=text)
    raise UnknownAnnotation(name=name, got=text)


def _unquoted(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        inner = ast.parse(node.value, mode="eval").body
        for part in ast.walk(inner):  # places of a quoted annotation are those of the quote
            if hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return inner
    return node


def _refuse_tuples(name: str, node: ast.expr) -> None:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).lower().rpartition(".")[2] == "tuple":
        nested = any(
            isinstance(part, ast.Subscript) and ast.unparse(part.value).lower().rpartition(".")[2] == "tuple"
            for part in ast.walk(node.slice)
        )
        raise NestedTuple(name=name) if nested else TupleAnnotation(name=name)


# -- values of annotation parts ---------------------------------------------------------------------------------------------


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def scope_of(function: Any, cells: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    """Names that annotations and bodies see: functions around, the decorator's frame, globals, builtins."""
    return ChainMap(dict(cells), dict(snapshot), function.__globals__, {"pl": language}, vars(builtins))  # type: ignore[arg-type]


def _value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """A part of an annotation; ``MISSING`` where it has no value."""
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<annotation>", "eval")
    names = {name: scope[name] for name in code.co_names if name in scope}
    try:
        return eval(code, {"__builtins__": {}}, names)
    except ParserError:
        raise
    except Exception:  # the caller says what is wrong with it
        return MISSING


def _tensor(name: str, node: ast.Subscript, scope: Mapping[str, Any], span: Span) -> KernelParameter:
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(items) < 2:
        return _tensor_of(name, _raising(node, scope), span)
    shape = [_shape_item(name, part, scope) for part in _shape_parts(name, items[0], scope)]
    dtype = _value(items[1], scope)
    if dtype is MISSING:
        raise UnknownDtype(name=name, got=ast.unparse(items[1]))
    layout = None
    for part in items[2:]:
        third = _value(part, scope)
        if third is MISSING:
            raise UnknownLayout(name=name, got=ast.unparse(part))
        layout = third if not isinstance(third, language.MemRef) else layout
    return _tensor_of(name, Tensor(shape, dtype, layout), span)


def _raising(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<annotation>", "eval"), dict(scope))


def _shape_parts(name: str, node: ast.expr, scope: Mapping[str, Any]) -> list[ast.expr]:
    if isinstance(node, (ast.List, ast.Tuple)):
        return list(node.elts)
    value = _value(node, scope)
    if not isinstance(value, (list, tuple)):
        raise ShapeList(name=name, got=ast.unparse(node))
    return [ast.copy_location(ast.Subscript(node, ast.Constant(i), ast.Load()), node) for i in range(len(value))]


def _shape_item(name: str, node: ast.expr, scope: Mapping[str, Any]) -> Any:
    value = _value(node, scope)
    if value is MISSING:
        raise UnknownShapeVariable(name=name, got=ast.unparse(node))
    return value


def _tensor_of(name: str, value: Tensor, span: Span) -> KernelParameter:
    if not isinstance(value.shape, (list, tuple)):
        raise ShapeList(name=name, got=repr(value.shape))
    shape = tuple(value.shape)
    for axis, item in enumerate(shape):
        if item is Ellipsis:
            if axis != len(shape) - 1:
                raise EllipsisPlace(name=name)
        elif not isinstance(item, ShapePolicy) and (isinstance(item, bool) or not isinstance(item, int) or item <= 0):
            raise ShapeItem(name=name, axis=axis, got=repr(item))
    if value.layout is not None and not isinstance(value.layout, TensorLayout):
        raise LayoutExpected(name=name, got=repr(value.layout))
    return KernelParameter(name, "tensor", _dtype(name, value.dtype), shape, value.layout or TensorLayout.ND, span=span)


def _dtype(name: str, value: Any) -> DataType:
    if not isinstance(value, DataType):
        raise DtypeExpected(name=name, got=repr(value))
    return value


def _scalar(name: str, value: Any) -> DataType:
    dtype = _dtype(name, value.dtype if isinstance(value, Scalar) else value)
    if dtype in STORAGE_ONLY:
        raise StorageOnlyScalar(name=name, dtype=dtype.name)
    return dtype
