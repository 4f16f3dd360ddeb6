"""The call guard: the fast way from a Python call to a compiled kernel (0.2 µs for three tensors).

    rows = [tensor_row(x, slot=2), tensor_row(y, slot=3, dynamic={0: 5}), tensor_row(out, slot=4, written=True)]
    call = make_guard(address, rows, slots=6, slow=dispatcher, on_error=raise_error)
    call(x, y, out)

``call`` is a builtin function that checks each argument against its row, fills the argument block (ARCHITECTURE.md, "Kernel
ABI"), runs the kernel and returns None. Whatever does not match goes to ``slow(*args, **kwargs)``: it specialises, reports
errors, or runs another guard. A kernel that reports an error is followed by ``on_error(record)``, 128 bytes (``i64[16]``).

What is checked: number of arguments, no keywords, exact types, element type, rank, sizes (−1: dynamic, stored in its slot of
the block), row-major layout, CPU, writeable where written, no gradient wanted where asked (unless gradients are off), and the
pattern of shared memory: arguments that were one storage when the rows were made must be one again, those that were not must
not overlap one that is written.

Where the compiled guard cannot run (PyPy, free-threaded or debug builds, an old torch) the same checks are made in Python.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from pypto.cpu import guard_layout as layout
from pypto.cpu.guard_code import PYTHON_SYMBOLS, guard_module
from pypto.cpu.guard_rows import (
    Row,
    Watched,
    constant_row,
    number_row,
    pointer_offset,
    share_pattern,
    source_of,
    span_of,
    tensor_row,
    torch_exchange,
)
from pypto.cpu.library import part_object, runtime_library
from pypto.cpu.link import Library, load
from pypto.cpu.target import host

__all__ = [
    "Row",
    "Watched",
    "compiled",
    "constant_row",
    "make_guard",
    "number_row",
    "pointer_offset",
    "share_pattern",
    "tensor_row",
]

_FAST_WITH_KEYWORDS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


def make_guard(
    kernel: int,
    rows: Sequence[Row],
    *,
    slots: int,
    slow: Callable[..., Any],
    on_error: Callable[[bytes], Any],
    release_lock: bool = False,
    keep: tuple[object, ...] = (),
    watched: Sequence[Watched] = (),
) -> Callable[..., Any]:
    """A callable that checks its arguments against ``rows`` and runs ``kernel`` (an address).

    ``slots`` is the length of the argument block, ``release_lock`` whether other Python threads may run meanwhile (worth it
    above some 20 µs of work), ``keep`` is held alive with the result. ``watched`` is what must still hold besides the arguments.
    """
    if not _fits(rows, slots) or not compiled():
        return _in_python(kernel, tuple(rows), slots, slow, on_error, keep, tuple(watched))
    table = b"".join(struct.pack("<3q", w.owner, w.name, w.held) for w in watched)
    header = _header(kernel, len(rows), slow, on_error, release_lock) + struct.pack(
        "<2q", id(table) + layout.BYTES_DATA, len(watched)
    )
    body = b"".join(_packed(row) for row in rows)
    spec = _Spec(header.ljust(layout.HEADER_BYTES, b"\0") + body)
    spec.keep = (slow, on_error, tuple(rows), keep, table, tuple(watched))
    return _new_function(spec)


def compiled() -> bool:
    """Whether the compiled guard runs in this interpreter (``pypto doctor`` reports it)."""
    return _supported() and host().compiled


class _Spec(bytes):
    """Data of one guard; owns what the data points to."""

    keep: tuple[object, ...]


@lru_cache(maxsize=1)
def _supported() -> bool:
    """CPython with the interpreter lock, 64 bits, and the struct layouts that the guard reads (checked on live objects)."""
    plain = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount") and sys.maxsize > 2**32
    if not plain or sys.byteorder != "little" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    return all(hasattr(ctypes.pythonapi, name) for name in PYTHON_SYMBOLS) and _layouts_hold()


def _layouts_hold() -> bool:
    array = np.zeros((3, 5), np.float32)
    base, number = id(array), 0.7853981

    def pointer(address: int) -> int:
        return ctypes.c_int64.from_address(address).value

    descr = pointer(base + layout.ARRAY_DESCR)
    return (
        pointer(base + layout.OBJECT_TYPE) == id(np.ndarray)
        and pointer(base + layout.ARRAY_DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(base + layout.ARRAY_NDIM).value == 2
        and pointer(pointer(base + layout.ARRAY_DIMS) + 8) == 5
        and descr == id(array.dtype)
        and ctypes.c_int32.from_address(descr + layout.DESCR_NUMBER).value == array.dtype.num
        and ctypes.c_int32.from_address(base + layout.ARRAY_FLAGS).value & layout.CONTIGUOUS == 1
        and ctypes.string_at(id(b"layout") + layout.BYTES_DATA, 6) == b"layout"
        and ctypes.c_double.from_address(id(number) + layout.FLOAT_VALUE).value == number
    )


def _fits(rows: Sequence[Row], slots: int) -> bool:
    exchange = all(row.kind != layout.TORCH or torch_exchange() for row in rows)
    return exchange and len(rows) <= layout.MOST_ROWS and slots <= layout.MOST_SLOTS


def _header(kernel: int, count: int, slow: object, on_error: object, release: bool) -> bytes:
    torch = sys.modules.get("torch")
    enabled = getattr(torch, "is_grad_enabled", None)
    return struct.pack(
        "<9q", kernel, id(slow), count, int(release), id(on_error), id(enabled), id(None), id(False), id(_GRAD_NAME)
    )


_GRAD_NAME = sys.intern("requires_grad")


def _packed(row: Row) -> bytes:
    sizes = [*row.sizes, *[0] * (layout.MOST_AXES - len(row.sizes))]
    rules = [row.dynamic.get(axis, 0) for axis in range(layout.MOST_AXES)]
    flags = row.written * layout.WRITTEN | (row.check_grad and row.kind == layout.TORCH) * layout.CHECK_GRAD
    head = struct.pack("<iiq8sii", row.kind, len(row.sizes), id(row.type) if row.type else 0, source_of(row), row.dtype, flags)
    return head + struct.pack("<qqqQ8q8q", row.slot, row.item, row.same, row.apart, *sizes, *rules)


# -- the compiled function -------------------------------------------------------------------------------------------------------


class _MethodDefinition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def _new_function(spec: _Spec) -> Callable[..., Any]:
    """A builtin function whose ``self`` is ``spec``."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(_definition()), spec, None)


