"""Reads the source of Python functions: the syntax trees that the interpreter walks, with their places.

``code_of(function)`` gives a ``Code`` (cached per code object). Whole files are parsed, so line and column numbers are those of the
file; a function is found by its first line, name and argument names. Where Python keeps no source (``exec``, piped
scripts) the answer is ``NoSource``; for ``python -c`` the text of the command line is used.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any, Union

from pypto.diagnostics import Span
from pypto.errors.frontend import NoSource, UnsupportedStatement, VariableArguments
from pypto.frontend.names import Flow, bound_names

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]


@dataclass(eq=False)
class Code:
    """What the interpreter needs to know of one function definition. ``bound`` are its local names, parameters included."""

    name: str
    file: str
    node: Definition
    qualified: str = ""
    bound: frozenset[str] = field(default_factory=frozenset)
    _body: list[ast.stmt] | None = None
    _flow: Flow | None = None
    _problem: UnsupportedStatement | None = None
    _checked: bool = False

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements; a lambda's expression as a return."""
        if self._body is None:
            node = self.node
            self._body = [ast.copy_location(ast.Return(node.body), node.body)] if isinstance(node, ast.Lambda) else node.body
        return self._body

    @property
    def flow(self) -> Flow:
        """Which names are live where; computed when first asked."""
        if self._flow is None:
            self._flow = Flow(self.body)
        return self._flow

    @property
    def problem(self) -> UnsupportedStatement | None:
        """The first statement that the language does not have, or None."""
        if not self._checked:
            self._problem = next(unsupported(self), None)
            self._checked = True
        return self._problem

    def span(self, node: Any) -> Span:
        """The place of ``node``, kept on the node."""
        found = getattr(node, "pypto_span", None)
        if found is None:
            end = getattr(node, "end_lineno", None) or node.lineno
            found = Span(self.file, node.lineno, node.col_offset, end, node.end_col_offset or 0, self.name)
            node.pypto_span = found
        return found


def new_code(name: str, file: str, node: Definition, qualified: str = "") -> Code:
    """A ``Code`` for a definition found in ``file``."""
    arguments = node.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    body = [] if isinstance(node, ast.Lambda) else node.body
    return Code(name, file, node, qualified or name, frozenset(names.union(bound_names(body))))


# -- from a function to its definition ---------------------------------------------------------------------------------------

_codes: dict[int, tuple[CodeType, Code]] = {}  # by identity: equal code objects may come from different files
_files: dict[str, tuple[int, ast.Module]] = {}


def code_of(function: FunctionType) -> Code:
    """The definition of ``function``; raises ``NoSource`` with the reason when there is none to be had."""
    compiled = function.__code__
    found = _codes.get(id(compiled))
    if found is None:
        found = (compiled, _read(function))
        _codes[id(compiled)] = found
    return found[1]


def _read(function: FunctionType) -> Code:
    compiled = function.__code__
    candidates = [node for node in _definitions(_tree(function)) if _matches(node, compiled)]
    if len(candidates) > 1:
        candidates = [node for node in candidates if _at_column(node, compiled)] or candidates
    if not candidates:
        raise NoSource(name=function.__qualname__, reason=f"{compiled.co_filename} has changed or holds no such function")
    if len(candidates) > 1 and isinstance(candidates[0], ast.Lambda):
        raise NoSource(name=function.__qualname__, reason="several lambdas stand on one line; give them names or lines")
    return new_code(function.__name__, compiled.co_filename, candidates[0], function.__qualname__)


def _tree(function: FunctionType) -> ast.Module:
    text = _text(function)
    file = function.__code__.co_filename
    known = _files.get(file)
    if known is not None and known[0] == hash(text):
        return known[1]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise NoSource(name=function.__qualname__, reason=f"the text of {file} is no longer valid Python ({error})")
    _files[file] = (hash(text), tree)
    return tree


def _text(function: FunctionType) -> str:
    file = function.__code__.co_filename
    if file == "<string>" and function.__globals__.get("__name__") == "__main__":
        _remember_command_line(file)
    if not file.startswith("<"):
        linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        raise NoSource(name=function.__qualname__, reason=f"it was defined in {file!r}, whose text Python does not keep")
    return "".join(lines)


