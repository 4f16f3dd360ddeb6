"""Calls: plain functions with source are followed, a few builtins know symbols, everything else runs as Python."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import sysconfig
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from pypto.errors.base import InternalError, UserError
from pypto.errors.frontend import ForeignFunction, NoSource, SymbolicInNative, SymbolicIteration, WrongCall, WrongValue
from pypto.errors.symbols import NotConcrete
from pypto.frontend.expressions import items, iterate
from pypto.frontend.frames import Frame
from pypto.frontend.functions import InterpretedFunction, bind, shown_signature
from pypto.frontend.interpret import Interpreter, evaluates
from pypto.frontend.python import code_of
from pypto.frontend.symbolic import SymbolicScalar, symbolic_max, symbolic_min
from pypto.frontend.tensor import Tensor
from pypto.frontend.values import collapse, is_symbolic, truth_of
from pypto.ir import symbols as ir
from pypto.ops.table import OPERATIONS

OWN = "pypto"
_LIBRARIES = tuple(
    path for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} if path is not None
)


@evaluates(ast.Call)
def call(interpreter: Interpreter, frame: Frame, node: ast.Call) -> Any:
    function = interpreter.value(frame, node.func)
    arguments = tuple(items(interpreter, frame, node.args))
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        value = interpreter.value(frame, keyword.value)
        if keyword.arg is None:
            keywords.update(value)
        else:
            keywords[keyword.arg] = value
    frame.node = node
    return invoke(interpreter, frame, function, arguments, keywords)


def invoke(interpreter: Interpreter, frame: Frame, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call ``function`` the way its kind asks for."""
    kind = type(function)
    if kind is FunctionType:
        if not followed(function):
            return native(interpreter, function, arguments, keywords)
        return follow(interpreter, frame, function, arguments, keywords)
    if kind is MethodType:
        return invoke(interpreter, frame, function.__func__, (function.__self__, *arguments), keywords)
    if kind is InterpretedFunction:
        return function.run(arguments, keywords)
    if kind is functools.partial:
        merged = {**function.keywords, **keywords}
        return invoke(interpreter, frame, function.func, (*function.args, *arguments), merged)
    if hasattr(function, "inlined_function"):  # another kernel, or a pypto.frontend.function
        function.check_inlined(arguments, keywords)
        return follow(interpreter, frame, function.inlined_function, arguments, keywords)
    special = SPECIAL.get(id(function))
    if special is not None:
        return special(interpreter, *arguments, **keywords) if special in _NEED_INTERPRETER else special(*arguments, **keywords)
    own_call = next((vars(c)["__call__"] for c in kind.__mro__ if "__call__" in vars(c)), None)
    if type(own_call) is FunctionType and followed(own_call):
        return follow(interpreter, frame, own_call, (function, *arguments), keywords)
    return native(interpreter, function, arguments, keywords)


# -- following -----------------------------------------------------------------------------------------------------------------

_followed: dict[int, tuple[Any, bool]] = {}
_CANNOT = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def followed(function: FunctionType) -> bool:
    """Whether a call is interpreted: a plain function of the user's, whose source can be read and is within the language."""
    compiled = function.__code__
    found = _followed.get(id(compiled))
    if found is None:
        found = (compiled, not why_native(function))
        _followed[id(compiled)] = found
    return found[1]


def why_native(function: Any) -> str:
    """Why a function runs as plain Python; empty when it is followed."""
    if type(function) is not FunctionType:
        return "it is not a plain Python function"
    if function.__code__.co_flags & _CANNOT:
        return "it is a generator or coroutine"
    module = function.__module__ or ""
    if module.partition(".")[0] == OWN and not module.startswith(f"{OWN}.fuzz"):
        return f"it belongs to {OWN}"
    if _of_library(function, module):
        return "it belongs to a library"
    try:
        code = code_of(function)
    except NoSource as error:
        return error.facts["reason"]
    problem = code.problem
    return "" if problem is None else f"it uses `{problem.facts['what']}` at line {problem.span.line if problem.span else '?'}"


