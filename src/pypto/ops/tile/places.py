"""Where in the user's text an argument of a call stands, so that a message points at the argument it is about.

A catalogue error names parameters in its facts (``argument``, ``keyword``, ``first``, ``second``). ``pointed`` reads the call at the
error's place again, moves the place under the first of them, and gives help lines what the user wrote there: ``argument_text`` for
``argument`` and so on. What cannot be found in the text stays as it is.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
from dataclasses import replace

from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.ops.tile.table import find

NAMING = ("argument", "keyword", "first", "second")  # facts that hold the name of a parameter, what to point at first
POSITIONS = {"dst": 0, "src": 1}  # what messages call the sides of a transfer, whatever its parameters are called


def pointed(error: UserError, place: Span | None) -> Span | None:
    """The place of the argument that ``error`` names, ``place`` if there is none; texts of arguments become facts of the error."""
    call = _call_at(place, error.facts.get("operation"))
    if place is None or call is None:
        return place
    names = {fact: error.facts.get(fact) or "" for fact in NAMING} | {"about": error.about}
    nodes = {fact: node for fact, name in names.items() if (node := _argument(call, name)) is not None}
    for fact, node in nodes.items():
        error.facts[f"{fact}_text"] = ast.unparse(node)
    meant = next((node for fact, node in nodes.items() if fact != "second"), None)
    return _inside(place, meant) if meant is not None else place


def _call_at(place: Span | None, operation: str | None) -> ast.Call | None:
    """The one call of ``operation`` in the text of ``place``."""
    if place is None or operation is None or not place.end_line:
        return None
    lines = [linecache.getline(place.file, number).encode() for number in range(place.line, place.end_line + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][: place.end_column]
    lines[0] = lines[0][place.column :]
    with contextlib.suppress(SyntaxError, ValueError):
        nodes = ast.walk(ast.parse(b"".join(lines)))
        calls = [node for node in nodes if isinstance(node, ast.Call) and _called(node.func) == operation]
        return calls[0] if len(calls) == 1 else None
    return None


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    """What the call gives to a parameter, by name or by position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    row = find(_called(call.func))
    names = [parameter.name for parameter in row.positional] if row else []
    at = names.index(name) if name in names else POSITIONS.get(name.partition(" ")[0], len(call.args))
    return call.args[at] if at < len(call.args) else None


def _inside(place: Span, node: ast.expr) -> Span:
    """The place of a node that was read from the text of ``place``."""
    column, end = node.col_offset, node.end_col_offset or 0
    shift = place.column
    return replace(
        place,
        line=place.line + node.lineno - 1,
        column=column + shift if node.lineno == 1 else column,
        end_line=place.line + (node.end_lineno or node.lineno) - 1,
        end_column=end + shift if node.end_lineno == 1 else end,
    )
