"""Pointers and views in global memory: ``make_ptr``, ``make_tensor``, ``addptr`` (tile API section 1.10)."""

from __future__ import annotations

import ast
from typing import Any

from pypto.cores.enums import TensorLayout
from pypto.cores.program import Constant, DeclareTensor, Expression, Name
from pypto.cores.types import INDEX, Pointer, Tensor
from pypto.dtypes import DataType
from pypto_pro.errors.calls import ShapeExpected, ShapeItems, StrideRank
from pypto_pro.errors.expressions import NotAScalar, PointerExpected, PointerOffset, PointerOperator, PointerSubByte
from pypto_pro.frontend.binding import Arguments, dtype_argument
from pypto_pro.frontend.values import (
    PointerHandle,
    Static,
    TensorHandle,
    as_number,
    describe,
    elements,
    expression_of,
    static_integer,
)


def advance(reader: Any, symbol: str, pointer: PointerHandle, offset: Any, node: ast.AST) -> PointerHandle:
    """``pointer + offset``."""
    if symbol != "+":
        raise PointerOperator(symbol=symbol)
    return moved(reader, pointer, offset, node, "pointer + offset")


def moved(reader: Any, pointer: Any, offset: Any, node: ast.AST, call: str) -> PointerHandle:
    """A pointer ``offset`` elements further on."""
    if not isinstance(pointer, PointerHandle):
        raise PointerExpected(call=call, got=describe(pointer))
    if pointer.type.dtype.bits < 8:
        raise PointerSubByte(dtype=pointer.type.dtype.name)
    number = as_number(offset)
    if number is None or number.dtype.is_float or number.dtype is DataType.DT_BOOL:
        raise PointerOffset(call=call, got=describe(offset))
    return _declare(reader, pointer, pointer.type, number.expression, node, "ptr")


def addptr(reader: Any, arguments: Arguments) -> Any:
    arguments.limit("addptr", ("ptr", "offset"))
    pointer, offset = arguments.value("ptr", 0), arguments.value("offset", 1)
    return moved(reader, pointer, offset, arguments.node, "pl.addptr")


def make_ptr(reader: Any, arguments: Arguments) -> Any:
    """The address of a tensor or pointer, optionally re-typed."""
    hint = reader.take_hint("ptr")
    arguments.limit("make_ptr", ("source", "dtype"))
    source = _source(arguments, "pl.make_ptr")
    dtype = dtype_argument("make_ptr", arguments.optional("dtype", 1)) or source.type.dtype
    return _declare(reader, source, Pointer(dtype), Constant(0), arguments.node, hint)


def _declare(reader: Any, base: Any, type: Any, offset: Expression, node: ast.AST, hint: str) -> PointerHandle:
    made = PointerHandle(base.expression, type)
    name = reader.home(hint, made) if hint != "ptr" else reader.temporary_for(hint, made)
    reader.emit(DeclareTensor(name, base.expression, type.dtype, None, None, offset, reader.frame.span(node)))
    return PointerHandle(Name(name), type)


def _source(arguments: Arguments, call: str) -> Any:
    source = arguments.value("source", 0)
    if not isinstance(source, (TensorHandle, PointerHandle)):
        raise PointerExpected(call=call, got=describe(source))
    return source


def make_tensor(reader: Any, arguments: Arguments) -> Any:
    """A view with its own shape, strides and element type on the same address."""
    hint = reader.take_hint("view")
    arguments.limit("make_tensor", ("source", "shape", "stride", "dtype"))
    source = _source(arguments, "pl.make_tensor")
    shape = extents(arguments.value("shape", 1), "shape")
    stride = arguments.optional("stride", 2)
    strides = None if stride is None or stride == Static(None) else extents(stride, "stride")
    if strides is not None and len(strides) != len(shape):
        raise StrideRank(shape=len(shape), stride=len(strides))
    dtype = dtype_argument("make_tensor", arguments.optional("dtype", 3)) or source.type.dtype
    layout = source.type.layout if isinstance(source, TensorHandle) else TensorLayout.ND
    return _declare_tensor(reader, source, (shape, strides, dtype, layout), arguments.node, hint)


def _declare_tensor(reader: Any, source: Any, facts: tuple, node: ast.AST, hint: str) -> TensorHandle:
    shape, strides, dtype, layout = facts
    static = tuple(n if isinstance(n, int) else f"{hint}.{axis}" for axis, n in enumerate(map(static_integer, shape)))
    type = Tensor(static, dtype, layout)
    made = TensorHandle(source.expression, type)
    name = reader.home(hint, made)
    lengths = tuple(map(expression_of, shape))
    steps = None if strides is None else tuple(map(expression_of, strides))
    reader.emit(DeclareTensor(name, source.expression, dtype, lengths, steps, Constant(0, INDEX), reader.frame.span(node)))
    return TensorHandle(Name(name), type)


def extents(value: Any, what: str) -> list[Any]:
    """A list of integer scalars."""
    items = elements(value)
    if items is None:
        raise ShapeExpected(what=what, got=describe(value))
    for item in items:
        number = as_number(item)
        if number is None:
            raise NotAScalar(what=f"an item of {what}", got=describe(item))
        known = static_integer(item)
        if number.dtype.is_float or (known is not None and known < (1 if what == "shape" else 0)):
            raise ShapeItems(what=what, got=describe(item))
    return items