def _of_library(function: FunctionType, module: str) -> bool:
    """Standard library, or an installed package that does not use this one."""
    if module.partition(".")[0] in sys.stdlib_module_names and module != "__main__":
        return True
    file = function.__code__.co_filename
    installed = any(file.startswith(path) for path in _LIBRARIES)
    return installed and not any(
        getattr(value, "__name__", "") == OWN or (getattr(value, "__module__", None) or "").startswith(OWN + ".")
        for value in list(function.__globals__.values())
    )


def follow(
    interpreter: Interpreter, frame: Frame, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Interpret a call; the callee's names are its own."""
    code = code_of(function)
    values = bind(code, inspect.signature(function, follow_wrapped=False), arguments, keywords)
    inner = interpreter.frame_of(function, frame)
    frame.watch.saw_function(function)
    return interpreter.call(inner, values)


# -- running as Python -----------------------------------------------------------------------------------------------------------


def native(interpreter: Interpreter, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call as Python does. Exceptions of this package's functions become catalogue errors, the user's own pass."""
    refuse_foreign(function, arguments)
    if not (function in _PURE or _is_own(function)):
        interpreter.tracer.watch.opaque = f"{name_of(function)}() ran as plain Python"
    try:
        return function(*arguments, **keywords)
    except NotConcrete as error:
        raise in_native(function, error)
    except UserError:
        raise
    except (InternalError, KeyboardInterrupt, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever a function that is not followed raises: the user's passes on, ours is translated
        if not _is_own(function) or _users_code(error):
            raise
        raise own_failure(function, error) from error


_PURE_BUILTINS = (
    *(all, any, ascii, bin, bytes, chr, complex, dict, divmod, enumerate, filter, format, frozenset, hasattr, hex, isinstance),
    *(issubclass, iter, len, list, map, next, oct, ord, pow, repr, reversed, set, slice, sorted, str, tuple, type, zip),
)


class _Pure:
    """Native callables whose result depends on their arguments alone: most builtins, functions of math and operator, methods of values."""

    builtins = frozenset(map(id, _PURE_BUILTINS))
    modules = frozenset({"math", "_operator", "operator", "cmath"})
    values = (str, bytes, int, float, list, tuple, dict, set, frozenset)

    def __contains__(self, function: Any) -> bool:
        if id(function) in self.builtins or getattr(function, "__module__", None) in self.modules:
            return True
        return isinstance(getattr(function, "__self__", None), self.values)


_PURE = _Pure()


def refuse_foreign(function: Any, arguments: tuple[Any, ...]) -> None:
    """Functions of torch and numpy work on arrays, not on what stands for one while a kernel is traced."""
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    package = module.partition(".")[0]
    if package not in ("torch", "numpy") or not any(isinstance(a, Tensor) for a in arguments):
        return
    name = str(getattr(function, "__name__", function))
    here = f"use pypto.{name}" if name in OPERATIONS else "use the operations of pypto, or compute it before the kernel"
    raise ForeignFunction(function=f"{package}.{name}", advice=here)


def own_failure(function: Any, error: Exception) -> Exception:
    """What an exception of one of our functions is: a wrong argument, or a defect."""
    name = name_of(function)
    problem = str(error).removeprefix(f"{name}() ")
    facts: dict[str, Any] = {"function": name, "problem": problem, "signature": f"pypto.{name}{_signature(function)}"}
    if isinstance(error, NameError):
        return InternalError(f"{type(error).__name__}: {error}", step=f"trace, {name_of(function)}")
    return WrongCall(**facts) if isinstance(error, (TypeError, AttributeError)) else WrongValue(**facts)


def _signature(function: Any) -> str:
    try:
        return shown_signature(inspect.signature(function))
    except (TypeError, ValueError):  # made in C
        return "(...)"


def in_native(function: Any, error: NotConcrete) -> UserError:
    """A symbol was asked for its value inside ``function``; say so, unless asking was the call itself."""
    if function in (int, float, bool) or _is_own(function) or error.span is not None:
        return error
    reason = why_native(function) or "it was called by Python's own code"
    return SymbolicInNative(function=name_of(function), reason=reason, text=error.facts.get("text", "?"))


def _is_own(function: Any) -> bool:
    module = getattr(function, "__module__", None) or type(function).__module__
    return str(module).partition(".")[0] == OWN


def _users_code(error: BaseException) -> bool:
    """Whether the exception arose in code that is not this package's (a callback of the user)."""
    traceback, last = error.__traceback__, ""
    while traceback is not None:
        last = traceback.tb_frame.f_globals.get("__name__", "")
        traceback = traceback.tb_next
    return last.partition(".")[0] not in (OWN, "numpy", "ml_dtypes", "inspect")


def name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__


# -- builtins that know symbols ------------------------------------------------------------------------------------------------------


def _extremum(python: Callable[..., Any], symbolic: Callable[..., Any]) -> Callable[..., Any]:
    def extremum(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) > 1 and not keywords and any(isinstance(a, SymbolicScalar) for a in arguments):
            return collapse(symbolic(*arguments))
        return python(*arguments, **keywords)

    return extremum


def range_(*arguments: Any) -> Any:
    """``range`` of numbers; of a symbol it is a mistake with a well-known cure."""
    bounds = [collapse(a) for a in arguments]
    for bound in bounds:
        if is_symbolic(bound):
            raise SymbolicIteration(function="range", text=str(bound))
    return range(*bounds)


def int_(value: Any = 0, *base: Any) -> Any:
    if not is_symbolic(value) or base:
        return int(value, *base)
    return value if value.kind == "int" else SymbolicScalar(ir.apply("int", value.scalar))


def float_(value: Any = 0.0) -> Any:
    if not is_symbolic(value):
        return float(value)
    return value if value.kind == "float" else SymbolicScalar(ir.apply("float", value.scalar))


def bool_(value: Any = False) -> Any:
    return collapse(SymbolicScalar(truth_of(value))) if is_symbolic(value) else bool(value)


def abs_(value: Any) -> Any:
    if is_symbolic(value):
        return SymbolicScalar(ir.maximum(value.scalar, ir.neg(value.scalar)))
    if isinstance(value, Tensor):
        return value.abs()  # type: ignore[operator]
    return abs(value)


def sum_(values: Any, *start: Any, **keywords: Any) -> Any:
    """Python's sum; of a tensor it is ``pypto.sum``, as where the names of the package are imported with ``*``."""
    if isinstance(values, Tensor):
        return OPERATIONS["sum"].function(values, *start, **keywords)
    total = keywords.get("start", 0) if not start else start[0]
    for value in iterate(values):
        total = total + value
    return collapse(total)


def round_(value: Any, *digits: Any, **keywords: Any) -> Any:
    return (OPERATIONS["round"].function if isinstance(value, Tensor) else round)(value, *digits, **keywords)


def print_(interpreter: Interpreter, *values: Any, **keywords: Any) -> None:
    """Python's print, shown once the trace is final, with the note that it runs once."""
    tracer = interpreter.tracer
    words = [str(value) for value in values]
    tracer.warn(
        "print() in a kernel runs while the kernel is traced, not per iteration",
        help="pypto.print(value, ...) prints when the kernel runs",
    )
    tracer.watch.opaque = "print() was called"
    tracer.later.append(lambda: print(*words, **keywords))


def getattr_(interpreter: Interpreter, owner: Any, name: str, *default: Any) -> Any:
    value = getattr(owner, name, *default)
    interpreter.tracer.watch.saw_attribute(owner, name, value)
    return value


SPECIAL: dict[int, Callable[..., Any]] = {
    id(builtins.min): _extremum(min, symbolic_min),
    id(builtins.max): _extremum(max, symbolic_max),
    id(builtins.range): range_,
    id(builtins.int): int_,
    id(builtins.float): float_,
    id(builtins.bool): bool_,
    id(builtins.abs): abs_,
    id(builtins.sum): sum_,
    id(builtins.round): round_,
    id(builtins.print): print_,
    id(builtins.getattr): getattr_,
}
_NEED_INTERPRETER = (print_, getattr_)
