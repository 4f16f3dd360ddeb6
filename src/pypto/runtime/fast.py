"""The fast way into a compiled kernel: a guard (``cpu/guard.py``) made from a call that the slow way has just served.

A guard accepts exactly the calls that would find the same variant: same kinds of arguments, same constants, same pattern of shared
memory, and everything that tracing read outside its arguments unchanged. What it does not accept goes on to the next guard, in the end
to the dispatcher.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CellType
from typing import TYPE_CHECKING, Any

from pypto.ir.program import Program, Storage
from pypto.ir.symbols import Symbol, kind_of

if TYPE_CHECKING:
    from pypto.cpu.guard import Row, Watched
    from pypto.frontend.frames import Watch

RELEASE_BYTES = 1 << 16  # with arguments above this, a kernel takes longer than giving other threads a chance (0.04 µs)
FIRST_SLOT = 2  # of the tensors, see ARCHITECTURE.md "Kernel ABI"


def fast_call(
    program: Program,
    kernel: Any,
    watch: Watch,
    written: frozenset[str],
    names: Sequence[str],
    values: Sequence[Any],
    slow: Callable[..., Any],
) -> Callable[..., Any] | None:
    """A guard for calls like this one (all parameters by position, in the order of ``names``); None when there is none.

    ``kernel`` is the loaded machine code (``cpu.kernel.Kernel``), ``written`` are the parameters it writes.
    """
    from pypto.cpu.guard import make_guard, share_pattern

    rows = _rows(program, written, names, values)
    watched = watched_by(watch)
    if rows is None or watched is None:
        return None
    scalars = sum(isinstance(p, Symbol) for p in program.parameters)
    tensors = len(program.parameters) - scalars
    slots = FIRST_SLOT + tensors + scalars + len(program.dimensions) + 1  # the last one takes the address of aliases
    return make_guard(
        kernel.address,
        share_pattern(rows, values),
        slots=slots,
        slow=slow,
        on_error=lambda record: kernel.raise_error(struct.unpack("<16q", record)),
        release_lock=any(getattr(v, "nbytes", 0) > RELEASE_BYTES for v in values),
        keep=(kernel,),
        watched=watched,
    )


def _rows(program: Program, written: frozenset[str], names: Sequence[str], values: Sequence[Any]) -> list[Row] | None:
    from pypto.cpu.guard import constant_row, number_row, tensor_row

    tensors = {p.name: FIRST_SLOT + i for i, p in enumerate(p for p in program.parameters if isinstance(p, Storage))}
    scalars = {p.name: (kind_of(p), FIRST_SLOT + len(tensors) + i) for i, p in enumerate(_scalars(program))}
    last = FIRST_SLOT + len(tensors) + len(scalars) + len(program.dimensions)
    rows = []
    for name, value in zip(names, values, strict=True):
        row: Row | None
        if name in tensors:
            row = tensor_row(value, tensors[name], dynamic=_dynamic(program, name), written=name in written)
        elif name in scalars:
            kind, slot = scalars[name]
            row = number_row(kind, slot) if type(value) is (int if kind == "int" else float) else None
        elif hasattr(value, "shape"):
            row = tensor_row(value, last, written=name in written)
        else:
            row = constant_row(value)
        if row is None:
            return None
        rows.append(row)
    return rows


def _scalars(program: Program) -> list[Symbol]:
    return [p for p in program.parameters if isinstance(p, Symbol)]


def _dynamic(program: Program, name: str) -> dict[int, int]:
    """Axis → slot of its size; minus the slot where another parameter's axis defines the size that this one must have."""
    (storage,) = (p for p in program.parameters if isinstance(p, Storage) and p.name == name)
    first = FIRST_SLOT + len(program.parameters)
    slots = {symbol: first + i for i, symbol in enumerate(program.dimensions)}
    return {
        axis: slots[size] if program.dimensions[size] == (storage, axis) else -slots[size]
        for axis, size in enumerate(storage.type.shape)
        if isinstance(size, Symbol)
    }


def watched_by(watch: Watch) -> list[Watched] | None:
    """What the guard must check besides the arguments; None when something can only be checked by Python."""
    from pypto.cpu.guard import Watched

    names = [(space, name, value) for space, name, value in watch.names.values() if type(space) is dict]
    if watch.classes or len(names) < len(watch.names):
        return None
    places = _places()
    if places is None:
        return None
    cell_at, function_at = places
    entries = [Watched.entry(space, name, value) if name in space else Watched.entry(space, name) for space, name, value in names]
    entries += [Watched.word(cell, cell_at, value) for cell, value in watch.cells.values()]
    for function, *parts in watch.functions.values():
        entries += [Watched.word(function, at, part) for at, part in zip(function_at, parts, strict=True) if part is not None]
    return entries


@lru_cache(maxsize=1)
def _places() -> tuple[int, tuple[int, int, int]] | None:
    """Offsets of a cell's content and of a function's code, defaults and keyword defaults, read off live objects."""
    from pypto.cpu.guard import pointer_offset

    def probe(a: object = object(), *, b: object = object()) -> None: ...

    content = object()
    cell = pointer_offset(CellType(content), content)
    parts = tuple(pointer_offset(probe, part) for part in (probe.__code__, probe.__defaults__, probe.__kwdefaults__))
    return (cell, parts) if cell and all(parts) else None  # type: ignore[return-value]
