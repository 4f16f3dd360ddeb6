"""The generated module: the user's file with the kernel's definition replaced, ready to run and to edit.

Statements of the kernel that did not change keep their text, with comments; the others are written from the tree.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Sequence

HEADER = "# Made by the automatic cube/vector pipeline; it runs by itself and may be edited.\n"


def without_pipeline(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition with ``pipeline=`` dropped from its decorators."""
    node = copy.copy(node)
    node.decorator_list = [_without(decorator) for decorator in node.decorator_list]
    return node


def _without(decorator: ast.expr) -> ast.expr:
    if not isinstance(decorator, ast.Call) or not any(keyword.arg == "pipeline" for keyword in decorator.keywords):
        return decorator
    made = copy.copy(decorator)
    made.keywords = [keyword for keyword in decorator.keywords if keyword.arg != "pipeline"]
    return made


def module_text(original: ast.FunctionDef, transformed: ast.FunctionDef, source: str | None, notes: Sequence[str] = ()) -> str:
    """``source`` with the lines of ``original`` replaced by ``transformed``; the function alone where there is no source.

    ``notes`` become a comment above the kernel. ``transformed`` has no ``pipeline=`` any more.
    """
    comment = "".join(f"# {note}\n" if note else "#\n" for note in notes)
    if not source:
        return f"{HEADER}{comment}{ast.unparse(transformed)}\n"
    lines = source.splitlines(keepends=True)
    first = min([original.lineno, *(decorator.lineno for decorator in original.decorator_list)])
    last = original.end_lineno or original.lineno
    indent = " " * original.col_offset
    made = textwrap.indent(comment, indent) + _definition(original, transformed, lines)
    return HEADER + "".join([*lines[: first - 1], made, *lines[last:]])


def _definition(original: ast.FunctionDef, transformed: ast.FunctionDef, lines: list[str]) -> str:
    """Decorators from the tree, the header as it was, then statement by statement."""
    indent = " " * original.col_offset
    body = original.body
    if _own_lines(original):
        decorators = "".join(f"{indent}@{ast.unparse(decorator)}\n" for decorator in transformed.decorator_list)
        header = "".join(lines[original.lineno - 1 : body[0].lineno - 1])
        return decorators + _without_comments(header) + _body(original, transformed, lines)
    return textwrap.indent(ast.unparse(transformed) + "\n", indent)


def _own_lines(function: ast.FunctionDef) -> bool:
    """Whether every statement of the body starts on a line of its own, below the header."""
    last = function.lineno
    for statement in function.body:
        if statement.lineno <= last:
            return False
        last = statement.end_lineno or statement.lineno
    return True


def _without_comments(header: str) -> str:
    """The header up to its colon: comments below it belong to the first statement."""
    kept = header.splitlines(keepends=True)
    while kept and (kept[-1].isspace() or kept[-1].lstrip().startswith("#")):
        kept.pop()
    return "".join(kept)


def _body(original: ast.FunctionDef, transformed: ast.FunctionDef, lines: list[str]) -> str:
    indent = " " * (original.body[0].col_offset)
    before = {ast.dump(statement, include_attributes=True): i for i, statement in enumerate(original.body)}
    found, parts = 0, []
    for statement in transformed.body:
        position = before.get(ast.dump(statement, include_attributes=True))
        if position is not None and position >= found:
            parts.append(_verbatim(original, position, lines))
            found = position + 1
        else:
            parts.append(textwrap.indent(ast.unparse(statement) + "\n", indent))
    return "".join(parts)


def _verbatim(function: ast.FunctionDef, position: int, lines: list[str]) -> str:
    """A statement as the user wrote it, with the comments and empty lines above it."""
    statement = function.body[position]
    start = function.body[position - 1].end_lineno or 0 if position else statement.lineno - 1
    while position == 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    text = "".join(lines[start : statement.end_lineno])
    return text if text.endswith("\n") else text + "\n"
