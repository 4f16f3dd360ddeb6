"""Reads a kernel with everything it calls and notes which operation touches which tile, on which pipe, in which order.

The kernel's body is walked once. Statements outside the stages belong to the *body*; a stage call is followed into the stage function,
with the groups and tiles that were passed, and on into the helpers it calls. Roles and pipes come from the table of tile operations.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from pypto.cores.enums import MemorySpace
from pypto.errors.pipeline import (
    GroupOutsideKernel,
    HelperReturnsTile,
    PipeUnknown,
    SlotNotBound,
    SlotPickedTwice,
    SlotPickNested,
    StageInStage,
    StageReturnsValue,
)
from pypto.frontend.python import code_of
from pypto_pro.pipeline import operations
from pypto_pro.pipeline.buffers import Buffer, read_buffer
from pypto_pro.pipeline.config import is_stage
from pypto_pro.pipeline.constants import UNKNOWN, Scope, function_scope
from pypto_pro.pipeline.places import operation_name, used_names
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.values import (
    OTHER,
    Access,
    Bundle,
    FieldUse,
    Group,
    Known,
    Slot,
    Step,
    Struct,
    StructArray,
    Turn,
    Value,
    either,
    options,
    slots,
)
from pypto_pro.pipeline.writing import renamed

PICKS = ("next", "current", "previous")
DEEPEST_CALL = 40  # helpers that call helpers; the front end refuses recursion with its own message


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
    stages: dict[StageCall, Trace] = field(default_factory=dict)
    around: dict[PipelineLoop, list[tuple[Trace, ast.stmt]]] = field(default_factory=dict)
    outside: Trace = field(default_factory=Trace)
    names: dict[str, Value] = field(default_factory=dict)  # what the kernel's own names hold at the end
    picks: dict[str, tuple[Slot, ast.stmt]] = field(default_factory=dict)  # tiles that the kernel itself takes, by name


@dataclass(eq=False)
class _Frame:
    """One function while it is read."""

    kernel: Kernel  # the function's own definition, file and scope
    names: dict[str, Value]
    is_kernel: bool = False
    is_stage: bool = False
    texts: dict[str, str] = field(default_factory=dict)  # arguments of a stage in the kernel's own names
    returned: list[Value] = field(default_factory=list)


def read(kernel: Kernel, loops: list[PipelineLoop], buffers: dict[str, Buffer]) -> Reading:
    """Everything that the kernel's stages and the statements around them do with tiles."""
    reader = _Reader(kernel, loops, buffers)
    reader.body(kernel.node.body, reader.root, sure=True)
    reader.reading.names = reader.root.names
    return reader.reading


