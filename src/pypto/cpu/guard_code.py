"""The call guard in LLVM text: one function that checks the arguments of any kernel against data and calls it.

    PyObject *pypto_guard(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)

``self`` is a ``bytes`` object (data at +32) that ``guard.py`` fills: a header, then a row per argument. Everything that does
not match goes to the slow callable with the same arguments. Tensors of torch are read through DLPack's exchange function,
arrays of numpy from numpy's published array struct.
"""

from __future__ import annotations

from pypto.cpu.guard_checks import CHECK, add_checks, at, internal
from pypto.cpu.guard_layout import (
    BYTES_DATA,
    COUNT,
    ERROR_BYTES,
    HEADER_BYTES,
    HELD,
    KERNEL,
    MOST_ROWS,
    MOST_SLOTS,
    NAME,
    NONE,
    ON_ERROR,
    OWNER,
    RELEASE,
    ROW_BYTES,
    SLOW,
    WATCH_BYTES,
    WATCHED,
    WATCHES,
)
from pypto.cpu.packing import invoke, parameters
from pypto.cpu.target import Target
from pypto.cpu.text import Module
from pypto.cpu.threads import add_floating_point

PYTHON_SYMBOLS = (
    "PyObject_Vectorcall",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_Clear",
    "PyErr_Occurred",
    "PyBytes_FromStringAndSize",
    "PyLong_AsLongLong",
    "PyObject_GetAttr",
    "PyDict_GetItem",
    "Py_IncRef",
    "Py_DecRef",
)


def guard_module(target: Target) -> Module:
    """The guard as one module."""
    module = Module()
    add_floating_point(module, target)
    _declare(module)
    add_checks(module)
    _watch(module)
    _finish(module)
    _run(module)
    _guard(module)
    return module


def _declare(module: Module) -> None:
    module.declare("ptr", "PyObject_Vectorcall", "ptr, ptr, i64, ptr")
    module.declare("ptr", "PyEval_SaveThread")
    module.declare("void", "PyEval_RestoreThread", "ptr")
    module.declare("void", "PyErr_Clear")
    module.declare("ptr", "PyErr_Occurred")
    module.declare("ptr", "PyBytes_FromStringAndSize", "ptr, i64")
    module.declare("i64", "PyLong_AsLongLong", "ptr")
    module.declare("ptr", "PyObject_GetAttr", "ptr, ptr")
    module.declare("ptr", "PyDict_GetItem", "ptr, ptr")
    module.declare("void", "Py_IncRef", "ptr")
    module.declare("void", "Py_DecRef", "ptr")


def _watch(module: Module) -> None:
    """Whether every watched name and word still holds what tracing saw.

    An entry is (owner, name, held): the dictionary ``owner`` has ``held`` (null: nothing) under ``name``; without a name, ``owner`` is an
    address where the pointer ``held`` stands (a closure cell's content, a function's code).
    """
    f = internal(module, "i1", "guard_watch", "p", "header")
    (header,) = f.arguments
    table, wrong = at(f, "ptr", header, WATCHED), f.new_label("wrong")
    with f.loop(0, at(f, "i64", header, WATCHES), 1) as loop:
        entry = f.gep("i8", table, f.op("mul", "i64", loop.index, WATCH_BYTES))
        owner, name = at(f, "ptr", entry, OWNER), at(f, "ptr", entry, NAME)
        found = f.either(
            f.icmp("eq", "ptr", name, "null"),
            lambda: [f.load("ptr", owner)],
            lambda: [invoke(f, "ptr", "PyDict_GetItem", "pp", owner, name)],
            ["ptr"],
        )[0]
        goes_on = f.new_label("goes_on")
        f.branch(f.icmp("eq", "ptr", found, at(f, "ptr", entry, HELD)), goes_on, wrong)
        f.block(goes_on)
    f.ret("i1", "true")
    f.block(wrong)
    f.ret("i1", "false")


