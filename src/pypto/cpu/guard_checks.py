"""The checks of the call guard in LLVM text: one argument against one row, and the pattern of shared memory."""

from __future__ import annotations

from pypto.cpu.guard_layout import (
    ALIGNED,
    APART,
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    CHECK_GRAD,
    CONTIGUOUS,
    DESCR_NUMBER,
    DESCR_ORDER,
    DL_BYTES,
    DL_CPU,
    DL_DEVICE,
    DL_DTYPE,
    DL_NDIM,
    DL_OFFSET,
    DL_SHAPE,
    DL_STRIDES,
    DTYPE,
    FALSE,
    FLAGS,
    FLOAT,
    FLOAT_VALUE,
    GRAD_ENABLED,
    GRAD_NAME,
    INT,
    ITEM,
    KIND,
    NDIM,
    NUMPY,
    OBJECT_TYPE,
    ROW_BYTES,
    RULES,
    SAME,
    SAME_INT,
    SAME_OBJECT,
    SHAPE,
    SLOT,
    SOURCE,
    TORCH,
    TYPE,
    WRITEABLE,
    WRITTEN,
)
from pypto.cpu.packing import invoke, parameters
from pypto.cpu.text import Function, Module, Operand


def add_checks(module: Module) -> None:
    """Add ``guard_row`` and ``guard_apart`` with what they use."""
    _shape(module)
    _torch(module)
    _numpy(module)
    _grad(module)
    _number(module)
    _constant(module)
    _row(module)
    _apart(module)


def at(f: Function, type: str, base: str, offset: int) -> str:
    return f.load(type, f.gep("i8", base, offset))


def internal(module: Module, result: str, name: str, kinds: str, names: str) -> Function:
    return module.function(result, name, parameters(kinds, names), linkage="internal", attributes="noinline")


def _require(f: Function, condition: str) -> None:
    """Return false from an i1 function unless the condition holds."""
    good, bad = f.new_label("good"), f.new_label("bad")
    f.branch(condition, good, bad)
    f.block(bad)
    f.ret("i1", "false")
    f.block(good)


def _shape(module: Module) -> None:
    """``shape(row, sizes, strides, block)``: bytes of the tensor, or -1. Sizes as wanted, dynamic ones into the block, row-major.

    ``strides`` may be null (known to be row-major). An axis of size 1, or any axis of an empty tensor, may have any stride.
    """
    f = internal(module, "i64", "guard_shape", "pppp", "row sizes strides block")
    row, sizes, strides, block = f.arguments
    ndim = f.cast("zext", "i32", at(f, "i32", row, NDIM), "i64")
    known = f.icmp("eq", "ptr", strides, "null")
    item = at(f, "i64", row, ITEM)
    wrong = f.new_label("wrong")
    with f.loop(0, ndim, 1, carried=[("i64", 1), ("i1", "true")]) as loop:
        axis = f.op("sub", "i64", f.op("sub", "i64", ndim, 1), loop.index)
        size = f.load("i64", f.gep("i64", sizes, axis))
        want = f.load("i64", f.gep("i64", f.gep("i8", row, SHAPE), axis))
        fits = f.op("or", "i1", f.icmp("eq", "i64", want, -1), f.icmp("eq", "i64", want, size))
        agrees = _dynamic(f, row, block, axis, size)
        goes_on = f.new_label("goes_on")
        f.branch(f.op("and", "i1", fits, agrees), goes_on, wrong)
        f.block(goes_on)
        dense = f.either(known, lambda: ["true"], lambda: [_dense(f, strides, axis, size, loop.carried[0])], ["i1"])[0]
        loop.next = [f.op("mul", "i64", loop.carried[0], size), f.op("and", "i1", loop.carried[1], dense)]
    count, dense = loop.results
    fine = f.op("or", "i1", dense, f.icmp("eq", "i64", count, 0))
    f.ret("i64", f.select(fine, "i64", f.op("mul", "i64", count, item), -1))
    f.block(wrong)
    f.ret("i64", -1)


