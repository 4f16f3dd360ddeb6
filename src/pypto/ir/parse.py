"""Reads the text that ``ir/text.py`` writes, and gives an equivalent program.

What text cannot hold is lost: columns of spans, and options or attributes of types the printer only names as strings.
Raises ``ProgramSyntaxError`` with the line.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
from collections.abc import Callable
from typing import Any

from pypto.diagnostics import Span
from pypto.dtypes import BY_LABEL
from pypto.errors.graph import ProgramSyntaxError
from pypto.ir import symbols as ir
from pypto.ir.program import Block, Carried, If, Literal, Loop, Op, Program, Statement, Storage, TensorType, Value
from pypto.ir.symbols import Symbol

_SPAN = re.compile(r"    # (?P<file>[^\n]+):(?P<line>\d+)$")
_PROGRAM = re.compile(r"program (\w*)\((.*)\):$")
_WHERE = re.compile(r"where (\w+): (.+) = (\w+)\.shape\[(\d+)\]$")
_LOOP = re.compile(r"for (.+?) in (range\(.*\).*):$")
_CARRY = re.compile(r"carry (\w+): (.+) = (.+) -> (.+)$")
_IF = re.compile(r"(?:(.+) = )?if (.+):$")


def parse_program(text: str) -> Program:
    """The program that ``text`` describes.

    >>> p = parse_program('program copy(x: fp32[4], y: fp32[4]):' + chr(10) + '    v0: fp32[4] = load(x, offsets=(0,))' + chr(10)
    ...     + '    store(y, v0, offsets=(0,))' + chr(10))
    >>> [s.name for s in p.body.statements]
    ['load', 'store']
    """
    return _Parser(text).program()


class _Parser:
    def __init__(self, text: str) -> None:
        self.lines = [line for line in text.splitlines() if line.strip()]
        self.position = 0
        self.names: dict[str, Any] = {}

    # -- lines -----------------------------------------------------------------------------------------------------------------

    def depth(self) -> int:
        """Indentation of the current line in steps, -1 at the end."""
        if self.position >= len(self.lines):
            return -1
        line = self.lines[self.position]
        return (len(line) - len(line.lstrip())) // 4

    def peek(self) -> str:
        return self.lines[self.position].strip() if self.position < len(self.lines) else ""

    def take(self) -> tuple[str, Span | None]:
        line = self.peek()
        self.position += 1
        place = _SPAN.search(line)
        if place is None:
            return line, None
        return line[: place.start()], Span(place["file"], int(place["line"]))

    def fail(self, reason: str) -> ProgramSyntaxError:
        number = max(self.position - 1, 0)
        return ProgramSyntaxError(line=number + 1, text=self.lines[number].strip() if self.lines else "", reason=reason)

    # -- program ---------------------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        header, _ = self.take()
        match = _PROGRAM.match(header)
        if match is None:
            raise self.fail("expected `program name(...):`")
        wheres = self.wheres()
        parameters = self.parameters(match[2])
        dimensions = {symbol: (self.names[storage], axis) for symbol, storage, axis in wheres}
        options = {}
        while self.peek().startswith("option "):
            key, _, value = self.take()[0].removeprefix("option ").partition(" = ")
            options[self.value(key)] = self.value(value)
        return Program(match[1], parameters, self.block(1), dimensions, options)

    def wheres(self) -> list[tuple[Symbol, str, int]]:
        found = []
        while self.peek().startswith("where "):
            match = _WHERE.match(self.take()[0])
            if match is None:
                raise self.fail("expected `where name: int = parameter.shape[axis]`")
            found.append((self.symbol(match[1], match[2]), match[3], int(match[4])))
        return found

    def parameters(self, text: str) -> tuple[Storage | Symbol, ...]:
        parts = [part.partition(": ") for part in split(text)]
        for name, _, kind in parts:  # scalars first: the sizes of storages may use them
            if "[" not in kind:
                self.symbol(name, kind)
        made = []
        for name, _, kind in parts:
            if "[" in kind:
                self.names[name] = Storage(name, self.type(kind), "parameter")
            made.append(self.names[name])
        return tuple(made)

    def block(self, depth: int) -> Block:
        statements: list[Statement] = []
        yields: tuple[Any, ...] = ()
        while self.depth() == depth:
            if self.peek().startswith("yield "):
                yields = tuple(self.value(part) for part in split(self.take()[0].removeprefix("yield ")))
            elif self.peek() == "pass":
                self.take()
            else:
                statements.append(self.statement(depth))
        if self.depth() > depth:
            self.position += 1
            raise self.fail("unexpected indentation")
        return Block(tuple(statements), yields)

    def statement(self, depth: int) -> Statement:
        line, span = self.take()
        if line.startswith("for "):
            return self.loop(line, span, depth)
        if _IF.match(line):
            return self.branch(line, span, depth)
        return self.op(line, span)

    # -- statements ------------------------------------------------------------------------------------------------------------

    def op(self, line: str, span: Span | None) -> Op:
        left, right = split_definition(line)
        call = self.expression(right)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise self.fail("expected an operation `name(operands, attribute=value)`")
        operands = tuple(self.evaluate(a) for a in call.args)
        attributes = {k.arg: self.evaluate(k.value) for k in call.keywords if k.arg}
        results = tuple(self.result(part, call.func.id, operands) for part in split(left))
        return Op(call.func.id, operands, attributes, results, span)

    def result(self, text: str, operation: str, operands: tuple[Any, ...]) -> Any:
        name, _, kind = text.partition(": ")
        if "[" in kind and operation in ("allocate", "alias"):
            role = "local" if operation == "allocate" else "alias"
            self.names[name] = Storage(name, self.type(kind), role, operands[0] if role == "alias" else None)
            return self.names[name]
        return self.defined(name, kind)

    def defined(self, name: str, kind: str) -> Value | Symbol:
        if "[" not in kind:
            return self.symbol(name, kind)
        self.names[name] = Value(self.type(kind), name)
        return self.names[name]

    def definitions(self, parts: list[tuple[str, str]]) -> list[Value | Symbol]:
        """Names that are defined together. Scalars come first: the extents of tensors may use them."""
        for name, kind in sorted(parts, key=lambda part: "[" in part[1]):
            self.defined(name, kind)
        return [self.names[name] for name, _ in parts]

    def loop(self, line: str, span: Span | None, depth: int) -> Loop:
        match = _LOOP.match(line)
        if match is None:
            raise self.fail("expected `for name in range(start, stop, step):`")
        call, *flags = split(match[2])
        start, stop, step = (self.value(part) for part in split(call[len("range(") : -1]))
        given = dict(flag.split("=", 1) for flag in flags)
        carried = self.peek_carried(depth + 1)
        name, _, kind = match[1].partition(": ")
        index = self.symbol(name, kind or "int")
        arguments = self.definitions([(argument, argument_kind) for argument, argument_kind, *_ in carried])
        body = self.block(depth + 1)
        named = [(result.partition(": "), argument_kind) for _, argument_kind, _, result in carried]
        results = self.definitions([(name, result_kind or kind) for (name, _, result_kind), kind in named])
        bindings = tuple(Carried(a, c[2], r) for a, c, r in zip(arguments, carried, results, strict=True))
        attributes = {key: self.value(value) for key, value in given.items()}
        return Loop(index, start, stop, step, body, bindings, span=span, **attributes)

    def peek_carried(self, depth: int) -> list[tuple[str, str, Any, str]]:
        found = []
        while self.depth() == depth and self.peek().startswith("carry "):
            match = _CARRY.match(self.take()[0])
            if match is None:
                raise self.fail("expected `carry name: type = initial -> result`")
            found.append((match[1], match[2], self.value(match[3]), match[4]))
        return found

    def branch(self, line: str, span: Span | None, depth: int) -> If:
        match = _IF.match(line)
        assert match is not None  # statement() looked
        condition = self.value(match[2])
        then = self.block(depth + 1)
        orelse = Block()
        if self.depth() == depth and self.peek() == "else:":
            self.take()
            orelse = self.block(depth + 1)
        results = self.definitions([tuple(part.split(": ", 1)) for part in split(match[1] or "")])  # type: ignore[misc]
        return If(condition, then, orelse, tuple(results), span)

    # -- types and values ------------------------------------------------------------------------------------------------------

    def symbol(self, name: str, kind: str) -> Symbol:
        label, _, bounds = kind.partition("(")
        low, high = (self.value(part) for part in split(bounds[:-1])) if bounds else (-math.inf, math.inf)
        self.names[name] = Symbol(name, label, low, high)
        return self.names[name]

    def type(self, text: str) -> TensorType:
        label, _, extents = text[:-1].partition("[")
        if label not in BY_LABEL:
            raise self.fail(f"unknown element type {label}")
        shape, _, valid = extents.partition(" valid ")
        sizes = tuple(self.value(part) for part in split(shape))
        return TensorType(BY_LABEL[label], sizes, tuple(self.value(part) for part in split(valid)) if valid else sizes)

    def expression(self, text: str) -> ast.expr:
        try:
            return ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise self.fail(f"not an expression: {error.msg}")

    def value(self, text: str) -> Any:
        return self.evaluate(self.expression(text))

    def evaluate(self, node: ast.expr) -> Any:
        rule = _NODES.get(type(node))
        if rule is None:
            raise self.fail(f"unexpected {ast.unparse(node)}")
        return rule(self, node)

    def named(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if name in BY_LABEL:
            return BY_LABEL[name]
        if name in ("inf", "nan"):
            return float(name)
        raise self.fail(f"unknown name {name}")


# -- values ----------------------------------------------------------------------------------------------------------------


def _unary(parser: _Parser, node: Any) -> Any:
    value = parser.evaluate(node.operand)
    if isinstance(node.op, ast.USub):
        return ir.apply("neg", value) if isinstance(value, ir.Expression) else -value
    return ir.apply("not", value)


_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Div: "truediv"}
_COMPARED = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le"}


def _binary(parser: _Parser, node: Any) -> Any:
    return ir.apply(_BINARY[type(node.op)], parser.evaluate(node.left), parser.evaluate(node.right))


def _compared(parser: _Parser, node: Any) -> Any:
    return ir.apply(_COMPARED[type(node.ops[0])], parser.evaluate(node.left), parser.evaluate(node.comparators[0]))


def _logical(parser: _Parser, node: Any) -> Any:
    return ir.apply("and" if isinstance(node.op, ast.And) else "or", *map(parser.evaluate, node.values))


def _attribute(parser: _Parser, node: Any) -> Any:
    """``CastMode.CAST_RINT``: an enumeration member."""
    from pypto import enums

    return getattr(enums, node.value.id)[node.attr]


def _call(parser: _Parser, node: Any) -> Any:
    if isinstance(node.func, ast.Attribute):
        return _error(parser, node)
    name, arguments = node.func.id, [parser.evaluate(a) for a in node.args]
    if name in ir.FUNCTIONS:
        return ir.apply(name, *arguments)
    if name not in BY_LABEL:
        raise parser.fail(f"unknown function {name}")
    return Literal(arguments[0], BY_LABEL[name])


def _error(parser: _Parser, node: Any) -> Any:
    """``pypto.errors.family.Name(fact=…)``: an error of the catalogue, for ``check``."""
    module, _, name = ast.unparse(node.func).rpartition(".")
    if not module.startswith("pypto."):
        raise parser.fail(f"unknown name {module}")
    return getattr(importlib.import_module(module), name)(**{k.arg: parser.evaluate(k.value) for k in node.keywords})


_NODES: dict[type, Callable[[_Parser, Any], Any]] = {
    ast.Constant: lambda parser, node: node.value,
    ast.Name: lambda parser, node: parser.named(node.id),
    ast.Tuple: lambda parser, node: tuple(map(parser.evaluate, node.elts)),
    ast.List: lambda parser, node: list(map(parser.evaluate, node.elts)),
    ast.Dict: lambda parser, node: {
        parser.evaluate(k): parser.evaluate(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None
    },
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compared,
    ast.BoolOp: _logical,
    ast.Attribute: _attribute,
    ast.Call: _call,
}


# -- text ------------------------------------------------------------------------------------------------------------------


def _levels(text: str) -> list[int]:
    """Bracket depth at every character; inside a string it counts as deep."""
    levels, depth, quote, escaped = [], 0, "", False
    for character in text:
        levels.append(depth + (1 if quote else 0))
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
    return levels


def split(text: str, separator: str = ", ") -> list[str]:
    """Parts between separators that are outside brackets and strings; nothing for empty text.

    >>> split("min(a, b), 3")
    ['min(a, b)', '3']
    """
    if not text:
        return []
    levels = _levels(text)
    cuts = [i for i in range(len(text)) if text.startswith(separator, i) and levels[i] == 0]
    starts = [0, *(cut + len(separator) for cut in cuts)]
    return [text[start:end] for start, end in zip(starts, [*cuts, len(text)], strict=True)]


def split_definition(line: str) -> tuple[str, str]:
    """``results = call`` in two parts; the first is empty when there are no results."""
    parts = split(line, " = ")
    return (parts[0], " = ".join(parts[1:])) if len(parts) > 1 else ("", line)
