"""``trace``: a Python function and what its parameters are -> a tensor program.

The kernel's body is interpreted once; when that shows that something must be known from the start (a value that is written in place
inside a loop that has read it, a carried number that becomes a float), it is interpreted again with that knowledge. Nothing is shown
to the user before the trace is final.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import pypto.frontend.calls
import pypto.frontend.methods
import pypto.frontend.statements  # noqa: F401
from pypto.dtypes import DataType
from pypto.errors.base import InternalError, UserError
from pypto.errors.frontend import NothingWritten
from pypto.frontend.frames import Watch
from pypto.frontend.interpret import Interpreter, deep_recursion, stamp
from pypto.frontend.python import Code, code_of, refuse_variable_arguments
from pypto.frontend.scopes import check_scopes
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor
from pypto.frontend.trace import Tracer
from pypto.ir.program import Program, Storage, TensorType
from pypto.ir.symbols import Scalar, Symbol
from pypto.ops.table import RECORDER
from pypto.options import scopes as options

ATTEMPTS = 12  # each attempt adds knowledge for everything it met; more would mean that the kernel is not the same every time


@dataclass(frozen=True)
class TensorArgument:
    """A tensor parameter: element type and sizes. A size is an int, or a ``Symbol`` for an axis of any size.

    ``alias_of`` names an earlier parameter that is the same memory.
    """

    dtype: DataType
    shape: tuple[Scalar, ...]
    alias_of: str = ""


@dataclass(frozen=True)
class ScalarArgument:
    """A run-time scalar parameter of kind ``"int"`` or ``"float"``."""

    kind: str = "int"


@dataclass
class Traced:
    """A finished trace. ``written`` are the names of the parameters that the kernel writes, ``watch`` what it depends on."""

    program: Program
    watch: Watch
    written: frozenset[str] = field(default_factory=frozenset)


def trace(function: FunctionType, arguments: Mapping[str, Any], name: str = "") -> Program:
    """The program of a kernel.

    ``arguments`` gives every parameter a ``TensorArgument``, a ``ScalarArgument``, or the constant it stands for. Catalogue errors carry
    the user's line; exceptions of the user's own code pass.

    >>> from pypto.frontend.entry import TensorArgument, trace
    >>> import pypto
    >>> def double(x, out):
    ...     out[:] = x + x
    >>> four = TensorArgument(pypto.DT_FP32, (4,))
    >>> trace(double, {"x": four, "out": four}).name
    'double'
    """
    return trace_kernel(function, arguments, name).program


def trace_kernel(function: FunctionType, arguments: Mapping[str, Any], name: str = "") -> Traced:
    """``trace``, with what the caller of a kernel needs to know besides."""
    code = code_of(function)
    if code.problem is not None:
        raise code.problem
    refuse_variable_arguments(code)
    hints: dict[Any, Any] = {}
    for _ in range(ATTEMPTS):
        tracer = Tracer(name or function.__name__, hints)
        error: Exception | None = None
        traced = None
        try:
            with options.scope("jit_scope"), deep_recursion():
                traced = _attempt(tracer, function, code, arguments)
        except Exception as caught:  # kept, whatever it is, until it is clear that this attempt is the one that counts
            error = caught
        if all(key in hints and hints[key] == value for key, value in tracer.wanted.items()):
            return _final(tracer, traced, error)
        hints.update(tracer.wanted)
    raise InternalError("tracing does not come to rest", step="trace")


def _final(tracer: Tracer, traced: Traced | None, error: Exception | None) -> Traced:
    for show in tracer.later:
        show()
    if error is not None:
        raise error
    assert traced is not None
    return traced


def _attempt(tracer: Tracer, function: FunctionType, code: Code, arguments: Mapping[str, Any]) -> Traced:
    interpreter = Interpreter(tracer)
    frame = interpreter.frame_of(function, None)
    frame.kernel = True
    token = RECORDER.set(tracer)
    try:
        values = {name: parameter(tracer, name, argument) for name, argument in arguments.items()}
        for name, argument in arguments.items():
            if isinstance(argument, TensorArgument) and argument.alias_of:
                values[name] = aliased(tracer, name, argument, values[argument.alias_of])
        frame.parameters = {name: value for name, value in values.items() if isinstance(arguments[name], TensorArgument)}
        interpreter.call(frame, values)
        frame.node = code.node
        return finish(tracer, code, list(frame.parameters))
    finally:
        RECORDER.reset(token)


def parameter(tracer: Tracer, name: str, argument: Any) -> Any:
    """What the body sees of an argument."""
    if isinstance(argument, TensorArgument):
        return None if argument.alias_of else tracer.parameter(name, TensorType(argument.dtype, argument.shape))
    if isinstance(argument, ScalarArgument):
        return SymbolicScalar(tracer.builder.scalar_parameter(name, argument.kind))
    return argument


def aliased(tracer: Tracer, name: str, argument: TensorArgument, original: Tensor) -> Tensor:
    """The same memory under another name, and possibly in another shape."""
    storage = original._storage
    assert storage is not None
    if storage.type.shape == argument.shape:
        return original
    return tracer.storage_handle(tracer.builder.alias(storage, argument.shape, name))


def finish(tracer: Tracer, code: Code, names: list[str]) -> Traced:
    """Close the program and check what can only be seen at its end."""
    span = code.span(signature_node(code))
    storages = [p for p in tracer.builder.parameters if isinstance(p, Storage)]
    written = [storage.name for storage in storages if storage in tracer.written]
    if not written:
        raise NothingWritten(name=tracer.builder.name, parameters=", ".join(names) or "it has none", span=span)
    program = tracer.builder.finish(span=span)
    check_scopes(program)
    return Traced(program, tracer.watch.settle(), frozenset(written))


def signature_node(code: Code) -> ast.AST:
    """A node that covers the first line of the definition only."""
    found = getattr(code.node, "pypto_head", None)
    if found is None:
        node = code.node
        found = ast.copy_location(ast.Pass(), node)
        found.end_lineno, found.end_col_offset = node.lineno, node.col_offset + 3
        node.pypto_head = found  # type: ignore[union-attr]
    return found


def traced_error(error: UserError, tracer: Tracer) -> UserError:
    """An error that arose outside of any frame, with the place of the kernel."""
    return stamp(error, tracer)


def named_dimension(name: str, axis: int) -> Symbol:
    """The symbol of a DYNAMIC axis."""
    return Symbol(f"{name}_{axis}", "int", 0, 2**31 - 1)  # sizes: tensor API section 8.3
