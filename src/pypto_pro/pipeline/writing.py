"""Makes statements from text, with the place of the user's statement they belong to."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from pypto_pro.pipeline.places import ALIAS, LANGUAGE
from pypto_pro.pipeline.structure import Kernel

Node = TypeVar("Node", bound=ast.AST)


def placed(node: Node, at: ast.AST) -> Node:
    """``node`` and everything in it that has no place yet, at the place of ``at``."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.stmt, ast.expr, ast.keyword, ast.arg)) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, at)
    return node


def made(text: str, at: ast.AST) -> list[ast.stmt]:
    """The statements of ``text``, all of them at the place of ``at``."""
    found = ast.parse(text).body
    for statement in found:
        for inner in ast.walk(statement):
            if hasattr(inner, "lineno"):
                ast.copy_location(inner, at)
    return found


class _Renamer(ast.NodeTransformer):
    def __init__(self, meaning: Mapping[str, str]) -> None:
        self.meaning = meaning

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.meaning:
            return node
        found = ast.parse(self.meaning[node.id], mode="eval").body
        for inner in ast.walk(found):
            ast.copy_location(inner, node)
        return found


def renamed(node: Node, meaning: Mapping[str, str]) -> Node:
    """``node`` with names replaced by expressions; changes ``node``."""
    return _Renamer(meaning).visit(node)


def language_alias(kernel: Kernel) -> str:
    """How the kernel spells the module of the language."""
    namespace = kernel.scope.namespace
    modules = {name: value.__name__ for name, value in namespace.items() if isinstance(value, ModuleType)}
    named = [name for name, module in modules.items() if module == LANGUAGE]
    package, _, rest = LANGUAGE.partition(".")
    named += [f"{name}.{rest}" for name, module in modules.items() if module == package]
    return ALIAS if ALIAS in named or not named else named[0]