def _remember_command_line(file: str) -> None:
    """Make the text of ``python -c`` known to linecache, so that messages can show its lines."""
    words = sys.orig_argv
    if file in linecache.cache or "-c" not in words[:-1]:
        return
    text = words[words.index("-c") + 1]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def _definitions(tree: ast.AST) -> Iterator[Definition]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node


def _first_line(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(d.lineno for d in decorators)])


def _matches(node: Definition, compiled: CodeType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    if name != compiled.co_name or _first_line(node) != compiled.co_firstlineno:
        return False
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    count = compiled.co_argcount + compiled.co_kwonlyargcount
    return [_unmangled(n) for n in compiled.co_varnames[:count]] == names


def _unmangled(name: str) -> str:
    """``_Class__name`` back to ``__name``."""
    head, marker, tail = name.partition("__")
    return marker + tail if marker and head.startswith("_") and len(head) > 1 else name


def _at_column(node: Definition, compiled: CodeType) -> bool:
    """Whether the instructions of ``compiled`` lie within ``node`` (Python 3.11 knows columns)."""
    positions = getattr(compiled, "co_positions", None)
    if positions is None or not isinstance(node, ast.Lambda):
        return True
    body = node.body
    return any(p[0] == body.lineno and p[2] == body.col_offset and p[3] == body.end_col_offset for p in positions())


# -- what the language does not have ---------------------------------------------------------------------------------------------

_REFUSED: dict[str, tuple[str, str]] = {
    "Try": ("try", "let the error stop the kernel, or decide with `if` before"),
    "TryStar": ("try", "let the error stop the kernel, or decide with `if` before"),
    "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"),
    "Global": ("global", "pass the value as an argument and return the new one"),
    "Nonlocal": ("nonlocal", "pass the value as an argument and return the new one"),
    "ClassDef": ("class", "define the class outside the kernel"),
    "Yield": ("yield", "return a list"),
    "YieldFrom": ("yield from", "return a list"),
    "Await": ("await", "call the function before the kernel"),
    "AsyncFor": ("async for", "use pypto.loop or a plain for"),
    "AsyncWith": ("async with", "use a plain with"),
    "AsyncFunctionDef": ("async def", "use a plain def"),
    "Match": ("match", "use if / elif"),
}


def inner_nodes(statements: list[Any]) -> Iterator[ast.AST]:
    """Every node, without going into nested functions, lambdas and classes (their own nodes are given)."""
    stack: list[ast.AST] = list(reversed(statements))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def unsupported(code: Code) -> Iterator[UnsupportedStatement]:
    """An error for every construct of ``code`` outside the language (tensor API section 6.4)."""
    if isinstance(code.node, ast.AsyncFunctionDef):
        yield UnsupportedStatement(what="async def", span=code.span(code.node), advice="use a plain def")
    for node in inner_nodes(list(code.body)):
        what, advice = _refusal(node)
        if what:
            yield UnsupportedStatement(what=what, span=code.span(node), advice=advice)


def _refusal(node: ast.AST) -> tuple[str, str]:
    if isinstance(node, (ast.For, ast.While)) and node.orelse:
        word = "for" if isinstance(node, ast.For) else "while"
        return f"{word}-else", "set a flag in the loop and test it afterwards"
    if isinstance(node, ast.Raise) and node.exc is None:
        return "raise without an exception", "name the exception to raise"
    return _REFUSED.get(type(node).__name__, ("", ""))


def refuse_variable_arguments(code: Code) -> None:
    """A kernel's parameters are known by name: no ``*args``, no ``**kwargs``."""
    arguments = code.node.args
    if arguments.vararg is not None:
        raise VariableArguments(what="Variable-length arguments (*args)", span=code.span(arguments.vararg))
    if arguments.kwarg is not None:
        raise VariableArguments(what="Keyword argument packing (**kwargs)", span=code.span(arguments.kwarg))


def cells_of(function: Any) -> dict[str, Any]:
    """Names that a function takes from the functions around it."""
    names = function.__code__.co_freevars
    found = {}
    for name, cell in zip(names, function.__closure__ or (), strict=False):
        if isinstance(cell, CellType):
            try:
                found[name] = cell.cell_contents
            except ValueError:  # not bound yet
                continue
    return found