def _dense(f: Function, strides: str, axis: str, size: str, expected: str) -> Operand:
    stride = f.load("i64", f.gep("i64", strides, axis))
    return f.op("or", "i1", f.icmp("eq", "i64", stride, expected), f.icmp("eq", "i64", size, 1))


def _dynamic(f: Function, row: str, block: str, axis: str, size: str) -> str:
    """Rule of an axis: 0 nothing, n > 0 store the size in slot n, -n compare it with slot n."""
    rule = f.load("i64", f.gep("i64", f.gep("i8", row, RULES), axis))
    none, some, store, compare, done = (f.new_label(n) for n in ("none", "some", "store", "compare", "done"))
    f.branch(f.icmp("eq", "i64", rule, 0), none, some)
    f.block(none)
    f.jump(done)
    f.block(some)
    f.branch(f.icmp("sgt", "i64", rule, 0), store, compare)
    f.block(store)
    f.store("i64", size, f.gep("i64", block, rule))
    f.jump(done)
    f.block(compare)
    other = f.load("i64", f.gep("i64", block, f.op("sub", "i64", 0, rule)))
    equal = f.icmp("eq", "i64", other, size)
    f.jump(done)
    f.block(done)
    return f.phi("i1", ("true", none), ("true", store), (equal, compare))


def _keep(f: Function, row: str, block: str, spans: str, index: str, data: str, size: str) -> None:
    """Data pointer into its slot; first and last byte into the list of spans. Returns true from the function."""
    address = f.cast("ptrtoint", "ptr", data, "i64")
    f.store("i64", address, f.gep("i64", block, at(f, "i64", row, SLOT)))
    span = f.gep("i64", spans, f.op("shl", "i64", index, 1))
    f.store("i64", address, span)
    f.store("i64", f.op("add", "i64", address, size), f.gep("i64", span, 1))
    f.ret("i1", "true")


CHECK, CHECK_NAMES = "pppppi", "header row argument block spans index"


def _torch(module: Module) -> None:
    f = internal(module, "i1", "guard_torch", CHECK, CHECK_NAMES)
    header, row, argument, block, spans, index = f.arguments
    seen = f.scratch("i8", DL_BYTES, align=16)
    failed = f.call("i32", at(f, "ptr", row, SOURCE), ("ptr", argument), ("ptr", seen))
    with f.when(f.icmp("ne", "i32", failed, 0)):
        f.call("void", "@PyErr_Clear")
    on_cpu = f.icmp("eq", "i32", at(f, "i32", seen, DL_DEVICE), DL_CPU)
    same_type = f.icmp("eq", "i32", at(f, "i32", seen, DL_DTYPE), at(f, "i32", row, DTYPE))
    same_rank = f.icmp("eq", "i32", at(f, "i32", seen, DL_NDIM), at(f, "i32", row, NDIM))
    fits = f.op("and", "i1", f.icmp("eq", "i32", failed, 0), f.op("and", "i1", on_cpu, f.op("and", "i1", same_type, same_rank)))
    _require(f, fits)
    size = invoke(f, "i64", "guard_shape", "pppp", row, at(f, "ptr", seen, DL_SHAPE), at(f, "ptr", seen, DL_STRIDES), block)
    _require(f, f.icmp("sge", "i64", size, 0))
    flagged = f.op("and", "i32", at(f, "i32", row, FLAGS), CHECK_GRAD)
    free = f.either(
        f.icmp("ne", "i32", flagged, 0),
        lambda: [invoke(f, "i1", "guard_grad", "pp", header, argument)],
        lambda: ["true"],
        ["i1"],
    )[0]
    _require(f, free)
    data = f.gep("i8", at(f, "ptr", seen, 0), at(f, "i64", seen, DL_OFFSET))
    _require(
        f, f.op("or", "i1", f.icmp("ne", "ptr", data, "null"), f.icmp("eq", "i64", size, 0))
    )  # a storage may have been freed
    _keep(f, row, block, spans, index, data, size)


