"""Statements that mean what they mean in Python, and the binding of names.

One thing is ours: binding a new value to the name of a kernel's tensor parameter that was never read writes the value into the
parameter, with a warning (ruling "rebinding a tensor parameter").
"""

from __future__ import annotations

import ast
from typing import Any

from pypto.errors.frontend import (
    KernelAssertion,
    KernelReturns,
    OutputRebound,
    RaiseInBranch,
    SymbolicCondition,
    UnboundLocal,
    UnknownAttribute,
    UnsupportedStatement,
)
from pypto.frontend import branches, loops
from pypto.frontend.control import DeviceRange
from pypto.frontend.expressions import check_key, inplace, iterate
from pypto.frontend.frames import MISSING, Frame
from pypto.frontend.functions import InterpretedFunction
from pypto.frontend.interpret import BREAK, CONTINUE, Interpreter, Signal, executes
from pypto.frontend.tensor import Tensor
from pypto.frontend.values import collapse, is_symbolic, truth_of
from pypto.ir.program import Value
from pypto.options import scopes as options

# -- binding -------------------------------------------------------------------------------------------------------------------


def assign(interpreter: Interpreter, frame: Frame, target: ast.expr, value: Any) -> None:
    """Bind or store ``value`` to a target of an assignment."""
    if isinstance(target, ast.Name):
        bind_name(interpreter, frame, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        frame.node = target
        _unpack(interpreter, frame, target.elts, value)
    elif isinstance(target, ast.Subscript):
        container = interpreter.value(frame, target.value)
        key = collapse(interpreter.value(frame, target.slice))
        frame.node = target
        check_key(container, key)
        container[key] = value
    elif isinstance(target, ast.Attribute):
        owner = interpreter.value(frame, target.value)
        frame.node = target
        set_attribute(owner, target.attr, value)
    else:
        assert isinstance(target, ast.Starred)
        assign(interpreter, frame, target.value, value)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``; a tensor takes a name only."""
    try:
        setattr(owner, name, value)
    except AttributeError as error:
        if not isinstance(owner, Tensor):
            raise
        raise UnknownAttribute(name=name, nearest="; of a tensor only 'name' can be set") from error


def bind_name(interpreter: Interpreter, frame: Frame, name: str, value: Any) -> None:
    """``name = value`` in a frame."""
    value = collapse(value)
    if frame.kernel and name in frame.parameters and written_back(interpreter, frame, name, value):
        return
    if value.__class__ is Tensor and value._value is not None and not value._value.hint:
        object.__setattr__(value._value, "hint", name)  # for printing only
    frame.locals[name] = value


def written_back(interpreter: Interpreter, frame: Frame, name: str, value: Any) -> bool:
    """Whether rebinding a parameter's name stored the value in the parameter instead."""
    parameter: Tensor = frame.parameters[name]
    if not isinstance(value, Tensor) or frame.locals.get(name) is not parameter or parameter._read >= 0:
        return False
    tracer = interpreter.tracer
    fresh = isinstance(value._value, Value)
    if not fresh or (value.dtype, value._type().shape) != (parameter.dtype, parameter._type().shape):  # type: ignore[union-attr]
        return False
    error = OutputRebound(name=name, zeros=", ".join("0" for _ in parameter.shape))
    if options.current().get("run.strict"):
        raise error
    help = OutputRebound.help.format(name=name, zeros=error.facts["zeros"])  # type: ignore[union-attr]
    tracer.warn(f"`{name} = …` binds a name; the value was written into the parameter '{name}'", help=help)
    tracer.store_whole(parameter, tracer.value_of(value))
    return True


def _unpack(interpreter: Interpreter, frame: Frame, targets: list[ast.expr], value: Any) -> None:
    values = list(iterate(value))
    star = next((k for k, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if star is None:
        if len(values) != len(targets):
            words = "too many" if len(values) > len(targets) else "not enough"
            raise ValueError(f"{words} values to unpack (expected {len(targets)}, got {len(values)})")
    else:
        after = len(targets) - star - 1
        if len(values) < len(targets) - 1:
            raise ValueError(f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(values)})")
        values = [*values[:star], values[star : len(values) - after], *values[len(values) - after :]]
    for target, part in zip(targets, values, strict=True):
        assign(interpreter, frame, target, part)


@executes(ast.Assign)
def assignment(interpreter: Interpreter, frame: Frame, node: ast.Assign) -> None:
    value = interpreter.value(frame, node.value)
    frame.node = node
    for target in node.targets:
        assign(interpreter, frame, target, value)


@executes(ast.AnnAssign)
def annotated(interpreter: Interpreter, frame: Frame, node: ast.AnnAssign) -> None:
    if node.value is not None:
        value = interpreter.value(frame, node.value)
        frame.node = node
        assign(interpreter, frame, node.target, value)


@executes(ast.AugAssign)
def augmented(interpreter: Interpreter, frame: Frame, node: ast.AugAssign) -> None:
    target = node.target
    if isinstance(target, ast.Name):
        before = interpreter.value(frame, _loaded(node, target))
        value = interpreter.value(frame, node.value)
        frame.node = node
        bind_name(interpreter, frame, target.id, inplace(type(node.op), before, value))
        return
    owner = interpreter.value(frame, target.value)
    if isinstance(target, ast.Subscript):
        key = collapse(interpreter.value(frame, target.slice))
        frame.node = target
        check_key(owner, key)
        before = owner[key]
        value = inplace(type(node.op), before, interpreter.value(frame, node.value))
        frame.node = node
        owner[key] = value
    else:
        before = getattr(owner, target.attr)
        value = inplace(type(node.op), before, interpreter.value(frame, node.value))
        frame.node = node
        set_attribute(owner, target.attr, value)


def _loaded(node: ast.AugAssign, target: ast.Name) -> ast.Name:
    """The target as an expression, made once per statement: places are remembered by node."""
    found = getattr(node, "pypto_load", None)
    if found is None:
        found = node.pypto_load = ast.copy_location(ast.Name(target.id, ast.Load()), target)  # type: ignore[attr-defined]
    return found


@executes(ast.Delete)
def delete(interpreter: Interpreter, frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        frame.node = target
        if isinstance(target, ast.Name):
            if frame.locals.pop(target.id, MISSING) is MISSING:
                raise UnboundLocal(name=target.id)
        elif isinstance(target, ast.Subscript):
            del interpreter.value(frame, target.value)[interpreter.value(frame, target.slice)]
        elif isinstance(target, ast.Attribute):
            delattr(interpreter.value(frame, target.value), target.attr)
        elif isinstance(target, (ast.Tuple, ast.List)):
            delete(interpreter, frame, ast.copy_location(ast.Delete(target.elts), node))


# -- simple statements ------------------------------------------------------------------------------------------------------------


@executes(ast.Expr)
def expression(interpreter: Interpreter, frame: Frame, node: ast.Expr) -> None:
    value = interpreter.value(frame, node.value)
    if isinstance(value, Tensor):
        interpreter.tracer.note_unused(value)


@executes(ast.Pass)
def nothing(interpreter: Interpreter, frame: Frame, node: ast.Pass) -> None:
    return None


@executes(ast.Break)
def leave(interpreter: Interpreter, frame: Frame, node: ast.Break) -> Signal:
    return BREAK


@executes(ast.Continue)
def again(interpreter: Interpreter, frame: Frame, node: ast.Continue) -> Signal:
    return CONTINUE


@executes(ast.Return)
def return_(interpreter: Interpreter, frame: Frame, node: ast.Return) -> Signal:
    if frame.kernel:
        raise KernelReturns(name=frame.code.name)
    return Signal("return", None if node.value is None else interpreter.value(frame, node.value))


@executes(ast.FunctionDef)
def define(interpreter: Interpreter, frame: Frame, node: ast.FunctionDef) -> None:
    function: Any = InterpretedFunction.define(interpreter, frame, node, node.name)
    for decorator in reversed(node.decorator_list):
        frame.node = decorator
        function = interpreter.value(frame, decorator)(function)
    frame.locals[node.name] = function


@executes(ast.Assert)
def assertion(interpreter: Interpreter, frame: Frame, node: ast.Assert) -> None:
    condition = collapse(interpreter.value(frame, node.test))
    frame.node = node
    if is_symbolic(condition):
        text = "" if node.msg is None else str(interpreter.value(frame, node.msg))
        interpreter.tracer.check(truth_of(condition), KernelAssertion(text=text or ast.unparse(node.test)))
    elif not condition:
        raise AssertionError(*([] if node.msg is None else [interpreter.value(frame, node.msg)]))


@executes(ast.Raise)
def raise_(interpreter: Interpreter, frame: Frame, node: ast.Raise) -> None:
    if interpreter.tracer.branch_depth:
        raise RaiseInBranch()
    error = interpreter.value(frame, node.exc) if node.exc is not None else None
    cause = MISSING if node.cause is None else interpreter.value(frame, node.cause)
    frame.node = node
    error = error() if isinstance(error, type) and issubclass(error, BaseException) else error
    if isinstance(error, BaseException):
        error.__dict__["pypto_users"] = True  # raised on purpose: it stays what it is
    if cause is MISSING:
        raise error  # type: ignore[misc]
    raise error from cause  # type: ignore[misc]


@executes(ast.With)
def with_(interpreter: Interpreter, frame: Frame, node: ast.With) -> Signal | None:
    return _with(interpreter, frame, node, 0)


def _with(interpreter: Interpreter, frame: Frame, node: ast.With, position: int) -> Signal | None:
    if position == len(node.items):
        return interpreter.run(frame, node.body)
    item = node.items[position]
    manager = _manager(interpreter, frame, item.context_expr)
    frame.node = item.context_expr
    with manager as value:
        if item.optional_vars is not None:
            assign(interpreter, frame, item.optional_vars, value)
        return _with(interpreter, frame, node, position + 1)


_ALLOWED = ("pypto", "torch", "contextlib")


def _manager(interpreter: Interpreter, frame: Frame, node: ast.expr) -> Any:
    """The context manager of a ``with``: settings only, since the block is traced and not run."""
    function = interpreter.value(frame, node.func) if isinstance(node, ast.Call) else None
    owner = function if function is not None else interpreter.value(frame, node)
    module = getattr(owner, "__module__", None) or type(owner).__module__
    if str(module).partition(".")[0] not in _ALLOWED:
        frame.node = node
        raise UnsupportedStatement(
            what="with", advice="in a kernel `with pypto.options(...)` only; open other contexts around the call"
        )
    return interpreter.value(frame, node)


# -- control flow -----------------------------------------------------------------------------------------------------------------


@executes(ast.If)
def if_(interpreter: Interpreter, frame: Frame, node: ast.If) -> Signal | None:
    condition = collapse(interpreter.value(frame, node.test))
    frame.node = node.test
    if is_symbolic(condition):
        return branches.run_if(interpreter, frame, node, truth_of(condition))
    return interpreter.run(frame, node.body if condition else node.orelse)


@executes(ast.While)
def while_(interpreter: Interpreter, frame: Frame, node: ast.While) -> Signal | None:
    while True:
        condition = collapse(interpreter.value(frame, node.test))
        frame.node = node.test
        if is_symbolic(condition):
            advice = "use pypto.loop with an upper bound and `if` inside"
            raise SymbolicCondition(where="`while`", text=str(condition), advice=advice)
        if not condition:
            return None
        signal = interpreter.run(frame, node.body)
        if signal is BREAK:
            return None
        if signal is not None and signal is not CONTINUE:
            return signal


@executes(ast.For)
def for_(interpreter: Interpreter, frame: Frame, node: ast.For) -> Signal | None:
    source = interpreter.value(frame, node.iter)
    frame.node = node.iter
    if isinstance(source, DeviceRange):
        loops.run_loop(interpreter, frame, node, source)
        return None
    for element in iterate(source):
        frame.node = node
        assign(interpreter, frame, node.target, element)
        signal = interpreter.run(frame, node.body)
        if signal is BREAK:
            return None
        if signal is not None and signal is not CONTINUE:
            return signal
    return None
