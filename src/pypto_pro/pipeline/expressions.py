"""Expressions of a kernel while it is read: what they may be, and which operations in them touch which tile."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from types import FunctionType
from typing import Any

from pypto.cores.enums import MemorySpace
from pypto.errors.pipeline import GroupOutsideKernel, PipeUnknown, SlotNotBound, SlotPickNested, StageInStage
from pypto_pro.pipeline import operations
from pypto_pro.pipeline.buffers import Buffer, read_buffer
from pypto_pro.pipeline.config import is_stage
from pypto_pro.pipeline.constants import UNKNOWN
from pypto_pro.pipeline.places import operation_name, used_names
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.traces import Frame, Reading, any_of
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


class Expressions:
    """Evaluates expressions over what names may hold. ``trace`` is where operations are noted, ``stage`` the stage that is being read."""

    def __init__(self, kernel: Kernel, buffers: dict[str, Buffer]) -> None:
        self.reading = Reading(dict(buffers))
        self.root = Frame(kernel, {}, is_kernel=True)
        self.trace = self.reading.outside
        self.loop: PipelineLoop | None = None
        self.stage: StageCall | None = None
        self.depth = 0
        self.picks = 0
        self.arms: list[tuple[int, int]] = []  # branches around the present statement
        self.loops_inside = 0  # loops around the present statement inside its stage

    def follow(
        self, function: FunctionType, positional: list[Value], named: dict[str, Value], node: ast.Call, frame: Frame, sure: bool
    ) -> Value:
        """Reads a helper; what it returns."""
        raise TypeError("statements are read by Reader")

    def field(self, node: ast.Attribute, frame: Frame, sure: bool, written: bool) -> Value:
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

    # -- names and values --------------------------------------------------------------------------------------------------------

    def value(self, node: ast.AST, frame: Frame, sure: bool, name: str | None = None) -> Value:
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

    def named(self, node: ast.Name, frame: Frame) -> Value:
        if node.id in frame.names:
            return frame.names[node.id]
        found = frame.kernel.scope.value(node)
        return OTHER if found is UNKNOWN else Known(found)

    def subscript(self, node: ast.Subscript, frame: Frame, sure: bool, name: str | None) -> Value:
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
                value = every[index] if isinstance(index, int) and -len(every) <= index < len(every) else any_of(every)
            elif isinstance(option, Slot):
                self.element("getval", node, option, frame, sure)
            found = value if found is None else either(found, value)
        return OTHER if found is None else found

    def element(self, operation: str, node: ast.Subscript, base: Value, frame: Frame, sure: bool) -> None:
        found = operations.row(operation)
        if slots(base) and found is not None:
            role = "R" if operation == "getval" else "W"
            self.note(operation, operations.pipe(found, [], []), [(base, role)], node, frame, sure)

    def call(self, node: ast.Call, frame: Frame, sure: bool, name: str | None) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr in PICKS and not node.args:
            base = self.value(node.func.value, frame, sure)
            groups = [one for one in options(base) if isinstance(one, Group)]
            picked = [self.pick(Slot(one.name, node.func.attr), node, frame, sure, name) for one in groups]
            if picked:
                return any_of(picked)
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

    def pick(self, slot: Slot, node: ast.expr, frame: Frame, sure: bool, name: str | None) -> Slot:
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

    def in_kernel_names(self, node: ast.expr, frame: Frame) -> str | None:
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

    def operation(self, operation: str, node: ast.Call, frame: Frame, sure: bool, name: str | None) -> Value:
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

    def declared(self, operation: str, node: ast.Call, frame: Frame, name: str | None) -> Value:
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

    def note(self, operation: str, pipe: Any, touched: list[tuple[Value, str]], node: ast.AST, frame: Frame, sure: bool) -> None:
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
        self.trace.steps.append(
            Step(operation, pipe, tuple(accesses), sure, frame.kernel.span(node), bool(self.loops_inside), tuple(self.arms))
        )

    def _matters(self, accesses: list[Access]) -> str | None:
        found = (self.reading.buffers.get(access.buffer) for access in accesses)
        return next((buffer.name for buffer in found if buffer is not None and buffer.channel), None)
