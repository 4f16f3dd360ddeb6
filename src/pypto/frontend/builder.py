"""The ``with pypto.function(...)`` block: operations are recorded while Python runs them (kept for compatibility).

Python cannot be asked what a branch would have done, so ``pypto.cond`` replays: the body of the innermost ``pypto.loop`` runs once per
path, at most 64 times. While a replay repeats what an earlier path recorded it gets that path's results (``replay.py``); where it
takes the other arm, statements go into the other block of an ``If``. Rebinding is not carried over iterations or paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import Token
from typing import Any

from pypto.errors.base import FeError, PyptoError, UserError
from pypto.errors.frontend import AmbiguousWrite, ConditionOutsideLoop, FunctionNested
from pypto.frontend import methods as _methods
from pypto.frontend.control import DeviceRange
from pypto.frontend.entry import check_scopes, named_dimension
from pypto.frontend.interpret import stamp
from pypto.frontend.loops import Segment, check_nesting, segments
from pypto.frontend.replay import Paths, ReplayBuilder
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor
from pypto.frontend.trace import OpenLoop, Tracer
from pypto.frontend.values import truth_of
from pypto.ir import symbols as ir
from pypto.ir.program import Block, Loop, Program, Statement, TensorType
from pypto.ir.symbols import Symbol
from pypto.ops.table import RECORDER
from pypto.options import scopes as options

del _methods


class BlockTracer(Tracer):
    """A recorder for code that Python itself runs."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.builder: ReplayBuilder = ReplayBuilder(name)
        self.paths: list[Paths] = []
        self.scopes: list[Any] = []  # option scopes of open loops; the block closes what an exception left open

    def want(self, key: Any, value: Any = True) -> None:
        """Python cannot run the block again."""
        raise AmbiguousWrite(
            why="iterations read it before it is written in place",
            advice="make it a local first: t = pypto.tensor(shape, dtype); t[:] = value",
        )

    def drive_loop(self, loop: DeviceRange) -> Iterator[Any]:
        """Give the index (and the factor) to the body of the ``for``, once per factor and path."""
        check_nesting(self, loop)
        for segment in segments(loop):
            yield from self._body(loop, segment)

    def _body(self, loop: DeviceRange, segment: Segment) -> Iterator[Any]:
        self.loops_opened += 1
        number, span = self.loops_opened, self.span
        index = Symbol(f"loop_idx_{loop.idx_name}" if loop.idx_name else f"i{number}")
        place = (loop.idx_name, loop.parallel, 0 if span is None else span.line, len(self.blocks), number)
        opened = OpenLoop(index, loop.start, loop.stop, loop.step, segment.factor, *place)
        handed: Any = SymbolicScalar(index)
        if loop.function == "loop_unroll":
            handed = (handed, segment.factor)
        self.loops.append(opened)
        self.scopes.append(options.scope("loop"))
        self.scopes[-1].__enter__()
        paths = Paths(self)
        self.paths.append(paths)
        while paths.begin():
            yield handed
            paths.end()
        self.paths.pop()
        self.scopes.pop().__exit__(None, None, None)
        self.loops.remove(opened)
        self.builder.span = span
        self.append(self._loop(loop, segment, index, number, paths.statements()))

    def _loop(self, loop: DeviceRange, segment: Segment, index: Symbol, number: int, body: list[Statement]) -> Loop:
        return Loop(
            index,
            segment.start,
            segment.stop,
            segment.step,
            Block(tuple(body)),
            (),
            loop.name or f"loop_{number}",
            loop.parallel,
            unroll=loop.factors if loop.function == "loop" and loop.factors != (1,) else (),
            submit_before=loop.submit_before,
            span=self.builder.span,
        )

    def decide(self, condition: Any) -> bool:
        """Answer ``pypto.cond``: known conditions as they are, others as the current path says."""
        truth = truth_of(condition)
        if not isinstance(truth, ir.Expression):
            return bool(truth)
        if not self.paths:
            raise ConditionOutsideLoop(span=self.span)
        return self.paths[-1].decide(truth)


class Function:
    """What a block recorded. ``program`` is the tensor program, ``dump()`` its text."""

    def __init__(self, name: str, program: Program | None = None) -> None:
        self.raw_name = self.magic_name = f"TENSOR_{name}"
        self.program = program
        self.executables: dict[Any, Any] = {}
        self.func_magic = id(self)
        self.function_type_str = "DYNAMIC"
        self.is_eager = self.is_static = self.is_explicit = self.has_parent = False

    @property
    def root_function(self) -> Function:
        return self

    def dump(self) -> str:
        """The program's text."""
        from pypto.ir.text import program_text

        return "" if self.program is None else program_text(self.program)

    __str__ = dump

    def __repr__(self) -> str:
        return f"<pypto function {self.raw_name}>"


_last: list[Function] = []
_current: list[Function] = []


def get_last_function() -> Function | None:
    """The function of the last finished block."""
    return _last[-1] if _last else None


def get_current_function() -> Function | None:
    """The function being recorded."""
    return _current[-1] if _current else None


class FunctionBlock:
    """The context manager behind ``pypto.function(name, *tensors)``."""

    def __init__(self, name: str, tensors: tuple[Any, ...]) -> None:
        self.name = name
        flat = [part for thing in tensors for part in (thing if isinstance(thing, (list, tuple)) else [thing])]
        self.tensors = [thing for thing in flat if isinstance(thing, Tensor)]
        self.token: Token[Any] | None = None

    def __enter__(self) -> Function:
        if RECORDER.get() is not None:
            raise FunctionNested()
        self.tracer = BlockTracer(self.name)
        for position, tensor in enumerate(self.tensors):
            self._register(tensor, position)
        self.scope = options.scope("function")
        self.scope.__enter__()
        self.token = RECORDER.set(self.tracer)
        self.function = Function(self.name)
        _current.append(self.function)
        return self.function

    def _register(self, tensor: Tensor, position: int) -> None:
        """Make a tensor from outside a parameter for the time of the block."""
        taken = {p.name for p in self.tracer.builder.parameters}
        name = tensor.name or f"argument_{position}"
        while name in taken:
            name = f"{name}_{position}"
        marks = [named_dimension(name, axis) if mark == -1 else mark for axis, mark in enumerate(tensor.marks or [])]
        sizes = tuple(mark.scalar if isinstance(mark, SymbolicScalar) else mark for mark in marks)
        tensor._tracer, tensor._serial = self.tracer, self.tracer.new_serial()
        tensor._storage = self.tracer.builder.parameter(name, TensorType(tensor.wanted_dtype, sizes))

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        tracer = self.tracer
        try:
            if error is None:
                self._finish()
            elif isinstance(error, UserError):
                stamp(error, tracer)
        finally:
            self._leave()
        if isinstance(error, Exception) and not isinstance(error, PyptoError):
            raise FeError(error) from error

    def _finish(self) -> None:
        program = self.tracer.builder.finish()
        check_scopes(program)
        for show in self.tracer.later:
            show()
        self.function.program = program
        _last[:] = [self.function]

    def _leave(self) -> None:
        """Give everything back, whatever happened in the block."""
        for tensor in self.tensors:
            tensor._reset(None, 0)
        while self.tracer.scopes:
            self.tracer.scopes.pop().__exit__(None, None, None)
        if self.token is not None:
            RECORDER.reset(self.token)
        self.scope.__exit__(None, None, None)
        _current.clear()
