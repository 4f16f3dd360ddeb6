"""The recorder: turns operations on handles into statements while a kernel is traced.

A handle (``Tensor``) denotes a *value* or a *storage* (see ir/program.py). Writing into a handle that denotes a value promotes
it: it becomes a local storage that starts with that value. The storage is allocated in the block in which the handle was made; when
iterations of a loop opened since then have already read the value, the whole kernel is traced again with the handle promoted from its
start (``wanted``): later iterations must read what earlier ones wrote.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import Span, warn
from pypto.dtypes import DataType
from pypto.errors.arguments import TensorShape
from pypto.errors.base import UserError
from pypto.errors.frontend import EmptyTensor, EscapedTensor, ForeignTensor, HostTensorInside
from pypto.frontend import tile_rules
from pypto.frontend.frames import Frame, Watch
from pypto.frontend.symbol_text import set_display_text
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.tensor import Tensor
from pypto.ir.program import Operand, Statement, Storage, TensorType, Value
from pypto.ir.symbols import Expression, Scalar, Symbol
from pypto.ops.build import Builder
from pypto.ops.table import OPERATIONS

Hint = tuple[Any, ...]


@dataclass(eq=False)
class OpenLoop:
    """A loop whose body is being traced. ``start``, ``stop``, ``step`` are those of the user's loop, ``factor`` of its chunk."""

    index: Symbol
    start: Scalar
    stop: Scalar
    step: Scalar
    factor: int
    name: str
    parallel: bool
    line: int
    depth: int  # number of blocks open around the body
    sequence: int


_DYNAMIC = "(Dynamic shape tensors are not allowed as operation operands)"  # the reference's words


