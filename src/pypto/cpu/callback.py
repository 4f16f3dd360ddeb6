"""Operations without native code: the kernel calls back into Python and the reference computes them.

The native side passes the number of the call and an array of 64-bit words: for every operand and result view its address, then
size, valid extent and stride (in bytes) of each axis; before them the run-time scalars. Returning nonzero stops the kernel.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.cpu.items import Call, ScalarSlot
from pypto.cpu.sites import number_of_word
from pypto.diagnostics import at
from pypto.dtypes import DataType
from pypto.elements import element_array
from pypto.ops.table import OPERATIONS, Kind
from pypto.reference.printing import line

SYMBOL = "pypto_callback"
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Callbacks:
    """The Python side of one kernel. ``address`` is what the kernel imports."""

    def __init__(self, calls: Sequence[Call], kinds: Sequence[tuple[str, ...]], ranks: Sequence[tuple[int, ...]]) -> None:
        self.calls = calls
        self.kinds = kinds  # per call, the kinds of its run-time scalars
        self.ranks = ranks  # per call, the ranks of its views: operands, then results
        self.raised = threading.local()  # call-backs run on the thread that launched the kernel
        self.function = FUNCTION(self.run)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def run(self, number: int, address: int) -> int:
        try:
            self._run(number, address)
        except BaseException as error:  # nothing may propagate through native frames
            self.raised.error = error
            return 1
        return 0

    def take_error(self) -> BaseException | None:
        """The exception that stopped this thread's last run."""
        error = getattr(self.raised, "error", None)
        self.raised.error = None
        return error

    def _run(self, number: int, address: int) -> None:
        call, kinds, ranks = self.calls[number], self.kinds[number], self.ranks[number]
        count = len(kinds) + sum(1 + 3 * rank for rank in ranks)
        words = (ctypes.c_int64 * count).from_address(address)
        numbers = [number_of_word(words[i], kind) for i, kind in enumerate(kinds)]
        views = _views(words, len(kinds), ranks)
        arrays, results = views[: len(ranks) - len(call.results)], views[len(ranks) - len(call.results) :]
        compute(call, numbers, arrays, results)


View = tuple[int, list[int], list[int], list[int]]  # address, sizes, valid extents, strides in bytes


def _views(words: Any, at: int, ranks: Sequence[int]) -> list[View]:
    found = []
    for rank in ranks:
        axes = [list(words[at + 1 + 3 * a : at + 4 + 3 * a]) for a in range(rank)]
        found.append((words[at], [a[0] for a in axes], [a[1] for a in axes], [a[2] for a in axes]))
        at += 1 + 3 * rank
    return found


def array_of(view: View, dtype: DataType, whole: bool) -> np.ndarray:
    """A numpy array over the memory of a view: its valid part, or all of its shape."""
    address, sizes, valid, strides = view
    extents = sizes if whole else valid
    if 0 in extents:
        return np.empty(extents, dtype.numpy)
    span = sum((n - 1) * s for n, s in zip(extents, strides, strict=True)) + dtype.numpy.itemsize
    raw: np.ndarray = np.ctypeslib.as_array((ctypes.c_uint8 * span).from_address(address))
    return np.ndarray(extents, dtype.numpy, raw, 0, strides)


def compute(call: Call, numbers: Sequence[Any], operands: Sequence[View], results: Sequence[View]) -> None:
    attributes = {key: _filled(thing, numbers) for key, thing in call.attributes.items()}
    if call.name == "print":
        print(line(attributes.get("text", ()), _arguments(call, numbers, operands, whole=False)))
        return
    row = OPERATIONS[call.name]
    arguments = _arguments(call, numbers, operands, row.whole)
    extent = tuple(results[0][2])
    if row.kind is Kind.ELEMENTWISE:
        arguments = [_cropped(a, extent) for a in arguments]
    elif row.kind is Kind.MATMUL:
        arguments = [
            _cropped(a, (*extent[:-2], *a.shape[-2:])) if i < 2 else a[..., : extent[-1]] for i, a in enumerate(arguments)
        ]
    if row.sized:
        attributes["extent"] = extent
    assert row.compute is not None
    with np.errstate(all="ignore"), at(call.span):
        made = row.compute(*arguments, **attributes)
    outputs = made if isinstance(made, (tuple, list)) else (made,)
    for output, view, dtype in zip(outputs, results, call.results, strict=True):
        array_of(view, dtype, False)[...] = output


def _arguments(call: Call, numbers: Sequence[Any], operands: Sequence[View], whole: bool) -> list[Any]:
    remaining = iter(operands)
    arguments: list[Any] = []
    for kind, *details in call.operands:
        if kind == "view":
            arguments.append(array_of(next(remaining), details[0], whole))
            continue
        value, dtype = details
        number = _filled(value, numbers)
        arguments.append(number if dtype is None else element_array(number, dtype))
    return arguments


def _cropped(array: Any, extent: tuple[int, ...]) -> Any:
    """The part of a valid region that takes part in an op whose result has ``extent``: broadcast axes stay whole."""
    if not np.ndim(array):
        return array
    limits = extent[len(extent) - array.ndim :]
    return array[tuple(slice(0, n if n == 1 and limit else limit) for n, limit in zip(array.shape, limits, strict=True))]


def _filled(thing: Any, numbers: Sequence[Any]) -> Any:
    if isinstance(thing, ScalarSlot):
        return numbers[thing.index]
    if isinstance(thing, (tuple, list)):
        return type(thing)(_filled(x, numbers) for x in thing)
    if isinstance(thing, dict):
        return {k: _filled(v, numbers) for k, v in thing.items()}
    return thing
