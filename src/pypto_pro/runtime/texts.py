"""``pl.parse``, ``pl.loads``: functions and programs from text (tile API section 2.9)."""

from __future__ import annotations

import itertools
import linecache
from pathlib import Path
from typing import Any

from pypto.errors.base import UserError
from pypto_pro import language
from pypto_pro.errors.launching import NothingFound, SeveralFound, TextFailed, TextSyntax, WrongKind
from pypto_pro.runtime.definitions import ParsedFunction, ParsedProgram

_numbers = itertools.count(1)


def parse(code: str, filename: str = "<string>") -> ParsedFunction | ParsedProgram:
    """Runs a text and gives the one ``pl.function`` or ``pl.program`` that it defines; ``pl`` is imported already.

    Raises ``ValueError`` when there is none or several, ``SyntaxError`` for bad Python, ``RuntimeError`` when the text itself fails.
    """
    found = _definitions(code, filename)
    if not found:
        raise NothingFound(where=filename)
    if len(found) > 1:
        raise SeveralFound(where=filename, what="functions or programs", names=", ".join(one.name for one in found))
    return found[0]


def loads(filepath: Any) -> ParsedFunction | ParsedProgram:
    """``parse`` for a file."""
    return parse(Path(filepath).read_text(encoding="utf-8"), str(filepath))


def parse_program(code: str, filename: str = "<string>") -> ParsedProgram:
    """``parse`` for a text that defines one ``pl.program`` class."""
    found = parse(code, filename)
    if not isinstance(found, ParsedProgram):
        raise WrongKind(where=filename, found="function", expected="program")
    return found


def loads_program(filepath: Any) -> ParsedProgram:
    """``parse_program`` for a file."""
    return parse_program(Path(filepath).read_text(encoding="utf-8"), str(filepath))


def _definitions(code: str, filename: str) -> list[Any]:
    name = filename if not filename.startswith("<") else f"<text {next(_numbers)}>"
    try:
        compiled = compile(code, name, "exec")
    except (SyntaxError, ValueError) as error:
        raise TextSyntax(where=filename, reason=error)
    # the source reader finds the text of functions where tracebacks do
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"pl": language, "__name__": "__pypto_pro_text__"}
    try:
        exec(compiled, namespace)
    except UserError:
        raise
    except Exception as error:
        raise TextFailed(where=filename, reason=f"{type(error).__name__}: {error}")
    programs = [one for one in namespace.values() if isinstance(one, ParsedProgram)]
    functions = [one for one in namespace.values() if isinstance(one, ParsedFunction)]
    return programs or functions
