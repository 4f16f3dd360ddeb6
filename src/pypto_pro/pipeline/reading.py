"""Reads a kernel with everything it calls and notes which operation touches which tile, on which pipe, in which order.

The kernel's body is walked once. Statements outside the stages belong to the *body*; a stage call is followed into the stage function,
with the groups and tiles that were passed, and on into the helpers it calls. Roles and pipes come from the table of tile operations.
"""

from __future__ import annotations

import ast
from types import FunctionType

from pypto.errors.pipeline import HelperReturnsTile, SlotPickedTwice, StageReturnsValue
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.constants import UNKNOWN
from pypto_pro.pipeline.expressions import Expressions
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.traces import Frame, Reading, Trace, any_of, frame_of
from pypto_pro.pipeline.values import OTHER, Bundle, Group, Slot, Value, either, options, slots


def read(kernel: Kernel, loops: list[PipelineLoop], buffers: dict[str, Buffer]) -> Reading:
    """Everything that the kernel's stages and the statements around them do with tiles."""
    reader = Reader(kernel, loops, buffers)
    reader.body(kernel.node.body, reader.root, sure=True)
    reader.reading.names = reader.root.names
    return reader.reading


class Reader(Expressions):
    """Walks statements; enters stages and helpers."""

    def __init__(self, kernel: Kernel, loops: list[PipelineLoop], buffers: dict[str, Buffer]) -> None:
        super().__init__(kernel, buffers)
        self.loops = self.reading.loops = loops
        self.calls = {id(stage.call): (loop, stage) for loop in loops for stage in loop.stages}

    # -- statements -----------------------------------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt], frame: Frame, sure: bool) -> None:
        for statement in statements:
            before = self.trace
            if frame.is_kernel and self.loop is not None:
                self.trace = Trace()
                self.reading.around.setdefault(self.loop, []).append((self.trace, statement))
            self.statement(statement, frame, sure)
            self.trace = before

    def statement(self, node: ast.stmt, frame: Frame, sure: bool) -> None:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None:
            method(node, frame, sure)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, frame, sure)

    def _Expr(self, node: ast.Expr, frame: Frame, sure: bool) -> None:
        found = self.calls.get(id(node.value))
        if found is not None and isinstance(node.value, ast.Call):
            self.enter_stage(found[1], node.value, frame)
        else:
            self.value(node.value, frame, sure)

    def _Assign(self, node: ast.Assign, frame: Frame, sure: bool) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and len(node.targets) == 1:
            self.bind(target.id, node, node.value, frame, sure)
            return
        value = self.value(node.value, frame, sure)
        for one in node.targets:
            self.store(one, value, frame, sure)

    def _AnnAssign(self, node: ast.AnnAssign, frame: Frame, sure: bool) -> None:
        if node.value is not None and isinstance(node.target, ast.Name):
            self.bind(node.target.id, node, node.value, frame, sure)

    def _AugAssign(self, node: ast.AugAssign, frame: Frame, sure: bool) -> None:
        self.value(node.value, frame, sure)
        if isinstance(node.target, (ast.Subscript, ast.Attribute)):
            loaded = ast.copy_location(_loaded(node.target), node.target)
            self.value(loaded, frame, sure)
        self.store(node.target, OTHER, frame, sure)

    def _If(self, node: ast.If, frame: Frame, sure: bool) -> None:
        test = frame.kernel.scope.value(node.test)
        if test is not UNKNOWN:
            self.body(node.body if test else node.orelse, frame, sure)
            return
        self.value(node.test, frame, sure)
        before = dict(frame.names)
        self.arm(node, 0, node.body, frame)
        then, frame.names = frame.names, dict(before)
        self.arm(node, 1, node.orelse, frame)
        for name in {*then, *frame.names}:
            frame.names[name] = either(then.get(name, OTHER), frame.names.get(name, OTHER))

    def arm(self, node: ast.If, side: int, statements: list[ast.stmt], frame: Frame) -> None:
        """One side of a run-time branch."""
        self.arms.append((id(node), side))
        self.body(statements, frame, sure=False)
        self.arms.pop()

    def _For(self, node: ast.For, frame: Frame, sure: bool) -> None:
        self.value(node.iter, frame, sure)
        self.store(node.target, OTHER, frame, sure)
        previous = self.loop
        if frame.is_kernel and self.loop is None:
            self.loop = next((loop for loop in self.loops if loop.outer is node), None)
        self.repeatedly(node.body, frame, sure and self._runs(node, frame))
        self.loop = previous

    def repeatedly(self, statements: list[ast.stmt], frame: Frame, sure: bool) -> None:
        """The body of a loop."""
        self.loops_inside += not frame.is_kernel
        self.body(statements, frame, sure)
        self.loops_inside -= not frame.is_kernel

    def _runs(self, node: ast.For, frame: Frame) -> bool:
        """Whether the loop certainly has an iteration."""
        call = node.iter
        if not isinstance(call, ast.Call) or not 1 <= len(call.args) <= 3:
            return False
        numbers = [frame.kernel.scope.value(argument) for argument in call.args]
        return all(isinstance(n, int) for n in numbers) and (len(numbers) < 3 or numbers[2] != 0) and len(range(*numbers)) > 0

    def _While(self, node: ast.While, frame: Frame, sure: bool) -> None:
        self.value(node.test, frame, sure)
        self.repeatedly(node.body, frame, sure=False)

    def _With(self, node: ast.With, frame: Frame, sure: bool) -> None:
        self.body(node.body, frame, sure)

    def _Return(self, node: ast.Return, frame: Frame, sure: bool) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return
        if frame.is_stage and self.stage is not None:
            raise frame.kernel.fail(StageReturnsValue, node, stage=self.stage.name)
        frame.returned.append(self.value(node.value, frame, sure))

    # -- binding ------------------------------------------------------------------------------------------------------------

    def bind(self, name: str, statement: ast.stmt, node: ast.expr, frame: Frame, sure: bool) -> None:
        value = self.value(node, frame, sure, name)
        frame.names[name] = value
        if not frame.is_kernel:
            return
        for slot in slots(value):
            if slot.how != "tile" and isinstance(node, (ast.Call, ast.Subscript)):
                if name in self.reading.picks:
                    raise frame.kernel.fail(SlotPickedTwice, statement, name=name, pick=ast.unparse(node))
                self.reading.picks[name] = (slot, statement)

    def store(self, target: ast.expr, value: Value, frame: Frame, sure: bool) -> None:
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

    # -- functions ----------------------------------------------------------------------------------------------------------

    def enter_stage(self, stage: StageCall, node: ast.Call, frame: Frame) -> None:
        positional = [self.value(argument, frame, True) for argument in node.args]
        named = {keyword.arg or "": self.value(keyword.value, frame, True) for keyword in node.keywords}
        before, self.trace, self.stage = self.trace, Trace(), stage
        inner = frame_of(stage.function, positional, named)
        inner.is_stage = True
        parameters = [a.arg for a in inner.kernel.node.args.args]
        inner.texts = {name: ast.unparse(argument) for name, argument in zip(parameters, node.args, strict=False)}
        inner.texts |= {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg}
        self.trace.arguments = dict(inner.names)
        self.reading.stages[stage] = self.trace
        self.body(inner.kernel.node.body, inner, sure=True)
        self.trace, self.stage = before, None

    def follow(
        self, function: FunctionType, positional: list[Value], named: dict[str, Value], node: ast.Call, frame: Frame, sure: bool
    ) -> Value:
        """Walks a helper with its arguments; what it returns."""
        inner = frame_of(function, positional, named)
        self.depth += 1
        self.body(inner.kernel.node.body, inner, sure)
        self.depth -= 1
        result = any_of(inner.returned)
        tile = any(isinstance(one, (Slot, Group)) for one in options(result))
        if tile and self.stage is not None:
            raise frame.kernel.fail(HelperReturnsTile, node, function=function.__name__, stage=self.stage.name)
        return result


def _loaded(target: ast.Subscript | ast.Attribute) -> ast.expr:
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())
