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
    MissingArgument,
    StarArguments,
    TooManyArguments,
    UnexpectedKeyword,
)
from pypto_pro.errors.expressions import UseOfVoid
from pypto_pro.frontend.values import Static, Void, describe


@dataclass
class Arguments:
    """Evaluated arguments of ``node``, with the texts they were written as."""

    call: str
    node: ast.Call
    positional: list[Any]
    keywords: dict[str, Any]
    texts: list[str]
    keyword_texts: dict[str, str]

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
    positional, texts = [], []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise StarArguments(call=call)
        positional.append(_value(reader, argument))
        texts.append(ast.unparse(argument))
    keywords, keyword_texts = {}, {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise StarArguments(call=call)
        keywords[keyword.arg] = _value(reader, keyword.value)
        keyword_texts[keyword.arg] = ast.unparse(keyword.value)
    return Arguments(call, node, positional, keywords, texts, keyword_texts)


def _value(reader: Any, node: ast.expr) -> Any:
    with reader.placed(node):
        value = reader.expression(node)
        if isinstance(value, Void):
            raise UseOfVoid(text=value.text)
        return value


def dtype_argument(call: str, value: Any) -> DataType | None:
    """An element type, or None where it was left out."""
    if value is None or value == Static(None):
        return None
    if not isinstance(value, Static) or not isinstance(value.value, DataType):
        raise DtypeArgument(call=call, got=describe(value))
    return value.value
