"""Arguments of a call in a kernel: evaluated in order, then asked for by name or position."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypto.dtypes import DataType
from pypto_pro.errors.calls import (
    ArgumentTwice,
    DtypeArgument,
    MethodNotCalled,
    MissingArgument,
    StarArguments,
    TooManyArguments,
    UnexpectedKeyword,
)
from pypto_pro.errors.expressions import UseOfVoid
from pypto_pro.frontend.order import in_order
from pypto_pro.frontend.values import Method, Static, Void, describe


@dataclass
class Arguments:
    """Evaluated arguments of ``node``."""

    call: str
    node: Any
    positional: list[Any]
    keywords: dict[str, Any]

    def limit(self, call: str, names: Sequence[str]) -> None:
        """Refuses more positional arguments than ``names``, unknown keywords, and both for one parameter."""
        if len(self.positional) > len(names):
            raise TooManyArguments(call=call, most=len(names), got=len(self.positional))
        for keyword in self.keywords:
            if keyword not in names:
                raise UnexpectedKeyword(call=call, name=keyword)
            if names.index(keyword) < len(self.positional):
                raise ArgumentTwice(call=call, name=keyword)

    def optional(self, name: str, position: int | None = None) -> Any:
        """The argument, or None where it was left out."""
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)

    def value(self, name: str, position: int | None = None) -> Any:
        found = self.optional(name, position)
        if found is None:
            raise MissingArgument(call=self.call, name=name)
        return found


def evaluate(reader: Any, call: str, node: ast.Call) -> Arguments:
    """Evaluates the arguments of ``node`` from left to right."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(one.arg is None for one in node.keywords):
        raise StarArguments(call=call)
    nodes = [*node.args, *(keyword.value for keyword in node.keywords)]
    values = in_order(reader, nodes, lambda argument: _value(reader, argument))
    count = len(node.args)
    names = [str(keyword.arg) for keyword in node.keywords]
    return Arguments(call, node, values[:count], dict(zip(names, values[count:], strict=True)))


def _value(reader: Any, node: ast.expr) -> Any:
    with reader.placed(node):
        value = reader.expression(node)
        if isinstance(value, Void):
            raise UseOfVoid(text=value.text)
        if isinstance(value, Method):
            raise MethodNotCalled(text=ast.unparse(node))
        return value


def dtype_argument(call: str, value: Any) -> DataType | None:
    """An element type, or None where it was left out."""
    if value is None or value == Static(None):
        return None
    if not isinstance(value, Static) or not isinstance(value.value, DataType):
        raise DtypeArgument(call=call, got=describe(value))
    return value.value
