"""MatmulItem and ProductItem → calls of the runtime library.

Inside tasks ``pypto_matmul_<kind>`` packs B and multiplies, serially. Elsewhere ``pypto_product_<kind>`` shares the work among the
workers; the nest behind a product becomes its epilogue, called on every finished block. A batch of small products is
shared by whole products. Every operand has one contiguous axis of its last two (``shapes.matrix``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.cpu.context import Context
from pypto.cpu.items import MatmulItem, ProductItem
from pypto.cpu.nests import Access, redirect
from pypto.cpu.scalars import TYPES
from pypto.cpu.split import load_slots, store_slots
from pypto.cpu.views import Buffer, View, product, same
from pypto.cpu.work import MULTIPLIES_PER_NANOSECOND
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar, Symbol, kind_of

if TYPE_CHECKING:
    from pypto.cpu.program import ProgramEmitter

_MATMUL = "ptr, i64, i64, ptr, i64, i64, i64, i64, i64, ptr, i64, i64"
_LARGE_PRODUCT = 30_000_000  # multiplications: from here on one product keeps all workers busy


def emit_matmul(emitter: ProgramEmitter, context: Context, item: MatmulItem) -> None:
    batch = item.c.valid[:-2]
    count = product(batch)
    if same(count, 1):
        _one(emitter, context, item, [0] * len(batch))
        return
    work = product([*item.a.shape[-2:], item.b.shape[-1]])
    large = not isinstance(work, Expression) and work >= _LARGE_PRODUCT
    if context.serial or large:
        f = context.f
        with f.loop(0, context.integer(count), 1, hint="batch") as loop, context.scope():
            _one(emitter, context, item, _positions(context, batch, loop.index))
        return
    nanoseconds = 1e6 if isinstance(work, Expression) else int(work) / MULTIPLIES_PER_NANOSECOND

    def body(inner: Context, index: str) -> None:
        _one(emitter, inner, item, _positions(inner, batch, index))

    emitter.outlined(context, "batch", None, count, nanoseconds, body)


def _positions(context: Context, batch: tuple[Scalar, ...], flat: str) -> list[str | int]:
    """Batch indices of the flattened batch number."""
    found: list[str | int] = []
    rest: str | int = flat
    for extent in reversed(batch[1:]):
        size = context.integer(extent)
        found.append(context.f.op("urem", "i64", rest, size))
        rest = context.f.op("udiv", "i64", rest, size)
    return [rest, *reversed(found)]


def arguments_of(emitter: ProgramEmitter, context: Context, item: MatmulItem, position: list[str | int]) -> list[str | int]:
    """a, lda, transposed_a, b, ldb, transposed_b, m, n, k, c, ldc, accumulate."""
    a, b, c = (_start(emitter, context, view, position) for view in (item.a, item.b, item.c))
    m, k = (context.integer(x) for x in item.a.valid[-2:])
    n = context.integer(item.b.valid[-1])
    (lda, turned_a), (ldb, turned_b) = (_layout(context, view) for view in (item.a, item.b))
    ldc = context.integer(item.c.strides[-2])
    return [a, lda, turned_a, b, ldb, turned_b, m, n, k, c, ldc, 0]


def _one(emitter: ProgramEmitter, context: Context, item: MatmulItem, position: list[str | int]) -> None:
    """The product of one batch."""
    values = arguments_of(emitter, context, item, position)
    if context.serial:
        _serial(context, item.kind, values)
    else:
        _parallel(context, item.kind, values, "null", "null")


def _serial(context: Context, kind: str, values: list[str | int]) -> None:
    f, module = context.f, context.module
    module.declare("i64", f"pypto_matmul_scratch_{kind}", "i64, i64, i64")
    module.declare("void", f"pypto_matmul_{kind}", f"{_MATMUL}, ptr")
    m, n, k = values[6:9]
    size = f.call("i64", f"@pypto_matmul_scratch_{kind}", ("i64", m), ("i64", n), ("i64", k))
    scratch = context.acquire(size)
    f.call("void", f"@pypto_matmul_{kind}", *zip(f"{_MATMUL}, ptr".split(", "), [*values, scratch], strict=True))
    context.release(scratch, size)


def _parallel(context: Context, kind: str, values: list[str | int], epilogue: str, argument: str) -> None:
    f = context.f
    types = f"{_MATMUL}, ptr, ptr"
    context.module.declare("i64", f"pypto_product_{kind}", types)
    failed = f.call("i64", f"@pypto_product_{kind}", *zip(types.split(", "), [*values, epilogue, argument], strict=True))
    context.out_of_memory_if(f.icmp("ne", "i64", failed, 0))


def emit_product(emitter: ProgramEmitter, context: Context, item: ProductItem) -> None:
    """A product with the nest behind it as epilogue."""
    matmul, nest = item.matmul, item.nest.nest
    block = Buffer(matmul.c.dtype, (), "block", "block")
    pitch = Symbol("pitch", low=1)
    redirect(nest, matmul.c.buffer, Access(block, matmul.c.dtype, 0, (pitch, 1)))
    code = emitter.nest_code(nest, tile=True)
    arguments = [("ptr", emitter.address(context, p.buffer, p.dtype, p.offset)) for p in code.pointers if p.buffer is not block]  # type: ignore[arg-type]
    arguments += [(TYPES[kind_of(s)], context.value(s)) for s in code.scalars if s is not pitch]
    epilogue = _epilogue(emitter, code.function, [p.buffer is block for p in code.pointers], code.scalars, pitch)
    slots = store_slots(context.f, arguments)
    values = arguments_of(emitter, context, _without_result(matmul), [0] * (matmul.c.rank - 2))
    _parallel(context, matmul.kind, values, f"@{epilogue}", slots)


def _without_result(item: MatmulItem) -> MatmulItem:
    """The same product with a null result: the epilogue has it."""
    c = item.c
    return MatmulItem(
        item.kind, item.a, item.b, View(Buffer(c.dtype, (), "nothing", "null"), c.dtype, 0, c.strides, c.shape, c.valid)
    )


def _epilogue(emitter: ProgramEmitter, function: str, blocks: list[bool], scalars: list[Expression], pitch: Symbol) -> str:
    """``epilogue(argument, row, rows, column, columns, block, ld)`` around a nest that takes a range of rows and lanes."""
    name = f"epilogue_{emitter.planner.next_number()}"
    names = ("argument", "row", "rows", "column", "columns", "block", "ld")
    types = ("ptr", "i64", "i64", "i64", "i64", "ptr", "i64")
    f = emitter.module.function("void", name, list(zip(types, names, strict=True)), linkage="internal")
    argument, row, rows, column, columns, block, pitch_value = f.arguments
    kinds = ["ptr" for is_block in blocks if not is_block] + [TYPES[kind_of(s)] for s in scalars if s is not pitch]
    given = iter(load_slots(f, argument, kinds))
    before = f.op("add", "i64", f.op("mul", "i64", row, pitch_value), column)
    start = f.define(f"getelementptr float, ptr {block}, i64 {f.op('sub', 'i64', 0, before)}")
    values: list[tuple[str, str | int]] = [("ptr", start) if is_block else next(given) for is_block in blocks]
    values += [("i64", pitch_value) if s is pitch else next(given) for s in scalars]
    values += [("i64", row), ("i64", f.op("add", "i64", row, rows))]
    values += [("i64", column), ("i64", f.op("add", "i64", column, columns))]
    f.call("void", f"@{function}", *values)
    f.ret()
    return emitter.unique(f)


def _start(emitter: ProgramEmitter, context: Context, view: View, position: list[str | int]) -> str:
    f = context.f
    if view.buffer.role == "null":
        return "null"
    pointer = emitter.address(context, view.buffer, view.dtype, view.offset)  # type: ignore[arg-type]
    for index, stride in zip(position, view.strides, strict=False):
        if index != 0 and not same(stride, 0):
            step = f.op("mul", "i64", index, context.integer(stride))
            pointer = f.gep(element_text_of(view.dtype), pointer, step)
    return pointer


def element_text_of(dtype: DataType) -> str:
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
