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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pypto.cpu import guard_code as code
from pypto.cpu.library import part_object, runtime_library
from pypto.cpu.link import Library, load
from pypto.cpu.target import host

_FAST_WITH_KEYWORDS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


@dataclass(frozen=True)
class Row:
    """What one argument must be. ``sizes`` holds −1 for dynamic axes, ``dynamic`` maps an axis to the slot of its size.

    An axis mapped to −slot is compared with the size another row stored there. ``same`` is the index of an earlier argument
    that must be the same storage, ``apart`` those it must not overlap (both set by ``share_pattern``).
    """

    kind: int
    type: type | None
    slot: int = 0
    value: Any = None
    sizes: tuple[int, ...] = ()
    dynamic: Mapping[int, int] = field(default_factory=dict)
    dtype: int = 0
    item: int = 0
    written: bool = False
    check_grad: bool = False
    same: int = -1
    apart: int = 0


@dataclass(frozen=True)
class Watched:
    """Something outside the arguments that must still hold; ``things`` keeps what the addresses point to alive.

    ``name`` is the address of a string and ``owner`` that of a dictionary, or ``name`` is 0 and ``owner`` the address of a pointer.
    """

    owner: int
    name: int
    held: int
    things: tuple[Any, ...]

    @staticmethod
    def entry(space: dict[str, Any], name: str, *value: Any) -> Watched:
        """The dictionary holds this very value under ``name``, or no value at all when none is given."""
        return Watched(id(space), id(name), id(value[0]) if value else 0, (space, name, *value))

    @staticmethod
    def word(owner: Any, offset: int, value: Any) -> Watched:
        """The pointer at ``offset`` of an object is this very value."""
        return Watched(id(owner) + offset, 0, id(value), (owner, value))

    def holds(self) -> bool:
        if self.name:
            space, name, *value = self.things
            return (space[name] is value[0]) if value and name in space else not value and name not in space
        return ctypes.c_int64.from_address(self.owner).value == self.held


def pointer_offset(thing: Any, value: Any) -> int:
    """Where in the memory of ``thing`` the one pointer to ``value`` stands; 0 when there is none, or more than one."""
    words = range(16, sys.getsizeof(thing), 8)
    found = [at for at in words if ctypes.c_int64.from_address(id(thing) + at).value == id(value)]
    return found[0] if len(found) == 1 else 0


def tensor_row(
    value: Any, slot: int, *, dynamic: Mapping[int, int] | None = None, written: bool = False, check_grad: bool = True
) -> Row | None:
    """Row for a torch tensor or numpy array like ``value``; None when there is no fast way for it (then use the slow path).

    ``dynamic`` maps axes whose size may change to the block slot that receives it.
    """
    if type(value) is not np.ndarray and not _is_torch(value):
        return None
    axes = dict(dynamic or {})
    sizes = tuple(-1 if axis in axes else int(size) for axis, size in enumerate(value.shape))
    common = Row(code.NUMPY, type(value), slot, None, sizes, axes, 0, 0, written, check_grad)
    if len(sizes) > code.MOST_AXES:
        return None
    if type(value) is np.ndarray:
        return replace(common, dtype=value.dtype.num, item=value.itemsize)
    return replace(common, kind=code.TORCH, value=value.dtype, dtype=_torch_type(value), item=value.element_size())


def number_row(kind: str, slot: int) -> Row:
    """Row for a run-time scalar, ``kind`` ``int`` or ``float``; its value goes into the slot."""
    return Row(code.INT, int, slot) if kind == "int" else Row(code.FLOAT, float, slot)


def constant_row(value: Any) -> Row | None:
    """Row for a compile-time constant: the same object, or an equal int or float; None when only the slow path can tell."""
    if type(value) is int:
        return (
            Row(code.SAME_INT, int, value=value)
            if -(2**63) <= value < 2**63 and value != -1
            else Row(code.SAME_OBJECT, int, value=value)
        )
    if type(value) is float:
        return Row(code.SAME_FLOAT, float, value=value)
    if value is None or isinstance(value, (bool, str, type)) or callable(value):
        return Row(code.SAME_OBJECT, None, value=value)
    return None


def share_pattern(rows: Sequence[Row], values: Sequence[Any]) -> list[Row]:
    """The rows with the pattern of shared memory that ``values`` show."""
    spans = [_span(value) if row.kind in (code.TORCH, code.NUMPY) else None for row, value in zip(rows, values, strict=True)]
    found = []
    for index, row in enumerate(rows):
        mine = spans[index]
        earlier = [i for i in range(index) if spans[i] is not None] if mine is not None else []
        same = next((i for i in earlier if spans[i] == mine and mine is not None and mine[1] > 0), -1)
        apart = sum(1 << i for i in earlier if spans[i] != mine and (row.written or rows[i].written))
        found.append(replace(row, same=same, apart=apart))
    return found


def _span(value: Any) -> tuple[int, int]:
    if isinstance(value, np.ndarray):
        return value.ctypes.data, value.nbytes
    return value.data_ptr(), value.numel() * value.element_size()


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)


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
        "<2q", id(table) + code.BYTES_DATA, len(watched)
    )
    body = b"".join(_packed(row) for row in rows)
    spec = _Spec(header.ljust(code.HEADER_BYTES, b"\0") + body)
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
    return all(hasattr(ctypes.pythonapi, name) for name in code.PYTHON_SYMBOLS) and _layouts_hold()