class Tracer:
    """Implements ``ops.table.Recorder``; the interpreter drives it. One tracer per attempt to trace one kernel."""

    def __init__(self, name: str, hints: Mapping[Hint, Any] | None = None) -> None:
        self.builder = Builder(name)
        self.hints = dict(hints or {})
        self.wanted: dict[Hint, Any] = {}
        self.frames: list[Frame] = []
        self.blocks = [0]
        self.open_blocks = {0}
        self._next_block = 1
        self.loops: list[OpenLoop] = []
        self.loops_opened = 0
        self._serial = 0
        self.written: set[Storage] = set()
        self.versions: dict[Storage, int] = {}  # number of writes so far, per root storage
        self.loaded: dict[Storage, tuple[int, int, Value]] = {}  # last whole load: block, version, value
        self.watch = Watch()
        self.renewals: dict[Value, str] = {}  # values that are a new state of an operand, with the operation's name
        self.later: list[Callable[[], None]] = []  # prints and warnings, shown when the trace is final
        self.branch_depth = 0  # symbolic branches and device loops around the current place

    # -- places ----------------------------------------------------------------------------------------------------------------

    @property
    def span(self) -> Span | None:
        return self.frames[-1].span() if self.frames else outside_span()

    def warn(self, headline: str, help: str | None = None, portability: bool = False, span: Span | None = None) -> None:
        """Warn at the current place, once the trace is final."""
        place = span or self.span
        self.watch.warnings.append((headline, place, help, portability))
        self.later.append(lambda: warn(headline, place, help=help, portability=portability))

    # -- blocks ----------------------------------------------------------------------------------------------------------------

    @contextmanager
    def block(self, statements: list[Statement]) -> Iterator[int]:
        """Open an inner block that appends to ``statements``."""
        serial = self._next_block
        self._next_block += 1
        self.blocks.append(serial)
        self.open_blocks.add(serial)
        try:
            with self.builder.block(statements):
                yield serial
        finally:
            self.blocks.pop()
            self.open_blocks.discard(serial)

    @contextmanager
    def reopen(self, statements: list[Statement], serial: int) -> Iterator[None]:
        """Append to a block that was closed."""
        self.blocks.append(serial)
        self.open_blocks.add(serial)
        try:
            with self.builder.block(statements):
                yield
        finally:
            self.blocks.pop()
            self.open_blocks.discard(serial)

    @contextmanager
    def at_block(self, serial: int) -> Iterator[None]:
        """Append to an outer open block: what is appended precedes the statement that is open in it."""
        stack, depth = self.builder.open, self.blocks.index(serial) + 1
        inner, blocks = stack[depth:], self.blocks[depth:]
        del stack[depth:], self.blocks[depth:]
        try:
            yield
        finally:
            stack.extend(inner)
            self.blocks.extend(blocks)

    def want(self, key: Hint, value: Any = True) -> None:
        """Ask for another attempt that knows ``value`` for ``key`` from the start."""
        self.wanted[key] = value

    # -- handles ---------------------------------------------------------------------------------------------------------------

    def new_serial(self) -> int:
        """Handles are numbered in the order they are made, the same in every attempt."""
        self._serial += 1
        return self._serial

    def handle(self, value: Value) -> Tensor:
        """A new handle that denotes ``value``."""
        tensor = Tensor.of(self, self.new_serial(), value=value)
        if self.hints and ("promote", tensor._serial) in self.hints:
            self.promote(tensor)
        return tensor

    def storage_handle(self, storage: Storage) -> Tensor:
        """A new handle that denotes ``storage``."""
        return Tensor.of(self, self.new_serial(), storage=storage)

    def parameter(self, name: str, type: TensorType) -> Tensor:
        """A tensor parameter of the kernel."""
        for axis, size in enumerate(type.shape):
            if isinstance(size, Symbol) and size not in self.builder.dimensions:
                set_display_text(size, f"RUNTIME_GetInputShapeDim(ARG_{name},{axis})")
        return self.storage_handle(self.builder.parameter(name, type))

    def local(self, name: str, type: TensorType) -> Storage:
        self.builder.span = self.span
        return self.builder.allocate(name or f"local_{self._serial}", type)

    def checked(self, tensor: Tensor) -> Tensor:
        """``tensor``, which must belong to this trace, hold something, and live in an open block."""
        if tensor._tracer is not self:
            raise ForeignTensor(what=tensor.described())
        if tensor._storage is None and tensor._value is None:
            raise EmptyTensor(what=tensor.described())
        if tensor._home not in self.open_blocks:
            raise EscapedTensor(what=tensor.described())
        return tensor

    def type_of(self, handle: Tensor) -> TensorType:
        self.checked(handle)
        return handle._storage.type if handle._storage is not None else handle._value.type  # type: ignore[union-attr]

    def merged_type(self, tensor: Tensor) -> TensorType:
        """Type of a handle whose block may be closed already, when values are merged."""
        found = tensor._type()
        if found is None:
            raise EmptyTensor(what=tensor.described())
        return found

    def value_of(self, tensor: Tensor) -> Value:
        """What the tensor holds now; a storage is loaded as a whole."""
        self.checked(tensor)
        tensor._read = self.loops_opened
        if tensor._storage is None:
            return tensor._value  # type: ignore[return-value]
        return self._load(tensor._storage)

    def _load(self, storage: Storage) -> Value:
        """Load all of a storage; the previous load stands while nothing was written and the block is the same."""
        now = (self.blocks[-1], self.versions.get(storage.root, 0))
        known = self.loaded.get(storage)
        if known is not None and known[:2] == now:
            return known[2]
        self.builder.span = self.span
        value = self.builder.load(storage, hint=storage.name)
        self.loaded[storage] = (*now, value)
        return value

    def source_of(self, tensor: Tensor) -> Value | Storage:
        """The storage or value to read a part of."""
        self.checked(tensor)
        tensor._read = self.loops_opened
        return tensor._storage if tensor._storage is not None else tensor._value  # type: ignore[return-value]

    def storage_of(self, tensor: Tensor) -> Storage:
        """The storage to write into; a value is promoted to a local."""
        self.checked(tensor)
        if tensor._frozen is not None:
            raise tensor._frozen()
        if tensor._storage is None:
            self.promote(tensor)
        storage = tensor._storage
        assert storage is not None
        self.written.add(storage.root)
        self.versions[storage.root] = self.versions.get(storage.root, 0) + 1
        self.builder.span = self.span
        return storage

    def new_local(self, tensor: Tensor) -> None:
        """Make a tensor constructed in the kernel a local storage (or leave it empty until something is moved into it)."""
        tensor._tracer, tensor._serial, tensor._home = self, self.new_serial(), self.blocks[-1]
        sizes = [scalar_of(mark) for mark in tensor.marks or ()]
        if not sizes:
            return
        for axis, size in enumerate(sizes):
            if size is None or (isinstance(size, int) and size < 0) or tensor.marks[axis] is ...:  # type: ignore[index]
                raise TensorShape(problem=f"a local tensor needs sizes, got {tensor.marks!r}", span=self.span)
        type = TensorType(tensor.wanted_dtype, tuple(sizes))  # type: ignore[arg-type]
        tensor._storage = self.local(tensor._name, type)
        tensor._name = tensor._storage.name

    def adopt(self, target: Tensor, source: Tensor) -> None:
        """An empty local takes the shape and the contents of a value."""
        type = self.type_of(source)
        value = self.value_of(source)
        target._tracer, target._home = self, target._home if target._tracer is self else self.blocks[-1]
        with self.at_block(target._home):
            target._storage = self.local(target._name, type)
        self.store_whole(target, value)

    def alias_of_value(self, tensor: Tensor, sizes: tuple[Scalar, ...]) -> Tensor:
        """``reshape(inplace=True)`` of a value: it becomes memory, of which the result is another view."""
        key = ("promote", tensor._serial)
        if key not in self.hints:
            self.want(key)
        self.storage_of(tensor)
        return self.storage_handle(self.builder.alias(tensor._storage, sizes))  # type: ignore[arg-type]

    def promote(self, tensor: Tensor) -> None:
        """Make the handle denote a local storage that starts with the handle's value."""
        value = tensor._value
        assert value is not None
        depth = self.blocks.index(tensor._home)
        loop = next((loop for loop in self.loops if loop.depth > depth), None)
        if loop is not None and tensor._read >= loop.sequence:
            self.want(("promote", tensor._serial))
        with self.at_block(tensor._home):
            storage = self.local(tensor._name or value.hint, value.type)
            self.builder.store(storage, value)
        tensor._storage, tensor._value = storage, None

    # -- Recorder ----------------------------------------------------------------------------------------------------------------

    def record(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        """Append a row. Rows that mutate give back the handle they updated."""
        row = OPERATIONS[name]
        found = tuple([self.operand(o) for o in operands])
        span = self.span
        self.builder.span = span
        self._note_dynamic(name, found, span)
        result = self.builder.op(name, *found, **attributes)
        tile_rules.check(row, found, [v.type for v in (result if isinstance(result, tuple) else (result,))], self.warn)
        if row.mutates:
            target = operands[row.mutates[0]]
            self.store_whole(target, result if isinstance(result, Value) else result[0])
            return target
        if row.renews and isinstance(result, Value):
            self.renewals[result] = name
        return self.handle(result) if isinstance(result, Value) else [self.handle(value) for value in result]

    def note_unused(self, tensor: Tensor) -> None:
        """A statement that only computes a new state of a tensor has no effect, though it looks as if it had."""
        name = self.renewals.get(tensor._value) if tensor._value is not None else None
        if name is not None:
            cure = f"write the result back: t.move(pypto.{name}(t, ...))"
            self.warn(f"{name}() gives a new tensor and leaves its input as it is; here the result is dropped", help=cure)

    def operand(self, thing: Any) -> Operand:
        if isinstance(thing, Tensor):
            return self.value_of(thing)
        if isinstance(thing, SymbolicScalar):
            return thing.scalar
        return thing

    def is_tensor(self, thing: Any) -> bool:
        if isinstance(thing, Tensor):
            return True
        refuse_host_tensor(thing)
        return False

    def scalar(self, thing: Any) -> Scalar | None:
        """``thing`` as an ir Scalar when it is a number (numpy's included) or a SymbolicScalar."""
        if isinstance(thing, (int, float, SymbolicScalar, Expression)):
            return scalar_of(thing)
        item = getattr(thing, "item", None)
        if item is not None and type(thing).__module__ == "numpy" and not getattr(thing, "shape", ()):
            number = item()
            return number if isinstance(number, (int, float)) else None
        return None

    def _note_dynamic(self, name: str, operands: tuple[Any, ...], span: Span | None) -> None:
        """Said about the first such operation of a kernel: usually all of them are."""
        dynamic = any(isinstance(operand, Value) and not operand.type.is_static for operand in operands)
        if dynamic and not any(said.endswith(_DYNAMIC) for said, *_ in self.watch.warnings):
            headline = f"{name}(): an operand with a DYNAMIC axis is fine on the CPU, an NPU refuses it {_DYNAMIC}"
            self.warn(headline, help="take a view of static shape inside pypto.loop", portability=True, span=span)

    # -- effects -----------------------------------------------------------------------------------------------------------------

    def store_whole(self, target: Tensor, value: Value) -> None:
        storage = self.storage_of(target)
        self.builder.store(storage, value)

    def check(self, condition: Scalar, error: UserError) -> None:
        """Record that the run stops with ``error`` unless ``condition`` holds; known conditions are decided now."""
        error.span = self.span
        error.chain = error.span.callers if error.span is not None else ()
        if isinstance(condition, Expression):
            self.builder.span = error.span
            self.builder.effect("check", condition, error=error)
        elif not condition:
            raise error

    def append(self, statement: Statement) -> None:
        self.builder.append(statement)


def refuse_host_tensor(thing: Any) -> None:
    """torch tensors and numpy arrays are no operands: the kernel would bake in what they hold now."""
    module = type(thing).__module__
    if module.startswith("torch") and type(thing).__name__ in ("Tensor", "Parameter"):
        raise HostTensorInside(got="torch.Tensor")
    if module == "numpy" and type(thing).__name__ == "ndarray":
        raise HostTensorInside(got="numpy array")


def outside_span() -> Span | None:
    """The nearest caller outside this package; for blocks that are recorded while Python runs them."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("pypto."):
            return Span(frame.f_code.co_filename, frame.f_lineno, function=frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def scalar_kind(dtype: DataType) -> str:
    """Kind of the symbol that reading an element gives."""
    return "bool" if dtype is DataType.DT_BOOL else "float" if dtype.is_float else "int"