_lock = threading.Lock()
_loaded: list[tuple[Library, _MethodDefinition]] = []


def _definition() -> _MethodDefinition:
    """The method definition all guards share; the code is linked on first use and never unloaded."""
    with _lock:
        if not _loaded:
            imports = {name: _python_address(name) for name in PYTHON_SYMBOLS}
            library = load(part_object(host(), "call guard", guard_module), exports=["pypto_guard"], imports=imports)
            definition = _MethodDefinition(b"kernel", library["pypto_guard"], _FAST_WITH_KEYWORDS, b"A compiled kernel.")
            _loaded.append((library, definition))
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(_loaded))
        return _loaded[0][1]


def _python_address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


# -- the same in Python ----------------------------------------------------------------------------------------------------------


def _in_python(
    kernel: int,
    rows: tuple[Row, ...],
    slots: int,
    slow: Callable[..., Any],
    on_error: Callable[[bytes], Any],
    keep: object,
    watched: tuple[Watched, ...] = (),
) -> Callable[..., Any]:
    launch = runtime_library().function("pypto_launch", None, ctypes.c_void_p, ctypes.c_void_p)

    def call(*arguments: Any, **keywords: Any) -> Any:
        block = (ctypes.c_int64 * max(slots, 2))()
        if (
            keywords
            or len(arguments) != len(rows)
            or not all(w.holds() for w in watched)
            or not _all_match(rows, arguments, block)
        ):
            return slow(*arguments, **keywords)
        record = (ctypes.c_int64 * (layout.ERROR_BYTES // 8))()
        block[0] = ctypes.addressof(record)
        launch(kernel, ctypes.addressof(block))
        return on_error(bytes(record)) if record[0] else None

    call.keep = keep  # type: ignore[attr-defined]
    return call


def _all_match(rows: tuple[Row, ...], arguments: tuple[Any, ...], block: Any) -> bool:
    spans: list[tuple[int, int]] = []
    for row, value in zip(rows, arguments, strict=True):
        if row.type is not None and type(value) is not row.type or not _matches(row, value, block):
            return False
        spans.append(span_of(value) if row.kind in (layout.TORCH, layout.NUMPY) else (0, 0))
    return all(_apart(row, index, spans) for index, row in enumerate(rows))


def _matches(row: Row, value: Any, block: Any) -> bool:
    if row.kind == layout.SAME_INT:
        return value == row.value
    if row.kind in (layout.SAME_OBJECT, layout.SAME_FLOAT):
        return value is row.value or (row.kind == layout.SAME_FLOAT and source_of(replace(row, value=value)) == source_of(row))
    if row.kind == layout.INT:
        block[row.slot] = value if -(2**63) <= value < 2**63 else 0
        return -(2**63) <= value < 2**63
    if row.kind == layout.FLOAT:
        block[row.slot] = struct.unpack("<q", struct.pack("<d", value))[0]
        return True
    if not (_array_fits(row, value) if row.kind == layout.NUMPY else _torch_fits(row, value)):
        return False
    block[row.slot] = span_of(value)[0]
    return _sizes_fit(row, value.shape, block)


def _array_fits(row: Row, value: np.ndarray) -> bool:
    flags = value.flags
    fine = flags.c_contiguous and flags.aligned and (flags.writeable or not row.written)
    return bool(fine and value.dtype.num == row.dtype and value.dtype.isnative)


def _torch_fits(row: Row, value: Any) -> bool:
    torch = sys.modules["torch"]
    plain = value.dtype == row.value and value.device.type == "cpu" and value.layout == torch.strided and value.is_contiguous()
    there = value.data_ptr() or not value.numel()
    return plain and there and not (row.check_grad and value.requires_grad and torch.is_grad_enabled())


def _sizes_fit(row: Row, sizes: Sequence[int], block: Any) -> bool:
    if len(sizes) != len(row.sizes) or any(want not in (-1, size) for want, size in zip(row.sizes, sizes, strict=True)):
        return False
    for axis, slot in sorted(row.dynamic.items(), reverse=True):
        if slot > 0:
            block[slot] = sizes[axis]
        elif slot < 0 and block[-slot] != sizes[axis]:
            return False
    return True


def _apart(row: Row, index: int, spans: list[tuple[int, int]]) -> bool:
    first, size = spans[index]
    if row.same >= 0 and spans[row.same][0] != first:
        return False
    others = [spans[i] for i in range(index) if row.apart >> i & 1]
    return not any(low < first + size and first < low + length for low, length in others)
