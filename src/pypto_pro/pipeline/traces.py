"""What reading a kernel leaves: traces of stages, and the frames of the functions on the way."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from pypto.frontend.python import cells_of, code_of
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.constants import Scope, function_scope
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.values import OTHER, FieldUse, Known, Slot, Step, Turn, Value, either


@dataclass(eq=False)
class Trace:
    """What one stage (or the body around the stages) does. ``arguments``: what the stage was given, by parameter."""

    steps: list[Step] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    fields: list[FieldUse] = field(default_factory=list)
    arguments: dict[str, Value] = field(default_factory=dict)

    def touched(self) -> dict[str, set[str]]:
        """Roles by buffer."""
        found: dict[str, set[str]] = {}
        for step in self.steps:
            for access in step.accesses:
                found.setdefault(access.buffer, set()).add(access.role)
        return found


@dataclass(eq=False)
class Reading:
    """The whole kernel. ``stages`` by stage call; ``around`` by loop: what its body and the loops around it do outside of stages."""

    buffers: dict[str, Buffer]
    loops: list[PipelineLoop] = field(default_factory=list)
    stages: dict[StageCall, Trace] = field(default_factory=dict)
    around: dict[PipelineLoop, list[tuple[Trace, ast.stmt]]] = field(default_factory=dict)
    outside: Trace = field(default_factory=Trace)
    names: dict[str, Value] = field(default_factory=dict)  # what the kernel's own names hold at the end
    picks: dict[str, tuple[Slot, ast.stmt]] = field(default_factory=dict)  # tiles that the kernel itself takes, by name


@dataclass(eq=False)
class Frame:
    """One function while it is read."""

    kernel: Kernel  # the function's own definition, file and scope
    names: dict[str, Value]
    is_kernel: bool = False
    is_stage: bool = False
    texts: dict[str, str] = field(default_factory=dict)  # arguments of a stage in the kernel's own names
    returned: list[Value] = field(default_factory=list)


def frame_scope(function: FunctionType, node: ast.FunctionDef, known: dict[str, Any]) -> Scope:
    """The scope of a function that the kernel calls; ``known``: parameters bound to constants."""
    return function_scope(node, namespace_of(function), known)


def namespace_of(function: FunctionType) -> dict[str, Any]:
    """Globals and closure of a function."""
    return {**function.__globals__, **cells_of(function)}


def _lambda_body(node: Any) -> ast.FunctionDef:
    """A lambda as a function that returns its value."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.FunctionDef("lambda_", node.args, [body], [], lineno=node.lineno, col_offset=node.col_offset)
    return ast.copy_location(made, node)


def any_of(values: Sequence[Value]) -> Value:
    found: Value | None = None
    for value in values:
        found = value if found is None else either(found, value)
    return OTHER if found is None else found


def frame_of(function: FunctionType, positional: list[Value], named: dict[str, Value]) -> Frame:
    """A new frame; parameters bound to constants are known in it."""
    code = code_of(function)
    arguments = code.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    values: dict[str, Value] = dict(zip(names, positional, strict=False)) | named
    defaults = dict(zip(names[len(names) - len(arguments.defaults) :], function.__defaults__ or (), strict=False))
    for name, default in (defaults | (function.__kwdefaults__ or {})).items():
        values.setdefault(name, Known(default))
    node = code.node if isinstance(code.node, ast.FunctionDef) else _lambda_body(code.node)
    known = {name: value.value for name, value in values.items() if isinstance(value, Known)}
    return Frame(Kernel(node, code.file, frame_scope(function, node, known)), values)
