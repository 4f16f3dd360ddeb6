"""The generated module: the user's file with the kernel's definition replaced, ready to run and to edit."""

from __future__ import annotations

import ast
import copy
import textwrap

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


def function_text(node: ast.FunctionDef) -> str:
    """The transformed function alone."""
    return ast.unparse(ast.fix_missing_locations(without_pipeline(node))) + "\n"


def module_text(original: ast.FunctionDef, transformed: ast.FunctionDef, source: str | None) -> str:
    """``source`` with the lines of ``original`` replaced by ``transformed``; the function alone where there is no source."""
    made = function_text(transformed)
    if not source:
        return HEADER + made
    lines = source.splitlines(keepends=True)
    first = min([original.lineno, *(decorator.lineno for decorator in original.decorator_list)])
    last = original.end_lineno or original.lineno
    indent = " " * original.col_offset
    return HEADER + "".join([*lines[: first - 1], textwrap.indent(made, indent), *lines[last:]])
