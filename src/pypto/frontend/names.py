"""Which names a piece of Python binds, and which are live where.

``bound_names`` lists what statements assign. ``Flow`` is liveness of one function body: ``live_after(statement)`` are the names
whose value may still be read after it, ``live_into(loop)`` those that an iteration may read before it binds them: exactly the names
that a device loop has to carry. Names used by nested functions count as live everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Names = frozenset[str]
NONE: Names = frozenset()
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(statements: Sequence[ast.AST]) -> tuple[str, ...]:
    """Names bound by ``statements`` in order of appearance; nested functions and comprehensions bind only their own."""
    found: dict[str, None] = {}
    for statement in statements:
        for name in _bound(statement):
            found.setdefault(name)
    return tuple(found)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Lambda):
        return
    elif isinstance(node, _COMPREHENSIONS):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                yield from _bound(inner.target)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def stored_names(statements: Sequence[ast.AST]) -> tuple[str, ...]:
    """Names of which an element is assigned (``name[k] = …``), those bound as well left out."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                base = node.value
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    found.setdefault(base.id)
    bound = bound_names(statements)
    return tuple(name for name in found if name not in bound)


def binding_line(statements: Iterable[ast.AST], name: str) -> int:
    """The first line that binds ``name`` in ``statements``; 0 when none does."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                return node.lineno
    return 0


def loaded_names(node: ast.AST | None) -> Names:
    """Names that ``node`` reads, those in nested functions and comprehensions included."""
    if node is None:
        return NONE
    found = getattr(node, "pypto_loads", None)
    if found is None:
        found = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        node.pypto_loads = found  # type: ignore[attr-defined]
    return found


def contains(statements: Iterable[ast.AST], kinds: tuple[type, ...]) -> ast.AST | None:
    """The first node of one of ``kinds``, nested functions left out."""
    for statement in statements:
        if isinstance(statement, kinds):
            return statement
        if isinstance(statement, _SCOPES):
            continue
        found = contains(ast.iter_child_nodes(statement), kinds)
        if found is not None:
            return found
    return None


@dataclass(frozen=True)
class _Exits:
    """What is live where ``break`` and ``continue`` of the innermost loop go."""

    after: Names = NONE
    head: Names = NONE


class Flow:
    """Liveness of a function body; see the module's text."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.captured: Names = NONE
        self._after: dict[int, Names] = {}
        self._into: dict[int, Names] = {}
        self._block(body, NONE, _Exits())

    def live_after(self, statement: ast.AST) -> Names:
        return self._after.get(id(statement), NONE) | self.captured

    def live_into(self, loop: ast.AST) -> Names:
        """Names whose value at the start of an iteration (the loop's own targets bound) may be read."""
        return self._into.get(id(loop), NONE) | self.captured

    # -- backward walk: what is live after -> what is live before -----------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt], live: Names, exits: _Exits) -> Names:
        for statement in reversed(statements):
            self._after[id(statement)] = self._after.get(id(statement), NONE) | live
            live = self._statement(statement, live, exits)
        return live

    def _statement(self, s: ast.stmt, live: Names, exits: _Exits) -> Names:
        if isinstance(s, ast.If):
            return loaded_names(s.test) | self._block(s.body, live, exits) | self._block(s.orelse, live, exits)
        if isinstance(s, (ast.For, ast.AsyncFor)):
            return loaded_names(s.iter) | self._for(s, live)
        if isinstance(s, ast.While):
            return self._while(s, live)
        if isinstance(s, (ast.With, ast.AsyncWith)):
            return self._with(s, live, exits)
        if isinstance(s, ast.Break):
            return exits.after
        if isinstance(s, ast.Continue):
            return exits.head
        if isinstance(s, (ast.Return, ast.Raise)):
            return self._capture(s) | loaded_names(s)
        return self._simple(s, live)

    def _simple(self, s: ast.stmt, live: Names) -> Names:
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.captured |= loaded_names(s)
            return (live - {s.name}) | loaded_names(s)
        reads = self._capture(s) | loaded_names(s)
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            return live | reads | {s.target.id}
        if isinstance(s, ast.AnnAssign) and s.value is None:
            return live | reads
        return (live - frozenset(_bound(s))) | reads

    def _capture(self, s: ast.AST) -> Names:
        for node in ast.walk(s):
            if isinstance(node, ast.Lambda):
                self.captured |= loaded_names(node)
        return NONE

    def _for(self, s: ast.For | ast.AsyncFor, after: Names) -> Names:
        after = self._block(s.orelse, after, _Exits()) if s.orelse else after
        targets = frozenset(_bound(s.target)) | loaded_names(s.target)
        into, head = NONE, after
        while True:
            body = self._block(s.body, head, _Exits(after, head)) - targets
            if body <= into:
                break
            into |= body
            head = after | into
        self._into[id(s)] = self._into.get(id(s), NONE) | into
        return head

    def _while(self, s: ast.While, after: Names) -> Names:
        head = after | loaded_names(s.test)
        while True:
            body = head | self._block(s.body, head, _Exits(after, head))
            if body == head:
                return head
            head = body

    def _with(self, s: ast.With | ast.AsyncWith, live: Names, exits: _Exits) -> Names:
        live = self._block(s.body, live, exits)
        for item in s.items:
            live = (live - frozenset(_bound(item))) | loaded_names(item.context_expr)
        return live
