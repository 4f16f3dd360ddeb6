"""Plain Python functions called in a kernel are read in place (tile API section 2.11)."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from pypto.errors.frontend import NoSource
from pypto.frontend.python import Code, cells_of, code_of
from pypto_pro.errors.calls import (
    HelperCount,
    HelperKeywords,
    HelperParameters,
    RecursiveHelper,
    SourceMissing,
)
from pypto_pro.frontend import annotation
from pypto_pro.frontend.expressions import usable
from pypto_pro.frontend.order import fixed
from pypto_pro.frontend.state import Frame
from pypto_pro.frontend.values import Static
from pypto_pro.frontend.variables import bind, merge_values, outside


def inline(reader: Any, function: FunctionType, node: ast.Call, first: tuple[Any, ...] = ()) -> Any:
    """Reads the body of ``function`` here, with its parameters bound to the arguments; gives what it returns."""
    reader.take_hint("")
    code = _code(function)
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise HelperKeywords(name=code.name)
    if function.__code__ in reader.unit.functions:
        raise RecursiveHelper(name=code.name)
    place = reader.frame.span(node)
    values = [*first, *(_argument(reader, argument) for argument in node.args)]
    frame = Frame(code, function.__globals__, cells_of(function), (*reader.frame.key, id(node), code.name), place, True)
    frame.env = dict(zip(_parameters(code), _bound(code, function, values), strict=True))
    reader.unit.functions.append(function.__code__)
    try:
        return read_body(reader, frame)
    finally:
        reader.unit.functions.pop()


def _argument(reader: Any, node: ast.expr) -> Any:
    with reader.placed(node):
        value = usable(reader.expression(node))
        return fixed(reader, value, reader.frame.span(node))


def _code(function: FunctionType) -> Code:
    try:
        return code_of(function)
    except NoSource as error:
        raise SourceMissing(name=function.__name__, reason=error.facts["reason"])


def _parameters(code: Code) -> list[str]:
    arguments = code.node.args
    if arguments.vararg or arguments.kwarg:
        raise HelperParameters(name=code.name, what="star parameters")
    if arguments.kwonlyargs:
        raise HelperParameters(name=code.name, what="keyword-only parameters")
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args)]


def _bound(code: Code, function: FunctionType, values: list[Any]) -> list[Any]:
    names = _parameters(code)
    defaults = function.__defaults__ or ()
    if not len(names) - len(defaults) <= len(values) <= len(names):
        expected = str(len(names)) if not defaults else f"{len(names) - len(defaults)} to {len(names)}"
        raise HelperCount(name=code.name, expected=expected, got=len(values))
    missing = names[len(values) :]
    return [
        *values,
        *(outside(name, default) for name, default in zip(missing, defaults[len(defaults) - len(missing) :], strict=True)),
    ]


def read_body(reader: Any, frame: Frame) -> Any:
    """The statements of a function in their own frame."""
    outer, reader.frame = reader.frame, frame
    try:
        annotation.check_parameters(reader, frame)
        body = frame.code.node.body
        falls = reader.statements(body if isinstance(body, list) else frame.code.body)
        returned = [*frame.returned, *([Static(None)] if falls else [])]
        value = merge_values(reader, "result", returned) if returned else Static(None)
        return annotation.check_return(reader, frame, value)
    finally:
        reader.frame = outer


def record_return(reader: Any, value: Any, node: ast.Return) -> None:
    """A helper's ``return``: on a straight path the value itself, elsewhere kept in a variable."""
    frame = reader.frame
    if frame.depth == 0:
        frame.returned.append(value)
        return
    bind(reader, "result", value, frame.span(node))
    frame.returned.append(frame.env["result"])
