"""The op table: an operation is defined in one place, as one row.

A row is written as a decorator on the public function. The function is the signature users see, its docstring (with an example
that runs) is the reference page, its body turns arguments into operands and attributes and calls ``record``; the decorator's
columns say the rest::

    @operation(
        kind=Kind.ELEMENTWISE,
        infer=same_type(ARITHMETIC),                  # (operands, attributes) -> result TensorTypes; raises from the catalogue
        compute=lambda a, b: a + b,                   # meaning, on the *valid regions* as numpy arrays; also the reference engine
        lower=lambda b, x, y: b.add(x, y),            # CPU: on vectors of the compute type (see Vectors), or a tag for its kind
        npu=Unit("V", "VADD"),                        # pipe and instruction of the NPU model
        method=True, operators=("__add__", "__radd__"),
    )
    def add(input, other):
        '''...'''
        return binary("add", input, other)

What follows from a row: ``pypto.add``, ``Tensor.add``, the operator, the reference page, the doctest, the engine test matrix,
``pypto ops``.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from pypto.diagnostics import Span, warn
from pypto.dtypes import DataType
from pypto.ir.program import Operand, TensorType


class Kind(enum.Enum):
    """How the engines iterate an op. The CPU engine has one lowering per kind, steered by the row's ``lower``."""

    ELEMENTWISE = "elementwise"  # lower(b, *vectors, **attributes) -> vector
    REDUCTION = "reduction"  # lower = Reduction(...)
    MATMUL = "matmul"
    CREATION = "creation"  # full, arange
    MOVEMENT = "movement"  # view, transpose, permute, reshape, concat, expand_clone, clone, cast of layout only
    INDEXING = "indexing"  # gather, index_select, scatter_update …
    SCAN = "scan"
    SORT = "sort"
    COMPOSITE = "composite"  # the public function records other ops; there is no node of this name
    OTHER = "other"


@dataclass(frozen=True)
class Unit:
    """NPU columns: the pipe that executes the op ("V", "M", "MTE2", "FIX", "S") and its instruction's name."""

    pipe: str
    instruction: str


@dataclass(frozen=True)
class Reduction:
    """CPU column of a reduction: ``combine`` is "add", "mul", "max", "min", "argmax" or "argmin"."""

    combine: str


class Vectors(Protocol):
    """What an elementwise ``lower`` may use: straight-line arithmetic on vectors of one compute type. cpu/emit implements it.

    Floats: bf16/fp16/fp8 arrive widened to fp32 and the result is rounded once by the engine; fp32 and fp64 arrive as they are.
    Integers arrive in their own width, wrap, and know their signedness from ``dtype``; comparisons give masks, stored as bool.
    ``constant(value)`` is a splat of the operand type. ``call(name, x)`` is a function of cpu/vectormath ("exp", "tanh" …).
    """

    dtype: DataType

    def constant(self, value: float | int) -> Any: ...
    def add(self, a: Any, b: Any) -> Any: ...
    def sub(self, a: Any, b: Any) -> Any: ...
    def mul(self, a: Any, b: Any) -> Any: ...
    def div(self, a: Any, b: Any) -> Any: ...
    def fma(self, a: Any, b: Any, c: Any) -> Any: ...
    def neg(self, a: Any) -> Any: ...
    def abs(self, a: Any) -> Any: ...
    def min(self, a: Any, b: Any) -> Any: ...  # NaN propagates
    def max(self, a: Any, b: Any) -> Any: ...  # NaN propagates
    def sqrt(self, a: Any) -> Any: ...
    def floor(self, a: Any) -> Any: ...
    def ceil(self, a: Any) -> Any: ...
    def trunc(self, a: Any) -> Any: ...
    def round_even(self, a: Any) -> Any: ...
    def copysign(self, a: Any, b: Any) -> Any: ...
    def compare(self, predicate: str, a: Any, b: Any) -> Any: ...  # "eq ne lt le gt ge", "uno" (either is NaN)
    def select(self, mask: Any, a: Any, b: Any) -> Any: ...
    def mask_and(self, a: Any, b: Any) -> Any: ...
    def mask_or(self, a: Any, b: Any) -> Any: ...
    def mask_not(self, a: Any) -> Any: ...
    def bit_and(self, a: Any, b: Any) -> Any: ...
    def bit_or(self, a: Any, b: Any) -> Any: ...
    def bit_xor(self, a: Any, b: Any) -> Any: ...
    def shift_left(self, a: Any, b: Any) -> Any: ...
    def shift_right(self, a: Any, b: Any) -> Any: ...  # arithmetic when signed
    def divide_integers(self, a: Any, b: Any) -> Any: ...  # truncating; zero divisor and overflow give 0, never a trap
    def remainder_integers(self, a: Any, b: Any) -> Any: ...  # sign of the dividend; same guards
    def convert(
        self, a: Any, dtype: DataType
    ) -> Any: ...  # numeric conversion between compute types (float→int truncates, saturates)
    def bits(self, a: Any) -> Any: ...  # float vector → integer vector of the same width
    def from_bits(self, a: Any) -> Any: ...
    def call(self, name: str, *arguments: Any) -> Any: ...