def _layouts_hold() -> bool:
    array = np.zeros((3, 5), np.float32)
    base, number = id(array), 0.7853981

    def pointer(address: int) -> int:
        return ctypes.c_int64.from_address(address).value

    descr = pointer(base + code.ARRAY_DESCR)
    return (
        pointer(base + code.OBJECT_TYPE) == id(np.ndarray)
        and pointer(base + code.ARRAY_DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(base + code.ARRAY_NDIM).value == 2
        and pointer(pointer(base + code.ARRAY_DIMS) + 8) == 5
        and descr == id(array.dtype)
        and ctypes.c_int32.from_address(descr + code.DESCR_NUMBER).value == array.dtype.num
        and ctypes.c_int32.from_address(base + code.ARRAY_FLAGS).value & code.CONTIGUOUS == 1
        and ctypes.string_at(id(b"layout") + code.BYTES_DATA, 6) == b"layout"
        and ctypes.c_double.from_address(id(number) + code.FLOAT_VALUE).value == number
    )


def _fits(rows: Sequence[Row], slots: int) -> bool:
    exchange = all(row.kind != code.TORCH or torch_exchange() for row in rows)
    return exchange and len(rows) <= code.MOST_ROWS and slots <= code.MOST_SLOTS


def torch_exchange() -> int:
    """Address of torch's DLPack exchange function (py object → DLTensor, no copy, no stream), or 0.

    dlpack.h, ``DLPackExchangeAPI``: version, previous table, then pointers; the wanted one is at offset 40.
    """
    torch = sys.modules.get("torch")
    capsule = getattr(getattr(torch, "Tensor", None), "__dlpack_c_exchange_api__", None)
    return 0 if capsule is None else _exchange_of(id(capsule), capsule)


_exchanges: dict[int, int] = {}


def _exchange_of(identity: int, capsule: Any) -> int:
    if identity not in _exchanges:
        read = ctypes.pythonapi.PyCapsule_GetPointer
        read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = read(capsule, b"dlpack_exchange_api")
        version = ctypes.c_uint32.from_address(table).value
        _exchanges[identity] = (ctypes.c_void_p.from_address(table + 40).value or 0) if version == 1 else 0
    return _exchanges[identity]


def _torch_type(value: Any) -> int:
    """DLPack's element type as one number: code, bits, lanes."""
    exchange = torch_exchange()
    if not exchange:
        return 0
    seen = (ctypes.c_char * code.DL_BYTES)()
    try:
        failed = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(exchange)(value, ctypes.addressof(seen))
    except RuntimeError:  # torch: the tensor has no plain memory
        return 0
    return 0 if failed else ctypes.c_int32.from_buffer(seen, code.DL_DTYPE).value


def _header(kernel: int, count: int, slow: object, on_error: object, release: bool) -> bytes:
    torch = sys.modules.get("torch")
    enabled = getattr(torch, "is_grad_enabled", None)
    return struct.pack(
        "<9q", kernel, id(slow), count, int(release), id(on_error), id(enabled), id(None), id(False), id(_GRAD_NAME)
    )


_GRAD_NAME = sys.intern("requires_grad")


def _packed(row: Row) -> bytes:
    sizes = [*row.sizes, *[0] * (code.MOST_AXES - len(row.sizes))]
    rules = [row.dynamic.get(axis, 0) for axis in range(code.MOST_AXES)]
    flags = row.written * code.WRITTEN | (row.check_grad and row.kind == code.TORCH) * code.CHECK_GRAD
    head = struct.pack("<iiq8sii", row.kind, len(row.sizes), id(row.type) if row.type else 0, _source(row), row.dtype, flags)
    return head + struct.pack("<qqqQ8q8q", row.slot, row.item, row.same, row.apart, *sizes, *rules)


def _source(row: Row) -> bytes:
    if row.kind == code.TORCH:
        return struct.pack("<q", torch_exchange())
    if row.kind == code.SAME_FLOAT:
        return struct.pack("<d", row.value)
    if row.kind == code.SAME_INT:
        return struct.pack("<q", row.value)
    return struct.pack("<q", id(row.value))


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
            imports = {name: _python_address(name) for name in code.PYTHON_SYMBOLS}
            library = load(part_object(host(), "call guard", code.guard_module), exports=["pypto_guard"], imports=imports)
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
        record = (ctypes.c_int64 * (code.ERROR_BYTES // 8))()
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
        spans.append(_span(value) if row.kind in (code.TORCH, code.NUMPY) else (0, 0))
    return all(_apart(row, index, spans) for index, row in enumerate(rows))


def _matches(row: Row, value: Any, block: Any) -> bool:
    if row.kind in (code.SAME_OBJECT, code.SAME_INT, code.SAME_FLOAT):
        return value is row.value or (row.kind != code.SAME_OBJECT and _source(replace(row, value=value)) == _source(row))
    if row.kind == code.INT:
        block[row.slot] = value if -(2**63) <= value < 2**63 else 0
        return -(2**63) <= value < 2**63
    if row.kind == code.FLOAT:
        block[row.slot] = struct.unpack("<q", struct.pack("<d", value))[0]
        return True
    if not (_array_fits(row, value) if row.kind == code.NUMPY else _torch_fits(row, value)):
        return False
    block[row.slot] = _span(value)[0]
    return _sizes_fit(row, value.shape, block)


def _array_fits(row: Row, value: np.ndarray) -> bool:
    flags = value.flags
    fine = flags.c_contiguous and flags.aligned and (flags.writeable or not row.written)
    return bool(fine and value.dtype.num == row.dtype and value.dtype.isnative)


def _torch_fits(row: Row, value: Any) -> bool:
    torch = sys.modules["torch"]
    plain = value.dtype == row.value and value.device.type == "cpu" and value.layout == torch.strided and value.is_contiguous()
    return plain and not (row.check_grad and value.requires_grad and torch.is_grad_enabled())


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