def _grad(module: Module) -> None:
    """Whether autograd does not care: the tensor needs no gradient, or gradients are off."""
    f = internal(module, "i1", "guard_grad", "pp", "header argument")
    header, argument = f.arguments
    false = at(f, "ptr", header, FALSE)
    found = invoke(f, "ptr", "PyObject_GetAttr", "pp", argument, at(f, "ptr", header, GRAD_NAME))
    _drop_result(f, found)
    plain, needs = f.new_label("plain"), f.new_label("needs")
    f.branch(f.icmp("eq", "ptr", found, false), plain, needs)
    f.block(plain)
    f.ret("i1", "true")
    f.block(needs)
    _require(f, f.icmp("ne", "ptr", found, "null"))
    enabled = f.call(
        "ptr", "@PyObject_Vectorcall", ("ptr", at(f, "ptr", header, GRAD_ENABLED)), ("ptr", "null"), ("i64", 0), ("ptr", "null")
    )
    _drop_result(f, enabled)
    f.ret("i1", f.icmp("eq", "ptr", enabled, false))


def _drop_result(f: Function, found: str) -> None:
    """Give back a reference to True or False (which outlive it), or forget the error."""
    good, bad, done = f.new_label("good"), f.new_label("bad"), f.new_label("done")
    f.branch(f.icmp("eq", "ptr", found, "null"), bad, good)
    f.block(bad)
    f.call("void", "@PyErr_Clear")
    f.jump(done)
    f.block(good)
    f.call("void", "@Py_DecRef", ("ptr", found))
    f.jump(done)
    f.block(done)


def _numpy(module: Module) -> None:
    f = internal(module, "i1", "guard_numpy", CHECK, CHECK_NAMES)
    _, row, argument, block, spans, index = f.arguments
    descr = at(f, "ptr", argument, ARRAY_DESCR)
    same_type = f.icmp("eq", "i32", at(f, "i32", descr, DESCR_NUMBER), at(f, "i32", row, DTYPE))
    native = f.icmp("ne", "i8", at(f, "i8", descr, DESCR_ORDER), ord(">"))
    same_rank = f.icmp("eq", "i32", at(f, "i32", argument, ARRAY_NDIM), at(f, "i32", row, NDIM))
    written = f.icmp("ne", "i32", f.op("and", "i32", at(f, "i32", row, FLAGS), WRITTEN), 0)
    wanted = f.select(written, "i32", CONTIGUOUS | ALIGNED | WRITEABLE, CONTIGUOUS | ALIGNED)
    flags = f.icmp("eq", "i32", f.op("and", "i32", at(f, "i32", argument, ARRAY_FLAGS), wanted), wanted)
    fits = f.op("and", "i1", f.op("and", "i1", same_type, native), f.op("and", "i1", same_rank, flags))
    _require(f, fits)
    size = invoke(f, "i64", "guard_shape", "pppp", row, at(f, "ptr", argument, ARRAY_DIMS), "null", block)
    _require(f, f.icmp("sge", "i64", size, 0))
    _keep(f, row, block, spans, index, at(f, "ptr", argument, ARRAY_DATA), size)


def _number(module: Module) -> None:
    """Run-time scalars: an int of 64 bits, or the bits of a float, into the slot."""
    f = internal(module, "i1", "guard_number", CHECK, CHECK_NAMES)
    _, row, argument, block, _, _ = f.arguments
    place = f.gep("i64", block, at(f, "i64", row, SLOT))
    is_float = f.icmp("eq", "i32", at(f, "i32", row, KIND), FLOAT)
    value = f.either(
        is_float,
        lambda: [at(f, "i64", argument, FLOAT_VALUE)],
        lambda: [invoke(f, "i64", "PyLong_AsLongLong", "p", argument)],
        ["i64"],
    )[0]
    f.store("i64", value, place)
    doubtful = f.op("and", "i1", f.op("xor", "i1", is_float, "true"), f.icmp("eq", "i64", value, -1))
    with f.when(doubtful):
        error = f.call("ptr", "@PyErr_Occurred")
        with f.when(f.icmp("ne", "ptr", error, "null")):
            f.call("void", "@PyErr_Clear")
            f.ret("i1", "false")
            f.block(f.new_label("never"))
    f.ret("i1", "true")