def _run(module: Module) -> None:
    """``run(header, block)``: the kernel under default floating-point rules, without the interpreter's lock when asked."""
    f = internal(module, "void", "guard_run", "pp", "header block")
    header, block = f.arguments
    kernel = at(f, "ptr", header, KERNEL)
    release = f.icmp("ne", "i64", at(f, "i64", header, RELEASE), 0)
    state = f.either(release, lambda: [f.call("ptr", "@PyEval_SaveThread")], lambda: ["null"], ["ptr"])[0]
    before = f.call("i64", "@pypto_float_enter")
    f.call("void", kernel, ("ptr", block))
    f.call("void", "@pypto_float_leave", ("i64", before))
    with f.when(release):
        f.call("void", "@PyEval_RestoreThread", ("ptr", state))
    f.ret()


def _finish(module: Module) -> None:
    """``finish(header, record)``: None, or what the error callable makes of the record."""
    f = internal(module, "ptr", "guard_finish", "pp", "header record")
    header, record = f.arguments
    fine, failed, report, lost = (f.new_label(n) for n in ("fine", "failed", "report", "lost"))
    f.branch(f.icmp("eq", "i64", f.load("i64", record), 0), fine, failed)
    f.block(fine)
    none = at(f, "ptr", header, NONE)
    f.call("void", "@Py_IncRef", ("ptr", none))
    f.ret("ptr", none)
    f.block(failed)
    facts = invoke(f, "ptr", "PyBytes_FromStringAndSize", "pi", record, ERROR_BYTES)
    f.branch(f.icmp("eq", "ptr", facts, "null"), lost, report)
    f.block(lost)
    f.ret("ptr", "null")
    f.block(report)
    place = f.scratch("ptr", 1, align=8)
    f.store("ptr", facts, place)
    result = f.call(
        "ptr", "@PyObject_Vectorcall", ("ptr", at(f, "ptr", header, ON_ERROR)), ("ptr", place), ("i64", 1), ("ptr", "null")
    )
    f.call("void", "@Py_DecRef", ("ptr", facts))
    f.ret("ptr", result)


def _guard(module: Module) -> None:
    f = module.function("ptr", "pypto_guard", parameters("ppip", "self args count keywords"))
    this, args, count, keywords = f.arguments
    header = f.gep("i8", this, BYTES_DATA)
    rows = f.gep("i8", header, HEADER_BYTES)
    block = f.scratch("i64", MOST_SLOTS)
    spans = f.scratch("i64", 2 * MOST_ROWS)
    record = f.scratch("i64", ERROR_BYTES // 8)
    slow, check, share, run = (f.new_label(n) for n in ("slow", "check", "share", "run"))
    f.store(f"<{ERROR_BYTES // 8} x i64>", "zeroinitializer", record, align=64)  # all of it: kernels keep a lock in there
    f.store("ptr", record, block)
    right_count = f.icmp("eq", "i64", count, at(f, "i64", header, COUNT))
    watched = f.new_label("watched")
    f.branch(f.op("and", "i1", right_count, f.icmp("eq", "ptr", keywords, "null")), watched, slow)
    f.block(watched)
    f.branch(invoke(f, "i1", "guard_watch", "p", header), check, slow)
    f.block(check)
    with f.loop(0, count, 1) as loop:
        row = f.gep("i8", rows, f.op("mul", "i64", loop.index, ROW_BYTES))
        argument = f.load("ptr", f.gep("ptr", args, loop.index))
        fits = invoke(f, "i1", "guard_row", CHECK, header, row, argument, block, spans, loop.index)
        goes_on = f.new_label("goes_on")
        f.branch(fits, goes_on, slow)
        f.block(goes_on)
    f.jump(share)
    f.block(share)
    f.branch(invoke(f, "i1", "guard_apart", "ppi", rows, spans, count), run, slow)
    f.block(run)
    invoke(f, "void", "guard_run", "pp", header, block)
    f.ret("ptr", invoke(f, "ptr", "guard_finish", "pp", header, record))
    f.block(slow)
    result = f.call(
        "ptr", "@PyObject_Vectorcall", ("ptr", at(f, "ptr", header, SLOW)), ("ptr", args), ("i64", count), ("ptr", keywords)
    )
    f.ret("ptr", result)
