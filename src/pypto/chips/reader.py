"""Reads a chip file: TOML, with the library's reader where Python has one (3.11), else with a small one that knows what chip files use."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

from pypto.errors.simulation import ChipFileSyntax


def read(path: Path) -> dict[str, Any]:
    """Tables of the file. Raises ``ChipFileSyntax``."""
    text = path.read_text(encoding="utf-8")
    if sys.version_info < (3, 11):
        return _simple(text, path)
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ChipFileSyntax(path=path, reason=str(error)) from None


_TABLE = re.compile(r"\[([\w.\-]+)\]\Z")
_PAIR = re.compile(r"([\w\-]+)\s*=\s*(.+)\Z", re.DOTALL)


def _simple(text: str, path: Path) -> dict[str, Any]:
    """Tables, numbers, strings, booleans, arrays over several lines, inline tables of such."""
    tables: dict[str, Any] = {}
    current = tables
    for number, line in _lines(text):
        if found := _TABLE.match(line):
            current = tables
            for part in found[1].split("."):
                current = current.setdefault(part, {})
        elif found := _PAIR.match(line):
            current[found[1]] = _value(found[2].strip(), number, path)
        else:
            raise ChipFileSyntax(path=path, reason=f"line {number} is neither a [table] nor name = value")
    return tables


def _lines(text: str) -> list[tuple[int, str]]:
    """Logical lines without comments: an open bracket continues on the next line."""
    found: list[tuple[int, str]] = []
    pending = ""
    for number, line in enumerate(text.splitlines(), start=1):
        pending += _without_comment(line).strip()
        if pending and pending.count("[") <= pending.count("]"):
            found.append((number, pending))
            pending = ""
    return found if not pending else [*found, (number, pending)]


def _without_comment(line: str) -> str:
    outside = re.match(r'(?:[^"#]|"[^"]*")*', line)
    return outside[0] if outside else line


def _value(text: str, number: int, path: Path) -> Any:
    literal = re.sub(r"([\w\-]+)\s*=", r'"\1":', text) if text.startswith("{") else text
    literal = {"true": "True", "false": "False"}.get(literal, literal)
    try:
        return ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        raise ChipFileSyntax(path=path, reason=f"line {number}: {text} is not a value") from None
