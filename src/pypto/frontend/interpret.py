"""The interpreter: walks the syntax tree of a kernel. Static Python runs; what touches tensors and symbols is recorded.

One handler per node type, entered in two tables by the sibling modules: ``expressions`` and ``calls`` (values),
``statements``, ``branches`` and ``loops`` (effects). ``Interpreter.run`` executes statements, ``Interpreter.value`` evaluates.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
import threading
from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any

from pypto.errors.base import UserError
from pypto.errors.frontend import RecursionWithoutEnd, UnknownMember, UnsupportedUse
from pypto.frontend.frames import Frame
from pypto.frontend.python import Code, code_of
from pypto.frontend.trace import Tracer

Evaluate = Callable[["Interpreter", Frame, Any], Any]
EXPRESSIONS: dict[type[ast.AST], Evaluate] = {}
STATEMENTS: dict[type[ast.AST], Evaluate] = {}


def evaluates(*kinds: type[ast.AST]) -> Callable[[Evaluate], Evaluate]:
    """Enter a handler for expressions of these kinds."""

    def enter(handler: Evaluate) -> Evaluate:
        EXPRESSIONS.update(dict.fromkeys(kinds, handler))
        return handler

    return enter


def executes(*kinds: type[ast.AST]) -> Callable[[Evaluate], Evaluate]:
    """Enter a handler for statements of these kinds; it returns None, or a ``Signal`` that leaves the block."""

    def enter(handler: Evaluate) -> Evaluate:
        STATEMENTS.update(dict.fromkeys(kinds, handler))
        return handler

    return enter


class Signal:
    """Why a block was left early: ``"break"``, ``"continue"`` or ``"return"`` with a value."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind = kind
        self.value = value


BREAK, CONTINUE = Signal("break"), Signal("continue")


class Interpreter:
    """Interprets functions for one tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def value(self, frame: Frame, node: ast.expr) -> Any:
        return EXPRESSIONS[type(node)](self, frame, node)

    def run(self, frame: Frame, statements: Sequence[ast.stmt], tail: bool = False) -> Signal | None:
        """Execute statements; ``tail`` says that the function ends after them."""
        for position, statement in enumerate(statements):
            frame.node = statement
            if tail and type(statement) is ast.If:
                from pypto.frontend.branches import run_tail_if

                done, signal = run_tail_if(self, frame, statement, list(statements[position + 1 :]))
                if done:
                    return signal
            else:
                signal = STATEMENTS[type(statement)](self, frame, statement)
            if signal is not None:
                return signal
        return None

    # -- functions ---------------------------------------------------------------------------------------------------------------

    def call(self, frame: Frame, values: dict[str, Any]) -> Any:
        """Run the function that ``frame`` was made for, its parameters bound to ``values``; errors get its place."""
        tracer = self.tracer
        depth = len(tracer.frames)
        frame.locals.update(values)
        tracer.frames.append(frame)
        try:
            signal = self.run(frame, frame.code.body, tail=True)
        except UserError as error:
            stamp(error, tracer)
            raise
        except RecursionError as error:
            frame.node = frame.code.body[0]  # where Python's stack ran out within it depends on what ran before
            raise stamp(RecursionWithoutEnd(name=frame.code.name), tracer) from error
        except Exception as error:  # raised by the user's code, or by Python about one of our objects
            ours = about_ours(error)
            if ours is not None:
                raise stamp(ours, tracer) from error
            note_place(error, tracer)
            raise
        finally:
            del tracer.frames[depth:]
        return signal.value if signal is not None else None

    def frame_of(self, function: FunctionType, caller: Frame | None) -> Frame:
        """A frame for a Python function."""
        cells: dict[str, CellType] = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return Frame(code_of(function), function.__globals__, cells, self.tracer.watch, caller=caller)

    def inner_frame(self, code: Code, parent: Frame, caller: Frame | None) -> Frame:
        """A frame for a function defined in an interpreted one."""
        return Frame(code, parent.globals, parent.cells, self.tracer.watch, parent, caller)


def stamp(error: UserError, tracer: Tracer) -> UserError:
    """Give a catalogue error the place being evaluated, unless it has one."""
    span = tracer.span
    if error.span is None and span is not None:
        error.span = span
        error.chain = error.chain or span.callers
    return error


_OURS = re.compile(r"\b(Tensor|SymbolicScalar|DataType|Element|DeviceRange|Kernel|FunctionMarker|TensorAnnotation)\b")


def about_ours(error: Exception) -> UserError | None:
    """A catalogue error for Python's refusal (``unsupported operand …``) of something done with one of our objects."""
    if not isinstance(error, (TypeError, AttributeError)) or not _OURS.search(str(error)):
        return None
    if getattr(error, "pypto_users", False):
        return None
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not traceback.tb_frame.f_globals.get("__name__", "").startswith("pypto.frontend."):
        return None
    if isinstance(error, TypeError):
        return UnsupportedUse(problem=str(error), advice=_instead(str(error)))
    near = difflib.get_close_matches(error.name or "", dir(error.obj), 3)
    return UnknownMember(problem=str(error), advice=f"did you mean {' or '.join(near)}?" if near else "see dir() of the object")


def _instead(problem: str) -> str:
    """What can be done with the object that Python's refusal is about."""
    if "SymbolicScalar" in problem:
        return "a symbolic scalar takes + - * / // %, comparisons, min, max, int and float"
    if "Tensor" in problem:
        return "use an operation of pypto (`pypto ops` lists them), or read one element by indexing every axis: t[i, j]"
    return "it is a plain object of pypto: decide with == or `is`, and compute with numbers"


def note_place(error: Exception, tracer: Tracer) -> None:
    """The user's own exceptions keep type and text; a note says where in the kernel they arose."""
    if getattr(error, "pypto_place", False):
        return
    span = tracer.span
    if span is not None:
        note = f"while tracing {span.function} at {span.file}:{span.line}: {span.text.strip()}"
        error.__dict__["pypto_place"] = True
        error.__dict__.setdefault("__notes__", []).append(note)


class deep_recursion:
    """Allow the depth that interpreting needs (each call of a helper takes about fifteen Python frames)."""

    LIMIT = 12_000
    _lock = threading.Lock()
    _users = 0
    _before = 0

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            if cls._users == 0:
                cls._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(cls._before, cls.LIMIT))
            cls._users += 1

    def __exit__(self, *error: Any) -> None:
        cls = type(self)
        with cls._lock:
            cls._users -= 1
            if cls._users == 0:
                sys.setrecursionlimit(cls._before)
