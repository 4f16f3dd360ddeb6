"""``jit``: a decorated function, compiled for the arguments it meets.

A call binds its arguments, describes them (``frontend.interop``), looks for a compiled variant under the key they make, compiles one when
there is none (trace → ``compiler.compile_program``), and runs it. A variant also remembers the globals, cells and attributes that
tracing read; when one of them holds something else now, the kernel is traced again.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from pypto.compiler import CpuExecutable, Executable, compile_program, engine_of, reload
from pypto.cpu import guard as _guard
from pypto.cpu import kernel as _machine
from pypto.diagnostics import warn
from pypto.errors.arguments import (
    DynamicSizesDiffer,
    NotAFunction,
    OverlappingArguments,
    ReadOnlyOutput,
    TensorForConstant,
    TensorInContainer,
    WrongScalar,
)
from pypto.errors.base import UserError
from pypto.frontend import methods as _methods
from pypto.frontend.decorator import option_values
from pypto.frontend.entry import ScalarArgument, TensorArgument, Traced, named_dimension, trace_kernel
from pypto.frontend.interop import HostTensor, describe, is_array
from pypto.frontend.keys import constant_key, option_key
from pypto.frontend.signature import AUTO, SCALAR, TENSOR, Parameter, bound, checked_shape, parameters_of
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor
from pypto.frontend.trace import outside_span
from pypto.ir.symbols import Symbol
from pypto.options import scopes as options
from pypto.options.scopes import Scope
from pypto.runtime import kept
from pypto.runtime.fast import fast_call
from pypto.runtime.monitor import entered, watched

del _methods, _machine, _guard  # imported because it completes Tensor; because the first call should not pay for importing them

MOST_GUARDS = 8  # guards tried one after the other before the dispatcher
MANY = 8  # the specialisation at which a kernel says that one argument keeps recompiling it (rulings, "non-tensor arguments")


@dataclasses.dataclass
class Variant:
    """One compiled form of a kernel. ``written`` are positions among the distinct tensors that it writes."""

    traced: Traced
    executable: Executable


@dataclasses.dataclass
class Call:
    """A call, described: ``key`` finds the variant, ``arguments`` are for tracing, ``tensors`` and ``scalars`` for running."""

    key: tuple[Any, ...]
    arguments: dict[str, Any]
    tensors: list[HostTensor]
    names: list[str]
    scalars: list[Any]
    values: list[Any]


class Kernel:
    """A compiled-on-demand kernel. Calling it runs it on the given tensors, in place, and returns None.

    ``compilations`` counts the compiled variants so far. ``__wrapped__`` is the Python function.
    """

    def __init__(self, function: FunctionType, values: Mapping[str, Any], local_names: Mapping[str, Any]) -> None:
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.values = dict(values)
        self.parameters = parameters_of(function, local_names)
        self.variants: dict[tuple[Any, ...], list[Variant]] = {}
        self.compilations = 0
        self.fast: Callable[..., Any] | None = None
        self.fast_scope: Scope | None = None
        self.guards = 0
        self._lock = threading.RLock()
        self._seen: dict[str, set[Any]] = {}

    @property
    def function(self) -> FunctionType:
        return self.__wrapped__

    inlined_function = function  # called inside another kernel, its body becomes part of that one

    def check_inlined(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Nothing to check: the body says what does not fit."""

    @property
    def handler(self) -> Kernel:
        return self

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.__qualname__  # like a function: pickled by name, copied as itself

    def __repr__(self) -> str:
        return f"<pypto kernel {self.__qualname__}, {self.compilations} compiled>"

    def __call__(self, /, *arguments: Any, **keywords: Any) -> None:
        fast = self.fast
        if fast is not None and options.in_force() is self.fast_scope:
            if keywords or len(arguments) != len(self.parameters):
                arguments, keywords = self.by_position(arguments, keywords)
            fast(*arguments, **keywords)
        else:
            self.fast = None
            self.slow(*arguments, **keywords)

    def by_position(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call with all parameters by position, as guards want it; unchanged when it is not a right call."""
        rest = self.parameters[len(arguments) :]
        values = [keywords.get(p.name, p.default) for p in rest]
        known = sum(p.name in keywords for p in rest)
        if known != len(keywords) or inspect.Parameter.empty in values or not all(p.by_position and p.by_name for p in rest):
            return arguments, keywords
        return (*arguments, *values), {}

    def slow(self, /, *arguments: Any, **keywords: Any) -> None:
        """The way that binds, checks, compiles, and says what is wrong; leaves a guard for the next call like this one."""
        try:
            with options.scope(self.__name__, self.values):
                self.dispatch(arguments, keywords)
        except UserError as error:
            if error.span is None:
                error.span = outside_span()
            raise

    # -- one call ----------------------------------------------------------------------------------------------------------------

    def dispatch(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """Run the call with the variant that fits, compiling it first if need be."""
        call = self.described(arguments, keywords)
        variant = self.variant(call)
        self.check_memory(call, variant)
        if options.current().get("host.compile_stage") == 0:
            variant.executable.run(call.tensors, call.scalars)
            self.remember(call, variant)

    def remember(self, call: Call, variant: Variant) -> None:
        """Put a guard in front, so that the next call like this one takes the fast way."""
        scope = options.current().parent
        if not isinstance(variant.executable, CpuExecutable) or not all(p.by_position for p in self.parameters):
            return
        if self.fast is None or self.fast_scope is not scope:
            self.guards = 0
        elif self.guards == MOST_GUARDS:
            return
        behind = self.fast if self.guards else self.slow
        executable, traced = variant.executable, variant.traced
        names = [p.name for p in self.parameters]
        made = fast_call(
            executable.program, executable.kernel, traced.watch, traced.written, names, call.values, behind or self.slow
        )
        if made is not None:
            self.fast, self.fast_scope, self.guards = made, scope, self.guards + 1

    def described(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Call:
        values = bound(self.__name__, self.parameters, arguments, keywords)
        call = Call((), {}, [], [], [], values)
        key: list[Any] = [option_key(options.current())]
        dimensions: dict[str, tuple[Symbol, int, str]] = {}
        index = 0
        for parameter, value in zip(self.parameters, values, strict=True):
            if parameter.kind == TENSOR or (parameter.kind == AUTO and is_array(value)):
                key.append(self.add_tensor(call, parameter, index, value, dimensions))
                index += 1
            elif parameter.kind == SCALAR:
                key.append(self.add_scalar(call, parameter, value))
            else:
                key.append(self.add_constant(call, parameter, value))
        call.key = tuple(key)
        return call

    def add_tensor(
        self, call: Call, parameter: Parameter, index: int, value: Any, dimensions: dict[str, tuple[Symbol, int, str]]
    ) -> Any:
        host = describe(value, self.__name__, parameter.name, index)
        marks = checked_shape(self.__name__, parameter, index, host)
        shape = tuple(
            mark if isinstance(mark, int) else self.dimension(parameter.name, axis, mark, host.shape[axis], dimensions)
            for axis, mark in enumerate(marks)
        )
        original = next((k for k, other in enumerate(call.tensors) if _same_memory(host, other)), None)
        if original is None:
            call.tensors.append(host)
            call.names.append(parameter.name)
            call.arguments[parameter.name] = TensorArgument(host.dtype, shape)
            return (host.dtype, marks, None)
        # Sizes are read from the argument that came first: another shape of the same memory has no DYNAMIC axes.
        name = call.names[original]
        alike = host.shape == call.tensors[original].shape
        shape = call.arguments[name].shape if alike else host.shape
        call.arguments[parameter.name] = TensorArgument(host.dtype, shape, name)
        return (host.dtype, marks if alike else host.shape, original, alike)

    def dimension(
        self, name: str, axis: int, mark: str | None, size: int, dimensions: dict[str, tuple[Symbol, int, str]]
    ) -> Symbol:
        """The symbol of a DYNAMIC axis; axes of one ``frontend.dynamic`` name share it and must agree."""
        if mark is None:
            return named_dimension(name, axis)
        symbol, known, other = dimensions.setdefault(mark, (Symbol(mark, "int", 0, 2**31 - 1), size, name))
        if known != size:
            raise DynamicSizesDiffer(kernel=self.__name__, axis=mark, first=known, one=other, second=size, other=name)
        return symbol

    def add_scalar(self, call: Call, parameter: Parameter, value: Any) -> Any:
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, SymbolicScalar):
            number = number.concrete()
        fits = isinstance(number, float) or (isinstance(number, int) and -(2**63) <= number < 2**63)
        if not fits:
            raise WrongScalar(kernel=self.__name__, name=parameter.name, got=f"{type(value).__name__} {value!r}"[:100])
        kind = "float" if isinstance(number, float) else "int"
        call.scalars.append(number if kind == "float" else int(number))
        call.arguments[parameter.name] = ScalarArgument(kind)
        return kind

    def add_constant(self, call: Call, parameter: Parameter, value: Any) -> Any:
        if is_array(value) and not isinstance(value, np.ndarray):
            raise TensorForConstant(kernel=self.__name__, name=parameter.name)
        if isinstance(value, (list, tuple)) and any(is_array(v) for v in value):
            raise TensorInContainer(kernel=self.__name__, name=parameter.name, container=type(value).__name__)
        call.arguments[parameter.name] = value
        return constant_key(value)

    # -- variants ----------------------------------------------------------------------------------------------------------------

    def variant(self, call: Call) -> Variant:
        """The compiled form for this call."""
        found = self.find(call.key)
        if found is None:
            with self._lock:
                found = self.find(call.key) or self.compile(call)
        return found

    def find(self, key: tuple[Any, ...]) -> Variant | None:
        for variant in self.variants.get(key, ()):
            if variant.traced.watch.holds():
                return variant
        return None

    def compile(self, call: Call) -> Variant:
        made = self.kept(call)
        self.compilations += 1
        self.variants[call.key] = [made, *self.variants.get(call.key, ())][:MANY]
        self.note_specialisations(call)
        return made

    def kept(self, call: Call) -> Variant:
        """The variant from the disk when an earlier process left it there, else newly traced and compiled."""
        scope = options.current()
        parts = None
        if kept.enabled() and engine_of(scope) == "cpu":
            signature = [part for p, part in zip(self.parameters, call.key[1:], strict=True) if _described(call, p)]
            parts = kept.parts_of(
                self.__wrapped__, call.arguments, [p.name for p in self.parameters] + signature, dict(scope.values)
            )
        found = kept.find(self.__wrapped__, parts) if parts is not None else None
        if found is not None:
            stored, watch = found
            return Variant(
                Traced(stored.program, watch, stored.written), reload(stored.program, stored.generated, stored.object_bytes)
            )
        start = time.perf_counter()
        with watched(self.__name__):
            entered("trace")
            traced = trace_kernel(self.__wrapped__, call.arguments, self.__name__)
            made = Variant(traced, compile_program(traced.program))
        if parts is not None:
            kept.keep(self.__wrapped__, parts, traced, made.executable, time.perf_counter() - start)
        return made

    def note_specialisations(self, call: Call) -> None:
        """Say so once when an argument keeps recompiling the kernel."""
        for parameter, part in zip(self.parameters, call.key[1:], strict=True):
            seen = self._seen.setdefault(parameter.name, set())
            seen.add(part)
            if len(seen) == MANY and parameter.kind != SCALAR:
                tensor = isinstance(call.arguments[parameter.name], TensorArgument)
                cure = "mark the axis pypto.DYNAMIC" if tensor else f"annotate it: {parameter.name}: pypto.SymbolicScalar"
                warn(
                    f"kernel '{self.__name__}' has been compiled for {MANY} different values of '{parameter.name}'",
                    outside_span(),
                    help=f"if it changes from call to call, {cure} (pypto.SymbolicScalar for numbers)",
                )

    def check_memory(self, call: Call, variant: Variant) -> None:
        """What the kernel writes must be writable and not half of something else."""
        written = variant.traced.written
        for name, host in zip(call.names, call.tensors, strict=True):
            if name in written and not host.writable:
                raise ReadOnlyOutput(kernel=self.__name__, name=name)
        if len(call.tensors) > 1:
            self.check_overlaps(call, written)

    def check_overlaps(self, call: Call, written: frozenset[str]) -> None:
        regions = sorted(zip(call.tensors, call.names, strict=True), key=lambda pair: pair[0].address)
        for position, (one, name) in enumerate(regions):
            end = one.address + one.bytes
            for other, other_name in regions[position + 1 :]:
                if other.address >= end:
                    break
                hit = name if name in written else other_name if other_name in written else ""
                if hit and other.bytes:
                    raise OverlappingArguments(kernel=self.__name__, one=name, other=other_name, written=hit)


def _described(call: Call, parameter: Parameter) -> bool:
    """Whether the parameter is a tensor or a run-time scalar of this call: its part of the key is data."""
    return isinstance(call.arguments[parameter.name], (TensorArgument, ScalarArgument))


def _same_memory(a: HostTensor, b: HostTensor) -> bool:
    return a.address == b.address and a.bytes == b.bytes > 0 and a.dtype is b.dtype


# -- the decorator -------------------------------------------------------------------------------------------------------------------


def jit(function: Any = None, **given: Any) -> Any:
    """Make a kernel of a function; use bare (``@pypto.jit``) or with options (``@pypto.jit(run_options={"engine": "reference"})``).

    Options are dictionaries per family: ``host_options``, ``codegen_options``, ``pass_options``, ``runtime_options``,
    ``verify_options``, ``debug_options``, ``run_options``, ``cpu_options``; they hold for this kernel only. ``new_ir`` and
    ``create_new_logical_tensor`` are accepted without effect. Raises ``TypeError`` for anything but a function and for unknown options.

    >>> import numpy as np, pypto
    >>> @pypto.jit
    ... def double(x: pypto.Tensor([4], pypto.DT_FP32), out: pypto.Tensor([4], pypto.DT_FP32)):
    ...     out[:] = x * 2.0
    """
    values = option_values(given)
    local_names = sys._getframe(1).f_locals

    def decorate(target: Any) -> Kernel:
        if isinstance(target, Kernel):
            target = target.__wrapped__
        if not isinstance(target, FunctionType):
            raise NotAFunction(got=f"{type(target).__name__} {target!r}"[:100], span=outside_span())
        return Kernel(target, values, local_names if "<locals>" in target.__qualname__ else {})

    return decorate if function is None else decorate(function)


__all__ = ["Kernel", "Tensor", "jit"]
