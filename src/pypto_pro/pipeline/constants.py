"""What is known before anything runs: values of expressions, and which branch of a constant ``if`` stays.

``Scope.value`` evaluates an expression over the kernel's namespace, the values that the caller knows, and local names bound
once to a constant. What it cannot evaluate is ``UNKNOWN``; nothing is ever called but a few harmless builtins.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from pypto_pro.pipeline.places import bound_names


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_HARMLESS = {len, min, max, int, float, bool, abs, sum, range, tuple, list}
_PLAIN = (int, float, bool, str, tuple, list, type(None))


class Scope:
    """Names of one function: locals hide the namespace; ``known`` (by name or by the text of an expression) wins over both."""

    def __init__(
        self, namespace: Mapping[str, Any], local_names: Iterable[str] = (), known: Mapping[str, Any] | None = None
    ) -> None:
        self.namespace = namespace
        self.local_names = frozenset(local_names)
        self.known: dict[str, Any] = dict(known or {})

    def name(self, name: str) -> Any:
        if name in self.known:
            return self.known[name]
        if name in self.local_names:
            return UNKNOWN
        if name in self.namespace:
            return self.namespace[name]
        builtins = self.namespace.get("__builtins__", __builtins__)
        found = builtins.get(name, UNKNOWN) if isinstance(builtins, dict) else getattr(builtins, name, UNKNOWN)
        return found

    def value(self, node: ast.AST) -> Any:
        """The value of an expression, or ``UNKNOWN``."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if self.known and isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
            text = ast.unparse(node)
            if text in self.known:
                return self.known[text]
        method = getattr(self, f"_{type(node).__name__}", None)
        return UNKNOWN if method is None else method(node)

    def _Attribute(self, node: ast.Attribute) -> Any:
        base = self.value(node.value)
        if base is UNKNOWN:
            return UNKNOWN
        safe = isinstance(base, (ModuleType, type)) or not isinstance(base, _PLAIN)
        return getattr(base, node.attr, UNKNOWN) if safe else UNKNOWN

    def _all(self, nodes: Iterable[ast.AST]) -> Any:
        values = [self.value(node) for node in nodes]
        return UNKNOWN if any(value is UNKNOWN for value in values) else values

    def _compute(self, function: Callable[..., Any], nodes: Iterable[ast.AST]) -> Any:
        values = self._all(nodes)
        if values is UNKNOWN or not all(isinstance(value, (*_PLAIN, range)) or hasattr(value, "name") for value in values):
            return UNKNOWN
        try:
            return function(*values)
        except (ArithmeticError, TypeError, ValueError, LookupError):
            return UNKNOWN

    def _BinOp(self, node: ast.BinOp) -> Any:
        function = _BINARY.get(type(node.op))
        return UNKNOWN if function is None else self._compute(function, (node.left, node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self._compute(_UNARY[type(node.op)], (node.operand,))

    def _Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            return UNKNOWN
        return self._compute(_COMPARE[type(node.ops[0])], (node.left, node.comparators[0]))

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        """A constant side may decide alone, as in ``FLAG and k > 0`` with a false FLAG."""
        decides = isinstance(node.op, ast.Or)
        result: Any = not decides
        for operand in node.values:
            value = self.value(operand)
            if value is not UNKNOWN and bool(value) is decides:
                return value
            result = UNKNOWN if value is UNKNOWN or result is UNKNOWN else value
        return result

    def _IfExp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        return UNKNOWN if test is UNKNOWN else self.value(node.body if test else node.orelse)

    def _Tuple(self, node: ast.Tuple) -> Any:
        values = self._all(node.elts)
        return UNKNOWN if values is UNKNOWN else tuple(values)

    def _List(self, node: ast.List) -> Any:
        return self._all(node.elts)

    def _Subscript(self, node: ast.Subscript) -> Any:
        base, index = self.value(node.value), self.value(node.slice)
        if not isinstance(base, (tuple, list)) or not isinstance(index, int) or not -len(base) <= index < len(base):
            return UNKNOWN
        return base[index]

    def _Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "constexpr" and len(node.args) == 1:
            return self.value(node.args[0])
        function = self.value(node.func)
        if node.keywords or not any(function is harmless for harmless in _HARMLESS):
            return UNKNOWN
        return self._compute(function, node.args)


def function_scope(node: ast.FunctionDef, namespace: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> Scope:
    """The scope of a function: local names that are bound once, to a constant, and at the top of its body are known."""
    counts = bound_names(node)
    scope = Scope(namespace, counts, {name: value for name, value in (known or {}).items() if counts[name] < 2})
    for statement in node.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            value = scope.value(statement.value) if counts[name] == 1 else UNKNOWN
            if isinstance(value, (int, float, bool, tuple)) or hasattr(value, "target_memory"):
                scope.known.setdefault(name, value)
    return scope


class _Pruner(ast.NodeTransformer):
    """Keeps the branch that a constant condition takes; drops sections that become empty."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_If(self, node: ast.If) -> Any:
        test = self.scope.value(node.test)
        if test is UNKNOWN:
            return self.generic_visit(node)
        return [kept for statement in (node.body if test else node.orelse) for kept in _as_list(self.visit(statement))]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        had_body = bool(getattr(node, "body", None)) if isinstance(node, ast.stmt) else False
        super().generic_visit(node)
        if had_body and not node.body:  # type: ignore[attr-defined]
            node.body = [ast.copy_location(ast.Pass(), node)]  # type: ignore[attr-defined]
        return node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        return None if all(isinstance(statement, ast.Pass) for statement in node.body) else node


def _as_list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [] if found is None else [found]


def prune(node: ast.FunctionDef, scope: Scope) -> ast.FunctionDef:
    """``node`` without branches that cannot be taken; changes ``node``.

    >>> kernel = ast.parse("def kernel():\\n  if DEBUG:\\n    a()\\n  else:\\n    b()").body[0]
    >>> print(ast.unparse(prune(kernel, Scope({"DEBUG": False}))))
    def kernel():
        b()
    """
    _Pruner(scope).generic_visit(node)
    return node
