"""Branches on symbolic conditions: each arm is traced once, what they bind is merged.

Names bound to the same object stay; tensors of one type and numbers become results of the ``If``; a name bound in one arm only, or to
things that do not fit, is poisoned: using it later is the error. Arms that record nothing make no ``If`` at all, their numbers become
``select`` expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pypto.errors.frontend import AmbiguousWrite, ConflictedVariable, KernelReturns, MaybeUnbound, ReturnInBranch
from pypto.frontend.containers import watched
from pypto.frontend.frames import MISSING, Deferred, Frame, Poison
from pypto.frontend.interpret import BREAK, CONTINUE, Interpreter, Signal
from pypto.frontend.names import binding_line, bound_names, contains, stored_names
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.tensor import Tensor
from pypto.frontend.trace import Tracer
from pypto.frontend.values import (
    collapse,
    describe,
    is_number,
    leaves,
    rebuilt,
    same_static,
    same_structure,
    truth_of,
    write_into,
)
from pypto.ir import symbols as ir
from pypto.ir.program import Block, If, Operand, Statement, TensorType, Value
from pypto.ir.symbols import Scalar, Symbol
from pypto.options import scopes as options


class Conflict(Exception):
    """Two values that cannot be merged."""


class Merge:
    """An ``If`` in the making: the statements of both arms and the results they yield."""

    def __init__(self, tracer: Tracer, condition: Scalar) -> None:
        self.tracer = tracer
        self.condition = condition
        self.span = tracer.span
        self.arms: tuple[list[Statement], list[Statement]] = ([], [])
        self.yields: tuple[list[Operand], list[Operand]] = ([], [])
        self.results: list[Value | Symbol] = []
        self.serials: dict[int, int] = {}  # of the arms' blocks, to reopen them

    @contextmanager
    def arm(self, number: int) -> Iterator[None]:
        """Record into the arm; options set in it end with it."""
        self.tracer.branch_depth += 1
        try:
            with options.scope("branch"), self.tracer.block(self.arms[number]):
                yield
        finally:
            self.tracer.branch_depth -= 1

    def close(self) -> None:
        """Append the ``If``, unless both arms are empty and nothing is yielded."""
        if any(self.arms) or self.results:
            then, orelse = (Block(tuple(s), tuple(y)) for s, y in zip(self.arms, self.yields, strict=True))
            self.tracer.append(If(self.condition, then, orelse, tuple(self.results), self.span))

    # -- one pair of values --------------------------------------------------------------------------------------------------------

    def value(self, a: Any, b: Any, name: str = "") -> Any:
        """The value after the join of ``a`` (first arm) and ``b`` (second arm); raises ``Conflict``."""
        if a is b:
            return a
        if not same_structure(a, b):
            raise Conflict
        others = dict(leaves(b))
        return rebuilt(a, lambda path, leaf: self._leaf(leaf, others[path], name))

    def _leaf(self, a: Any, b: Any, name: str) -> Any:
        if same_static(a, b):
            return a
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return self._tensor(a, b, name)
        if is_number(a) and is_number(b):
            return collapse(SymbolicScalar(self._number(scalar_of(a), scalar_of(b), name)))
        raise Conflict

    def _number(self, a: Any, b: Any, name: str) -> Scalar:
        kinds = {ir.kind_of(a), ir.kind_of(b)}
        if kinds == {"bool", "int"}:
            a, b = (ir.apply("int", x) if ir.kind_of(x) == "bool" else x for x in (a, b))
        elif "float" in kinds and len(kinds) > 1:
            a, b = (ir.apply("float", x) if ir.kind_of(x) != "float" else x for x in (a, b))
        if not any(self.arms):
            return ir.select(self.condition, a, b)
        low, high = (f(x) for f, x in zip((min, max), zip(ir.bounds_of(a), ir.bounds_of(b), strict=True), strict=True))
        return self._result(Symbol(name or "merged", ir.kind_of(a), low, high), a, b)

    def _result(self, result: Any, a: Operand, b: Operand) -> Any:
        self.results.append(result)
        self.yields[0].append(a)
        self.yields[1].append(b)
        return result

    def _tensor(self, a: Tensor, b: Tensor, name: str) -> Tensor:
        types = [self.tracer.merged_type(t) for t in (a, b)]
        if (types[0].dtype, types[0].shape) != (types[1].dtype, types[1].shape):
            raise Conflict
        values = []
        for number, tensor in enumerate((a, b)):
            with self.reopened(number):
                values.append(self.tracer.value_of(tensor))
        valid = tuple(
            x if x is y or (ir.is_constant(x) and x == y) else self._number(x, y, f"{name}_valid")
            for x, y in zip(types[0].valid, types[1].valid, strict=True)
        )
        value = self._result(Value(TensorType(types[0].dtype, types[0].shape, valid), name), *values)
        merged = self.tracer.handle(value)
        if a._storage is not None or b._storage is not None:
            merged._frozen = lambda: AmbiguousWrite(why=f"'{name or 'it'}' is one of two tensors, depending on a condition")
        return merged

    @contextmanager
    def reopened(self, number: int) -> Iterator[None]:
        """Append to an arm whose tracing is over, for what its yields need."""
        with self.tracer.reopen(self.arms[number], self.serials[number]):
            yield


def trace_arm(merge: Merge, number: int, run: Callable[[], Any]) -> Any:
    """Run ``run`` with its statements going into one arm."""
    tracer = merge.tracer
    with merge.arm(number):
        merge.serials[number] = tracer.blocks[-1]
        return run()


# -- expressions --------------------------------------------------------------------------------------------------------------------


def choose(
    interpreter: Interpreter, frame: Frame, condition: Scalar, first: Callable[[], Any], second: Callable[[], Any], what: str
) -> Any:
    """The value of a conditional expression on a symbol."""
    merge = Merge(interpreter.tracer, condition)
    line = getattr(frame.node, "lineno", 0)
    a, b = trace_arm(merge, 0, first), trace_arm(merge, 1, second)
    try:
        result = merge.value(a, b)
    except Conflict:
        raise ConflictedVariable(name=what, first=describe(a), second=describe(b), line=line)
    finally:
        merge.close()
    return result


def short_circuit(interpreter: Interpreter, frame: Frame, first: Any, rest: Callable[[], Any], conjunction: bool) -> Any:
    """``first and rest`` (or ``or``) with a symbolic first: the rest is evaluated only where Python would."""
    truth = truth_of(first)
    merge = Merge(interpreter.tracer, truth if conjunction else ir.logical_not(truth))
    second = collapse(trace_arm(merge, 0, rest))
    if not any(merge.arms) and is_number(second):
        return _logic(first, second, conjunction)
    trace_arm(merge, 1, lambda: first)
    if is_number(second):  # only the truth matters to whoever asks
        first, second = collapse(SymbolicScalar(truth)), collapse(SymbolicScalar(truth_of(second)))
        first = not conjunction
    try:
        return merge.value(second, first)
    except Conflict:
        word = "and" if conjunction else "or"
        facts: dict[str, Any] = {"first": describe(first), "second": describe(second), "line": frame.node.lineno}
        raise ConflictedVariable(name=f"the result of `{word}`", **facts)
    finally:
        merge.close()


def _logic(first: Any, second: Any, conjunction: bool) -> Any:
    a, b = scalar_of(first), scalar_of(second)
    assert a is not None
    assert b is not None
    if ir.kind_of(a) == ir.kind_of(b) == "bool":
        return collapse(SymbolicScalar(ir.logical_and(a, b) if conjunction else ir.logical_or(a, b)))
    chosen = (b, a) if conjunction else (a, b)
    if len({ir.kind_of(a), ir.kind_of(b)}) > 1:  # an int and a bool: their truth is what can be wanted
        return collapse(SymbolicScalar(ir.select(ir.truth(a), *(ir.truth(x) for x in chosen))))
    return collapse(SymbolicScalar(ir.select(ir.truth(a), *chosen)))


# -- statements --------------------------------------------------------------------------------------------------------------------


def run_if(interpreter: Interpreter, frame: Frame, node: ast.If, condition: Scalar) -> Signal | None:
    """``if`` on a symbol, neither arm of which leaves the function."""
    refuse_jumps(frame, node)
    names = bound_names([*node.body, *node.orelse])
    _trace_both(interpreter, frame, node, condition, node.body, node.orelse, names)
    return None


def refuse_jumps(frame: Frame, node: ast.If) -> None:
    """``return``, ``break`` and ``continue`` under a symbolic condition cannot be traced where more code follows."""
    found = contains([*node.body, *node.orelse], (ast.Return,))
    if found is not None:
        frame.node = found
        raise (KernelReturns if frame.kernel else ReturnInBranch)(name=frame.code.name, line=node.lineno)
    jump = jump_in([*node.body, *node.orelse])
    if jump is not None:
        from pypto.errors.frontend import SymbolicCondition

        frame.node = jump
        word = type(jump).__name__.lower()
        advice = "put the rest of the loop's body under `if`"
        raise SymbolicCondition(where=f"`{word}` of a Python loop", text=ast.unparse(node.test), advice=advice)


def jump_in(statements: list[ast.stmt]) -> ast.stmt | None:
    """The first ``break`` or ``continue`` that leaves these statements."""
    for statement in statements:
        if isinstance(statement, (ast.Break, ast.Continue)):
            return statement
        if isinstance(statement, (ast.If, ast.With)):
            found = jump_in([*statement.body, *getattr(statement, "orelse", [])])
            if found is not None:
                return found
    return None


def _trace_both(
    interpreter: Interpreter,
    frame: Frame,
    node: ast.If,
    condition: Scalar,
    body: list[ast.stmt],
    orelse: list[ast.stmt],
    names: tuple[str, ...],
    tail: bool = False,
) -> list[Signal | None]:
    """Trace both arms from the same names, merge what they bound; gives what each arm ended with."""
    merge = Merge(interpreter.tracer, condition)
    before = dict(frame.locals)
    stored = [name for name in stored_names([*body, *orelse]) if type(before.get(name)) in (list, dict)]
    signals: list[Signal | None] = []
    after: list[dict[str, Any]] = []
    with watched(frame, f"the branch at line {node.lineno}"):
        for number, statements in enumerate((body, orelse)):
            frame.locals = {**before, **{name: rebuilt(before[name], lambda path, leaf: leaf) for name in stored}}
            signals.append(trace_arm(merge, number, lambda statements=statements: interpreter.run(frame, statements, tail)))  # type: ignore[misc]
            after.append(frame.locals)
    frame.locals = before
    frame.node = node
    if tail:
        returned = _merge_returns(merge, signals, node)
        merge.close()
        return [returned]
    for name in stored:
        _merge_container(merge, node, name, before[name], after[0][name], after[1][name])
    live = frame.code.flow.live_after(node)
    for name in names:
        _merge_name(merge, frame, node, name, after[0].get(name, MISSING), after[1].get(name, MISSING), name in live)
    merge.close()
    return signals


def _merge_name(merge: Merge, frame: Frame, node: ast.If, name: str, a: Any, b: Any, live: bool) -> None:
    if a is b:
        merged = a
    elif a is MISSING or b is MISSING:
        merged = _one_sided(node, name, b is MISSING)
    elif not live or a.__class__ is Poison or b.__class__ is Poison:
        merged = next(
            (side for side in (a, b) if side.__class__ is Poison), Poison(ConflictedVariable, **_facts(name, a, b, node))
        )
    else:
        try:
            merged = merge.value(_settled(merge, 0, a), _settled(merge, 1, b), name)
        except Conflict:
            merged = Poison(ConflictedVariable, **_facts(name, a, b, node))
    if merged is MISSING:
        frame.locals.pop(name, None)
    else:
        frame.locals[name] = merged


def _settled(merge: Merge, number: int, value: Any) -> Any:
    """A name that a loop may not have bound is checked in its arm before it is merged."""
    if not isinstance(value, Deferred):
        return value
    with merge.reopened(number):
        return value.resolve(merge.tracer)


def _merge_container(merge: Merge, node: ast.If, name: str, original: Any, a: Any, b: Any) -> None:
    """A list or dict of which an arm assigned elements: the merged elements go into the original, which others may hold."""
    try:
        write_into(original, merge.value(a, b, name))
    except Conflict:
        raise ConflictedVariable(**_facts(name, a, b, node))


def _facts(name: str, a: Any, b: Any, node: ast.If) -> dict[str, Any]:
    return {"name": name, "first": describe(a), "second": describe(b), "line": node.lineno}


def _one_sided(node: ast.If, name: str, first_arm: bool) -> Poison:
    line = binding_line(node.body if first_arm else node.orelse, name) or node.lineno
    when = f"when the condition is {'true' if first_arm else 'false'}"
    return Poison(MaybeUnbound, name=name, line=line, when=when, other=node.lineno)


# -- return under a condition --------------------------------------------------------------------------------------------------------


def run_tail_if(interpreter: Interpreter, frame: Frame, node: ast.If, rest: list[ast.stmt]) -> tuple[bool, Signal | None]:
    """An ``if`` in the outermost block of a function. When an arm returns, the rest of the function belongs to the other arm.

    Gives whether the function is done, and its signal.
    """
    condition = collapse(interpreter.value(frame, node.test))
    frame.node = node.test
    if not isinstance(condition, SymbolicScalar) or condition.is_concrete():
        signal = interpreter.run(frame, node.body if condition else node.orelse, tail=not rest)
        return (signal is not None or not rest), signal
    if frame.kernel or contains([*node.body, *node.orelse], (ast.Return,)) is None:
        return False, run_if(interpreter, frame, node, truth_of(condition))
    body, orelse = [*node.body, *rest], [*node.orelse, *rest]
    (signal,) = _trace_both(interpreter, frame, node, truth_of(condition), body, orelse, (), tail=True)
    return True, signal


def _merge_returns(merge: Merge, signals: list[Signal | None], node: ast.If) -> Signal:
    values = [None if signal is None or signal in (BREAK, CONTINUE) else signal.value for signal in signals]
    try:
        return Signal("return", merge.value(values[0], values[1], "returned"))
    except Conflict:
        facts: dict[str, Any] = {"first": describe(values[0]), "second": describe(values[1]), "line": node.lineno}
        raise ConflictedVariable(name="the returned value", **facts)