def _constant(module: Module) -> None:
    """Compile-time constants: the same object, or an int or float of the same value."""
    f = internal(module, "i1", "guard_constant", CHECK, CHECK_NAMES)
    _, row, argument, _, _, _ = f.arguments
    kind, want = at(f, "i32", row, KIND), at(f, "i64", row, SOURCE)
    identity, number, integer, real = (f.new_label(n) for n in ("identity", "number", "integer", "real"))
    f.branch(f.icmp("eq", "i32", kind, SAME_OBJECT), identity, number)
    f.block(identity)
    f.ret("i1", f.icmp("eq", "i64", f.cast("ptrtoint", "ptr", argument, "i64"), want))
    f.block(number)
    f.branch(f.icmp("eq", "i32", kind, SAME_INT), integer, real)
    f.block(integer)
    value = invoke(f, "i64", "PyLong_AsLongLong", "p", argument)
    with f.when(f.icmp("eq", "i64", value, -1)):
        f.call("void", "@PyErr_Clear")
    # -1 is never compiled as a constant of this kind: it also means "does not fit".
    f.ret("i1", f.icmp("eq", "i64", value, want))
    f.block(real)
    f.ret("i1", f.icmp("eq", "i64", at(f, "i64", argument, FLOAT_VALUE), want))


def _row(module: Module) -> None:
    """One argument against one row."""
    f = internal(module, "i1", "guard_row", CHECK, CHECK_NAMES)
    row, argument = f.arguments[1], f.arguments[2]
    kind = at(f, "i32", row, KIND)
    wanted, found = at(f, "ptr", row, TYPE), at(f, "ptr", argument, OBJECT_TYPE)
    any_type = f.icmp("eq", "ptr", wanted, "null")
    _require(f, f.op("or", "i1", any_type, f.icmp("eq", "ptr", wanted, found)))
    labels = {name: f.new_label(name) for name in ("torch", "numpy", "number", "constant")}
    cases = {TORCH: "torch", NUMPY: "numpy", INT: "number", FLOAT: "number"}
    listed = " ".join(f"i32 {number}, label %{labels[name]}" for number, name in cases.items())
    f.line(f"switch i32 {kind}, label %{labels['constant']} [ {listed} ]")
    for name, label in labels.items():
        f.block(label)
        f.ret("i1", invoke(f, "i1", f"guard_{name}", CHECK, *f.arguments))


def _apart(module: Module) -> None:
    """Whether tensors share memory exactly as the kernel was compiled for: ``SAME`` row, or apart from all rows in ``APART``."""
    f = internal(module, "i1", "guard_apart", "ppi", "rows spans count")
    rows, spans, count = f.arguments
    wrong = f.new_label("wrong")
    with f.loop(0, count, 1) as loop:
        row = f.gep("i8", rows, f.op("mul", "i64", loop.index, ROW_BYTES))
        first, last = _span(f, spans, loop.index)
        same, others = at(f, "i64", row, SAME), at(f, "i64", row, APART)
        twin = f.select(f.icmp("sge", "i64", same, 0), "i64", same, loop.index)
        goes_on = f.new_label("goes_on")
        f.branch(f.icmp("eq", "i64", _span(f, spans, twin)[0], first), goes_on, wrong)
        f.block(goes_on)
        with f.when(f.icmp("ne", "i64", others, 0)), f.loop(0, loop.index, 1) as earlier:
            asked = f.op("and", "i64", f.op("lshr", "i64", others, earlier.index), 1)
            low, high = _span(f, spans, earlier.index)
            overlap = f.op("and", "i1", f.icmp("ult", "i64", low, last), f.icmp("ult", "i64", first, high))
            apart = f.new_label("apart")
            f.branch(f.op("and", "i1", overlap, f.icmp("ne", "i64", asked, 0)), wrong, apart)
            f.block(apart)
    f.ret("i1", "true")
    f.block(wrong)
    f.ret("i1", "false")


def _span(f: Function, spans: str, index: str) -> tuple[str, str]:
    place = f.gep("i64", spans, f.op("shl", "i64", index, 1))
    return f.load("i64", place), f.load("i64", f.gep("i64", place, 1))
