"""What a call guard expects: a ``Row`` per argument, and things outside the arguments that must still hold (``Watched``)."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pypto.cpu import guard_layout as layout


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
    if type(value) is not np.ndarray and not is_torch(value):
        return None
    axes = dict(dynamic or {})
    sizes = tuple(-1 if axis in axes else int(size) for axis, size in enumerate(value.shape))
    common = Row(layout.NUMPY, type(value), slot, None, sizes, axes, 0, 0, written, check_grad)
    if len(sizes) > layout.MOST_AXES:
        return None
    if type(value) is np.ndarray:
        return replace(common, dtype=value.dtype.num, item=value.itemsize)
    return replace(common, kind=layout.TORCH, value=value.dtype, dtype=_torch_type(value), item=value.element_size())


def number_row(kind: str, slot: int) -> Row:
    """Row for a run-time scalar, ``kind`` ``int`` or ``float``; its value goes into the slot."""
    return Row(layout.INT, int, slot) if kind == "int" else Row(layout.FLOAT, float, slot)


def constant_row(value: Any) -> Row | None:
    """Row for a compile-time constant: the same object, or an equal int or float; None when only the slow path can tell."""
    if type(value) is int:
        return (
            Row(layout.SAME_INT, int, value=value)
            if -(2**63) <= value < 2**63 and value != -1
            else Row(layout.SAME_OBJECT, int, value=value)
        )
    if type(value) is float:
        return Row(layout.SAME_FLOAT, float, value=value)
    if value is None or isinstance(value, (bool, str, type)) or callable(value):
        return Row(layout.SAME_OBJECT, None, value=value)
    return None


def share_pattern(rows: Sequence[Row], values: Sequence[Any]) -> list[Row]:
    """The rows with the pattern of shared memory that ``values`` show."""
    spans = [
        span_of(value) if row.kind in (layout.TORCH, layout.NUMPY) else None for row, value in zip(rows, values, strict=True)
    ]
    found = []
    for index, row in enumerate(rows):
        mine = spans[index]
        earlier = [i for i in range(index) if spans[i] is not None] if mine is not None else []
        same = next((i for i in earlier if spans[i] == mine and mine is not None and mine[1] > 0), -1)
        apart = sum(1 << i for i in earlier if spans[i] != mine and (row.written or rows[i].written))
        found.append(replace(row, same=same, apart=apart))
    return found


def span_of(value: Any) -> tuple[int, int]:
    """Address and bytes of a tensor's memory."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data, value.nbytes
    return value.data_ptr(), value.numel() * value.element_size()


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)


def source_of(row: Row) -> bytes:
    """The eight bytes a row compares with, or the exchange function of torch."""
    if row.kind == layout.TORCH:
        return struct.pack("<q", torch_exchange())
    if row.kind == layout.SAME_FLOAT:
        return struct.pack("<d", row.value)
    if row.kind == layout.SAME_INT:
        return struct.pack("<q", row.value)
    return struct.pack("<q", id(row.value))


# -- torch -----------------------------------------------------------------------------------------------------------------------


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
    seen = (ctypes.c_char * layout.DL_BYTES)()
    try:
        failed = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(exchange)(value, ctypes.addressof(seen))
    except RuntimeError:  # torch: the tensor has no plain memory
        return 0
    return 0 if failed else ctypes.c_int32.from_buffer(seen, layout.DL_DTYPE).value