Infer = Callable[[Sequence[Operand], Mapping[str, Any]], Sequence[TensorType]]


@dataclass(frozen=True)
class Operation:
    """One row. ``lower is None`` means: the CPU engine calls the reference for this op (``pypto ops`` says so)."""

    name: str
    kind: Kind
    function: Callable[..., Any]
    infer: Infer
    compute: Callable[..., Any] | None
    lower: Any
    npu: Unit | None
    method: bool | str = False
    operators: tuple[str, ...] = ()
    dtypes: tuple[DataType, ...] = ()  # element types (of the first tensor operand) accepted here
    chip: tuple[DataType, ...] = ()  # those the default chip accepts; others give a portability warning (empty: no difference)
    whole: bool = False  # compute gets full-shape arrays instead of valid regions (their padding is undefined)
    sized: bool = False  # compute also gets ``extent=``, the valid extent of result 0
    public: bool = True  # whether ``pypto.<name>`` exists
    mutates: tuple[int, ...] = ()  # operands that the op updates: result 0 is operand 0 after the update
    renews: tuple[int, ...] = ()  # operands of which result 0 is a new state: stored over it, the update happens in place
    notes: str = ""
    axes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def doc(self) -> str:
        return self.function.__doc__ or ""


OPERATIONS: dict[str, Operation] = {}

_REQUIRED = ("kind", "infer", "compute", "lower", "npu")


def operation(*, name: str | None = None, **columns: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated public function as a row. A missing column or docstring fails here, at import, naming the op."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        row = name or function.__name__
        missing = [column for column in _REQUIRED if column not in columns and columns.get("kind") is not Kind.COMPOSITE]
        if not function.__doc__ and sys.flags.optimize < 2:  # -OO drops docstrings
            missing.append("docstring")
        if missing:
            raise TypeError(f"operation {row}: missing column(s) {', '.join(missing)}")
        if row in OPERATIONS:
            raise TypeError(f"operation {row} is defined twice")
        filled = {"infer": None, "compute": None, "lower": None, "npu": None, **columns}
        OPERATIONS[row] = Operation(name=row, function=function, **filled)
        return function

    return enter


class Recorder(Protocol):
    """Who listens when an op is called: the front end while tracing. Handles are what users hold (``pypto.Tensor``)."""

    def record(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        """Record a row on handles, ``Literal`` and numbers; returns one handle, or a list when the row has several results."""

    def type_of(self, handle: Any) -> TensorType: ...

    def is_tensor(self, thing: Any) -> bool: ...

    def scalar(self, thing: Any) -> Any:
        """``thing`` as an ir Scalar when it is a number or a SymbolicScalar, else None."""

    # A recorder may have an attribute ``span``: the place that warnings of ``record`` name.


RECORDER: ContextVar[Recorder | None] = ContextVar("pypto_recorder", default=None)


def recorder() -> Recorder:
    """The listener, or the catalogue's error that ops are only callable inside a kernel."""
    found = RECORDER.get()
    if found is None:
        from pypto.errors.operations import OutsideKernel

        raise OutsideKernel()
    return found


def record(name: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
    """Record a row, after noting what the default chip would refuse."""
    listener = recorder()
    tensors = [thing for thing in operands if listener.is_tensor(thing)]
    if tensors:
        _note_portability(OPERATIONS[name], listener.type_of(tensors[0]).dtype, getattr(listener, "span", None))
    return listener.record(name, operands, attributes or {})


def _note_portability(row: Operation, dtype: DataType, span: Span | None) -> None:
    if row.chip and dtype in row.dtypes and dtype not in row.chip:
        warn(
            f"{row.name} of {dtype.name} runs on the CPU; the default chip accepts {', '.join(d.name for d in row.chip)}",
            span,
            portability=True,
        )
