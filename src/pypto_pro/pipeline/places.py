"""Small questions about syntax trees: where a node stands, which names are bound, what a call calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from pypto.diagnostics import Span

LANGUAGE = "pypto_pro.language"
ALIAS = "pl"  # how kernels spell the module where the namespace does not say


def span(node: ast.AST, file: str, function: str = "") -> Span:
    """The place of ``node``, for messages."""
    line = getattr(node, "lineno", 0)
    column = getattr(node, "col_offset", 0)
    return Span(
        file, line, column, getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or 0, function
    )


def bound_names(node: ast.FunctionDef | Iterable[ast.AST]) -> Counter[str]:
    """How often every name is bound: parameters, assignments, loop variables."""
    found: Counter[str] = Counter()
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        found.update(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        node = node.body
    for statement in node:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                found[inner.id] += 1
    return found


def used_names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def dotted(node: ast.AST) -> list[str]:
    """``pl.system.bar_all`` as ["pl", "system", "bar_all"]; [] for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def operation_name(call: ast.AST, scope: Any) -> str | None:
    """What a call of the language calls, without its ``pl.``: ``load``, ``system.sync_all``; None for other calls."""
    if not isinstance(call, ast.Call):
        return None
    parts = dotted(call.func)
    if not parts:
        return None
    base = scope.name(parts[0])
    if parts[0] == ALIAS and not isinstance(base, ModuleType) and not callable(base):
        return ".".join(parts[1:]) or None
    for position in range(1, len(parts)):
        if not isinstance(base, ModuleType):
            return None
        if base.__name__ == LANGUAGE:
            return ".".join(parts[position:])
        base = getattr(base, parts[position], None)
    named = len(parts) == 1 and str(getattr(base, "__module__", "")).startswith(LANGUAGE)
    return getattr(base, "__name__", parts[0]) if named else None


def section_of(statement: ast.AST, scope: Any) -> str | None:
    """``cube`` or ``vector`` for a section block, None for anything else."""
    if not isinstance(statement, ast.With) or len(statement.items) != 1:
        return None
    name = operation_name(statement.items[0].context_expr, scope)
    return {"section_cube": "cube", "section_vector": "vector"}.get(name or "")


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a body, outer before inner, in the order of the text."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                yield from statements(inner)