class _Reader:
    def __init__(self, kernel: Kernel, loops: list[PipelineLoop], buffers: dict[str, Buffer]) -> None:
        self.reading = Reading(dict(buffers))
        self.root = _Frame(kernel, {}, is_kernel=True)
        self.loops = loops
        self.calls = {id(stage.call): (loop, stage) for loop in loops for stage in loop.stages}
        self.trace = self.reading.outside
        self.loop: PipelineLoop | None = None
        self.stage: StageCall | None = None
        self.depth = 0
        self.picks = 0
        self.loops_inside = 0  # loops around the present statement inside its stage

    # -- statements ---------------------------------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt], frame: _Frame, sure: bool) -> None:
        for statement in statements:
            before = self.trace
            if frame.is_kernel and self.loop is not None:
                self.trace = Trace()
                self.reading.around.setdefault(self.loop, []).append((self.trace, statement))
            self.statement(statement, frame, sure)
            self.trace = before

    def statement(self, node: ast.stmt, frame: _Frame, sure: bool) -> None:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None:
            method(node, frame, sure)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, frame, sure)

    def _Expr(self, node: ast.Expr, frame: _Frame, sure: bool) -> None:
        found = self.calls.get(id(node.value))
        if found is not None and isinstance(node.value, ast.Call):
            self.enter_stage(found[1], node.value, frame)
        else:
            self.value(node.value, frame, sure)

    def _Assign(self, node: ast.Assign, frame: _Frame, sure: bool) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and len(node.targets) == 1:
            self.bind(target.id, node, node.value, frame, sure)
            return
        value = self.value(node.value, frame, sure)
        for one in node.targets:
            self.store(one, value, frame, sure)

    def _AnnAssign(self, node: ast.AnnAssign, frame: _Frame, sure: bool) -> None:
        if node.value is not None and isinstance(node.target, ast.Name):
            self.bind(node.target.id, node, node.value, frame, sure)

    def _AugAssign(self, node: ast.AugAssign, frame: _Frame, sure: bool) -> None:
        self.value(node.value, frame, sure)
        if isinstance(node.target, (ast.Subscript, ast.Attribute)):
            loaded = ast.copy_location(_loaded(node.target), node.target)
            self.value(loaded, frame, sure)
        self.store(node.target, OTHER, frame, sure)

    def _If(self, node: ast.If, frame: _Frame, sure: bool) -> None:
        test = frame.kernel.scope.value(node.test)
        if test is not UNKNOWN:
            self.body(node.body if test else node.orelse, frame, sure)
            return
        self.value(node.test, frame, sure)
        before = dict(frame.names)
        self.body(node.body, frame, sure=False)
        then, frame.names = frame.names, dict(before)
        self.body(node.orelse, frame, sure=False)
        for name in {*then, *frame.names}:
            frame.names[name] = either(then.get(name, OTHER), frame.names.get(name, OTHER))

    def _For(self, node: ast.For, frame: _Frame, sure: bool) -> None:
        self.value(node.iter, frame, sure)
        self.store(node.target, OTHER, frame, sure)
        previous = self.loop
        if frame.is_kernel and self.loop is None:
            self.loop = next((loop for loop in self.loops if loop.outer is node), None)
        self.repeatedly(node.body, frame, sure and self._runs(node, frame))
        self.loop = previous

    def repeatedly(self, statements: list[ast.stmt], frame: _Frame, sure: bool) -> None:
        """The body of a loop."""
        self.loops_inside += not frame.is_kernel
        self.body(statements, frame, sure)
        self.loops_inside -= not frame.is_kernel

    def _runs(self, node: ast.For, frame: _Frame) -> bool:
        """Whether the loop certainly has an iteration."""
        call = node.iter
        if not isinstance(call, ast.Call) or not 1 <= len(call.args) <= 3:
            return False
        numbers = [frame.kernel.scope.value(argument) for argument in call.args]
        return all(isinstance(n, int) for n in numbers) and (len(numbers) < 3 or numbers[2] != 0) and len(range(*numbers)) > 0

    def _While(self, node: ast.While, frame: _Frame, sure: bool) -> None:
        self.value(node.test, frame, sure)
        self.repeatedly(node.body, frame, sure=False)

    def _With(self, node: ast.With, frame: _Frame, sure: bool) -> None:
        self.body(node.body, frame, sure)

    def _Return(self, node: ast.Return, frame: _Frame, sure: bool) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return
        if frame.is_stage and self.stage is not None:
            raise frame.kernel.fail(StageReturnsValue, node, stage=self.stage.name)
        frame.returned.append(self.value(node.value, frame, sure))

    # -- binding ------------------------------------------------------------------------------------------------------------

    def bind(self, name: str, statement: ast.stmt, node: ast.expr, frame: _Frame, sure: bool) -> None:
        value = self.value(node, frame, sure, name)
        frame.names[name] = value
        if not frame.is_kernel:
            return
        for slot in slots(value):
            if slot.how != "tile" and isinstance(node, (ast.Call, ast.Subscript)):
                if name in self.reading.picks:
                    raise frame.kernel.fail(SlotPickedTwice, statement, name=name, pick=ast.unparse(node))
                self.reading.picks[name] = (slot, statement)

    def store(self, target: ast.expr, value: Value, frame: _Frame, sure: bool) -> None:
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, one in enumerate(target.elts):
                self.store(one, value.get(str(position)) if isinstance(value, Bundle) else OTHER, frame, sure)
        elif isinstance(target, ast.Attribute):
            self.field(target, frame, sure, written=True)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice, frame, sure)
            if isinstance(target.value, ast.Attribute):
                self.field(target.value, frame, sure, written=True)
            else:
                self.element("setval", target, self.value(target.value, frame, sure), frame, sure)

    def field(self, node: ast.Attribute, frame: _Frame, sure: bool, written: bool) -> Value:
        base = self.value(node.value, frame, sure)
        found: Value | None = None
        for option in options(base):
            if isinstance(option, Struct):
                self.trace.fields.append(FieldUse(option.name, node.attr, written, frame.kernel.span(node)))
            value = option.get(node.attr) if isinstance(option, Bundle) else OTHER
            found = value if found is None else either(found, value)
        if isinstance(base, Known) or found is None:
            value_known = frame.kernel.scope.value(node)
            return OTHER if value_known is UNKNOWN else Known(value_known)
        return found

    # -- expressions --------------------------------------------------------------------------------------------------------

    def value(self, node: ast.AST, frame: _Frame, sure: bool, name: str | None = None) -> Value:
        """What an expression may be; ``name`` is the variable it is bound to, if it is a statement of its own."""
        if isinstance(node, ast.Name):
            return self.named(node, frame)
        if isinstance(node, ast.Call):
            return self.call(node, frame, sure, name)
        if isinstance(node, ast.Subscript):
            return self.subscript(node, frame, sure, name)
        if isinstance(node, ast.Attribute):
            return self.field(node, frame, sure, written=False)
        if isinstance(node, ast.IfExp):
            self.value(node.test, frame, sure)
            return either(self.value(node.body, frame, False), self.value(node.orelse, frame, False))
        if isinstance(node, (ast.Tuple, ast.List)):
            return Bundle(tuple((str(i), self.value(one, frame, sure)) for i, one in enumerate(node.elts)))
        for child in ast.iter_child_nodes(node):
            self.value(child, frame, sure)
        found = frame.kernel.scope.value(node)
        return OTHER if found is UNKNOWN else Known(found)

    def named(self, node: ast.Name, frame: _Frame) -> Value:
        if node.id in frame.names:
            return frame.names[node.id]
        found = frame.kernel.scope.value(node)
        return OTHER if found is UNKNOWN else Known(found)

    def subscript(self, node: ast.Subscript, frame: _Frame, sure: bool, name: str | None) -> Value:
        base = self.value(node.value, frame, sure)
        self.value(node.slice, frame, sure)
        found: Value | None = None
        for option in options(base):
            value: Value = OTHER
            if isinstance(option, Group):
                value = self.pick(Slot(option.name, "at", node.slice), node, frame, sure, name)
            elif isinstance(option, Slot) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
                value = option
            elif isinstance(option, Bundle):
                index = frame.kernel.scope.value(node.slice)
                every = [one for _, one in option.fields]
                value = every[index] if isinstance(index, int) and -len(every) <= index < len(every) else _any(every)
            elif isinstance(option, Slot):
                self.element("getval", node, option, frame, sure)
            found = value if found is None else either(found, value)
        return OTHER if found is None else found

    def element(self, operation: str, node: ast.Subscript, base: Value, frame: _Frame, sure: bool) -> None:
        found = operations.row(operation)
        if slots(base) and found is not None:
            role = "R" if operation == "getval" else "W"
            self.note(operation, operations.pipe(found, [], []), [(base, role)], node, frame, sure)

    def call(self, node: ast.Call, frame: _Frame, sure: bool, name: str | None) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr in PICKS and not node.args:
            base = self.value(node.func.value, frame, sure)
            groups = [one for one in options(base) if isinstance(one, Group)]
            picked = [self.pick(Slot(one.name, node.func.attr), node, frame, sure, name) for one in groups]
            if picked:
                return _any(picked)
        operation = operation_name(node, frame.kernel.scope)
        if operation is not None:
            return self.operation(operation, node, frame, sure, name)
        function = self.value(node.func, frame, sure) if isinstance(node.func, ast.Name) else OTHER
        target = function.value if isinstance(function, Known) else frame.kernel.scope.value(node.func)
        positional = [self.value(argument, frame, sure) for argument in node.args]
        named = {keyword.arg or "": self.value(keyword.value, frame, sure) for keyword in node.keywords}
        if is_stage(target):
            stage = self.stage.name if self.stage else frame.kernel.node.name
            raise frame.kernel.fail(StageInStage, node, stage=stage, inner=ast.unparse(node.func))
        if isinstance(target, FunctionType) and self.depth < DEEPEST_CALL:
            return self.follow(target, positional, named, node, frame, sure)
        return OTHER

    def pick(self, slot: Slot, node: ast.expr, frame: _Frame, sure: bool, name: str | None) -> Slot:
        """A tile of a group is taken."""
        buffer = self.reading.buffers.get(slot.buffer)
        if name is None and self.stage is not None and buffer is not None and buffer.channel:
            raise frame.kernel.fail(SlotNotBound, node, group=slot.buffer, got=ast.unparse(node))
        if name is None and frame.is_kernel:
            raise frame.kernel.fail(SlotPickNested, node, got=ast.unparse(node), pick=ast.unparse(node))
        self.picks += 1
        slot = replace(slot, pick=self.picks)
        number = frame.kernel.scope.value(slot.index) if slot.index is not None else None
        constant = number if isinstance(number, int) else None
        text = self.in_kernel_names(slot.index, frame) if slot.index is not None else None
        self.trace.turns.append(Turn(slot, sure and not self.loops_inside, frame.kernel.span(node), constant, text))
        return slot

    def in_kernel_names(self, node: ast.expr, frame: _Frame) -> str | None:
        """An index of a stage with its parameters replaced by what the kernel passed; None where other names take part."""
        if frame.is_kernel:
            return ast.unparse(node)
        scope = frame.kernel.scope
        unknown = {n for n in used_names(node) if n not in frame.texts and scope.name(n) is UNKNOWN}
        if unknown or not frame.is_stage:
            return None
        known = {n: repr(scope.name(n)) for n in used_names(node) if isinstance(scope.name(n), int)}
        return ast.unparse(renamed(copy.deepcopy(node), {n: f"({t})" for n, t in frame.texts.items()} | known))

    # -- operations of the language ------------------------------------------------------------------------------------------

    def operation(self, operation: str, node: ast.Call, frame: _Frame, sure: bool, name: str | None) -> Value:
        if operation in ("make_tile", "make_tile_group"):
            return self.declared(operation, node, frame, name)
        positional = [self.value(argument, frame, sure) for argument in node.args]
        named = {keyword.arg or "": self.value(keyword.value, frame, sure) for keyword in node.keywords}
        if operation == "make_tuple":
            return Bundle(tuple(named.items()))
        if operation == "struct":
            return Struct(name or "")
        if operation == "struct_array":
            return StructArray(name or "")
        row = operations.row(operation)
        if row is not None:
            operands, keywords = operations.arguments(row, positional, named)
            touched = list(zip(operands, operations.roles(row, len(operands)), strict=True))
            touched += [(value, "R") for value in keywords.values() if slots(value)]
            spaces = [self.space(value) for value in operands]
            tiles = [bool(slots(value)) for value in operands if value is not None]
            tiles += [False] * (len(spaces) - len(tiles))
            self.note(operation, operations.pipe(row, spaces, tiles), touched, node, frame, sure)
        return OTHER

    def declared(self, operation: str, node: ast.Call, frame: _Frame, name: str | None) -> Value:
        """A tile or group is declared: in the kernel, or (tiles only) in a stage or helper."""
        if operation == "make_tile_group" and not frame.is_kernel:
            raise frame.kernel.fail(GroupOutsideKernel, node, function=frame.kernel.node.name)
        if name is None:
            return OTHER
        if not frame.is_kernel:
            name = f"{frame.kernel.node.name}.{name}"
            self.reading.buffers[name] = read_buffer(frame.kernel, name, node, frame.kernel.node, None)
        return Group(name) if operation == "make_tile_group" else Slot(name, "tile")

    def space(self, value: Value | None) -> MemorySpace | None:
        found = (
            {self.reading.buffers[slot.buffer].space for slot in slots(value) if slot.buffer in self.reading.buffers}
            if value
            else set()
        )
        return found.pop() if len(found) == 1 else None

    def note(self, operation: str, pipe: Any, touched: list[tuple[Value, str]], node: ast.AST, frame: _Frame, sure: bool) -> None:
        """Records one operation: what it reads comes before what it writes."""
        accesses = [
            Access(slot.buffer, role, slot, len(slots(value)) == 1)
            for role in "RW"
            for value, roles in touched
            if value is not None and role in roles
            for slot in slots(value)
        ]
        if not accesses:
            return
        if pipe is None:
            buffer = self._matters(accesses)
            if buffer is not None and self.stage is not None:
                raise frame.kernel.fail(PipeUnknown, node, operation=f"pl.{operation}", buffer=buffer, stage=self.stage.name)
        self.trace.steps.append(Step(operation, pipe, tuple(accesses), sure, frame.kernel.span(node), bool(self.loops_inside)))

    def _matters(self, accesses: list[Access]) -> str | None:
        found = (self.reading.buffers.get(access.buffer) for access in accesses)
        return next((buffer.name for buffer in found if buffer is not None and buffer.channel), None)

    # -- functions ----------------------------------------------------------------------------------------------------------

    def enter_stage(self, stage: StageCall, node: ast.Call, frame: _Frame) -> None:
        positional = [self.value(argument, frame, True) for argument in node.args]
        named = {keyword.arg or "": self.value(keyword.value, frame, True) for keyword in node.keywords}
        before, self.trace, self.stage = self.trace, Trace(), stage
        inner = self.frame_of(stage.function, positional, named)
        inner.is_stage = True
        parameters = [a.arg for a in inner.kernel.node.args.args]
        inner.texts = {name: ast.unparse(argument) for name, argument in zip(parameters, node.args, strict=False)}
        inner.texts |= {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg}
        self.trace.arguments = dict(inner.names)
        self.reading.stages[stage] = self.trace
        self.body(inner.kernel.node.body, inner, sure=True)
        self.trace, self.stage = before, None

    def follow(
        self, function: FunctionType, positional: list[Value], named: dict[str, Value], node: ast.Call, frame: _Frame, sure: bool
    ) -> Value:
        """Walks a helper with its arguments; what it returns."""
        inner = self.frame_of(function, positional, named)
        self.depth += 1
        self.body(inner.kernel.node.body, inner, sure)
        self.depth -= 1
        result = _any(inner.returned)
        tile = any(isinstance(one, (Slot, Group)) for one in options(result))
        if tile and self.stage is not None:
            raise frame.kernel.fail(HelperReturnsTile, node, function=function.__name__, stage=self.stage.name)
        return result

    def frame_of(self, function: FunctionType, positional: list[Value], named: dict[str, Value]) -> _Frame:
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
        return _Frame(Kernel(node, code.file, frame_scope(function, node, known)), values)


def frame_scope(function: FunctionType, node: ast.FunctionDef, known: dict[str, Any]) -> Scope:
    """The scope of a function that the kernel calls; ``known``: parameters bound to constants."""
    return function_scope(node, namespace_of(function), known)


def namespace_of(function: FunctionType) -> dict[str, Any]:
    """Globals and closure of a function."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the cell has no value yet
            continue
    return found


def _lambda_body(node: Any) -> ast.FunctionDef:
    """A lambda as a function that returns its value."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.FunctionDef("lambda_", node.args, [body], [], lineno=node.lineno, col_offset=node.col_offset)
    return ast.copy_location(made, node)


def _any(values: Sequence[Value]) -> Value:
    found: Value | None = None
    for value in values:
        found = value if found is None else either(found, value)
    return OTHER if found is None else found


def _loaded(target: ast.Subscript | ast.Attribute) -> ast.expr:
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())
