"""MatmulItem → calls of the runtime library.

``pypto_matmul_<kind>`` packs B and multiplies, serially; a product that is large enough is packed once, in parallel over panels, and
multiplied by tasks over rows. Batches are a loop around it. Every operand has one contiguous axis of its last two (``shapes.matrix``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.cpu.context import Context
from pypto.cpu.items import MatmulItem
from pypto.cpu.text import Function, Module
from pypto.cpu.views import View, product, same
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar

if TYPE_CHECKING:
    from pypto.cpu.program import ProgramEmitter

Value = "str | int"
_MATMUL = "ptr, i64, i64, ptr, i64, i64, i64, i64, i64, ptr, i64, i64, ptr"


def emit_matmul(emitter: ProgramEmitter, context: Context, item: MatmulItem) -> None:
    f = context.f
    batch = item.c.valid[:-2]
    trips = context.integer(product(batch))
    if trips == 1:
        _one(emitter, context, item, [0] * len(batch))
        return
    with f.loop(0, trips, 1, hint="batch") as loop, context.scope():
        _one(emitter, context, item, _positions(context, batch, loop.index))


def _positions(context: Context, batch: tuple[Scalar, ...], flat: str) -> list[str | int]:
    """Batch indices of the flattened batch number."""
    found: list[str | int] = []
    rest: str | int = flat
    for extent in reversed(batch[1:]):
        size = context.integer(extent)
        found.append(context.f.op("urem", "i64", rest, size))
        rest = context.f.op("udiv", "i64", rest, size)
    return [rest, *reversed(found)]


def _one(emitter: ProgramEmitter, context: Context, item: MatmulItem, position: list[str | int]) -> None:
    """The product of one batch."""
    f, kind = context.f, item.kind
    a, b, c = (_start(emitter, context, view, position) for view in (item.a, item.b, item.c))
    m, k = (context.integer(x) for x in item.a.valid[-2:])
    n = context.integer(item.b.valid[-1])
    (lda, turned_a), (ldb, turned_b) = (_layout(context, view) for view in (item.a, item.b))
    ldc = context.integer(item.c.strides[-2])
    module = emitter.module
    module.declare("i64", f"pypto_matmul_scratch_{kind}", "i64, i64, i64")
    module.declare("void", f"pypto_matmul_{kind}", _MATMUL)
    _declare_memory(module)
    size = f.call("i64", f"@pypto_matmul_scratch_{kind}", ("i64", m), ("i64", n), ("i64", k))
    scratch = f.call("ptr", "@pypto_acquire", ("i64", size))
    values = (a, lda, turned_a, b, ldb, turned_b, m, n, k, c, ldc, 0, scratch)
    f.call("void", f"@pypto_matmul_{kind}", *zip(_MATMUL.split(", "), values, strict=True))
    f.call("void", "@pypto_release", ("ptr", scratch), ("i64", size))


def _declare_memory(module: Module) -> None:
    module.declare("ptr", "pypto_acquire", "i64")
    module.declare("void", "pypto_release", "ptr, i64")


def _start(emitter: ProgramEmitter, context: Context, view: View, position: list[str | int]) -> str:
    f = context.f
    pointer = emitter.address(context, view.buffer, view.dtype, view.offset)  # type: ignore[arg-type]
    for index, stride in zip(position, view.strides, strict=False):
        if index != 0 and not same(stride, 0):
            step = f.op("mul", "i64", index, context.integer(stride))
            pointer = f.gep(_element(view.dtype), pointer, step)
    return pointer


def _element(dtype: DataType) -> str:
    return f"i{8 * dtype.size}"


def _layout(context: Context, view: View) -> tuple[str | int, int]:
    """(elements between lines, whether lines run along the second axis) of a matrix operand."""
    rows, columns = view.strides[-2:]
    if same(columns, 1) or same(view.shape[-1], 1) and not same(rows, 1):
        return context.integer(rows if not same(view.shape[-2], 1) else _at_least(rows, view.shape[-1])), 0
    if same(rows, 1) or same(view.shape[-2], 1):
        return context.integer(columns if not same(view.shape[-1], 1) else _at_least(columns, view.shape[-2])), 1
    raise AssertionError(f"operand of a product has no contiguous axis: {view}")


def _at_least(stride: Scalar, size: Scalar) -> Scalar:
    """Stride of an axis of size 1, which nobody steps along; never below the line's length."""
    return size if not isinstance(stride, Expression) and not isinstance(size, Expression) and stride < size else stride


__all__ = ["Function", "emit_matmul"]
