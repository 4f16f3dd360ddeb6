"""Reads the body of a kernel: which part of the front end reads which node, and what they share.

In: a function's syntax tree with the values of its parameters. Out: the statements of one core. Errors leave with the place of the
innermost statement or expression that they were raised in.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from pypto.cores.program import Assign, Break, Constant, Statement
from pypto.dtypes import DataType
from pypto.errors.base import UserError
from pypto.frontend.names import loaded_names
from pypto.ops.tile.places import pointed
from pypto_pro.errors.base import FinalRejectionError, ParserError
from pypto_pro.errors.calls import CheckFailed
from pypto_pro.errors.expressions import UnsupportedExpression
from pypto_pro.frontend import attributes, branches, calls, expressions, helpers, loops, statements, subscripts
from pypto_pro.frontend.records import WiderField
from pypto_pro.frontend.state import State
from pypto_pro.frontend.values import Intrinsic, Static
from pypto_pro.frontend.variables import look_up, plain, visible

EXPRESSIONS: dict[type, Callable[..., Any]] = {
    ast.Name: expressions.name,
    ast.Constant: expressions.constant,
    ast.Tuple: expressions.sequence,
    ast.List: expressions.sequence,
    ast.BinOp: expressions.binary,
    ast.UnaryOp: expressions.unary,
    ast.Compare: expressions.compare,
    ast.BoolOp: expressions.boolean,
    ast.IfExp: expressions.conditional,
    ast.Attribute: attributes.attribute,
    ast.Subscript: subscripts.subscript,
    ast.Call: calls.call,
}
STATEMENTS: dict[type, Callable[..., bool]] = {
    ast.Assign: statements.assign,
    ast.AnnAssign: statements.annotated,
    ast.AugAssign: statements.augmented,
    ast.Expr: statements.expression_statement,
    ast.For: loops.for_statement,
    ast.While: loops.while_statement,
    ast.Return: statements.return_statement,
    ast.Break: loops.break_statement,
    ast.Continue: loops.continue_statement,
    ast.Pass: statements.pass_statement,
}


class Reader(State):
    """The front end of one core program; its methods are what the parts call each other by."""

    # -- statements ---------------------------------------------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt]) -> bool:
        """Reads statements in order; False when no path goes on behind them."""
        for index, statement in enumerate(body):
            if self.frame.helper and loops.has_return(statement):
                return self.statement_that_returns(statement, body[index + 1 :])
            if not self.statement(statement):
                return False
        return True

    def statement(self, node: ast.stmt, rest: Sequence[ast.stmt] = ()) -> bool:
        """One statement; ``rest`` stands behind it on every path that goes on."""
        with self.placed(node):
            if isinstance(node, ast.If):
                return branches.if_statement(self, node, list(rest))
            if isinstance(node, ast.With):
                return statements.with_statement(self, node, list(rest))
            return STATEMENTS.get(type(node), statements.unsupported)(self, node)

    def statement_that_returns(self, node: ast.stmt, rest: Sequence[ast.stmt]) -> bool:
        """A statement in which a helper may return: what follows belongs to the paths that have not."""
        if isinstance(node, (ast.If, ast.With)):
            return self.statement(node, rest)
        if not self.statement(node):
            return False
        return branches.after_loop_with_return(self, list(rest), self.frame.span(node))

    def returns(self, value: Any, node: ast.Return) -> None:
        """A helper's return; from inside a loop it also leaves the loop."""
        helpers.record_return(self, value, node)
        if self.frame.loops:
            self.emit(Assign(self.frame.flag, Constant(True, DataType.DT_BOOL), self.frame.span(node)))
            self.frame.loops[-1].breaks.append(dict(self.frame.env))
            self.emit(Break())

    # -- expressions --------------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Any:
        """The value of an expression. What fails is tried as plain Python over what is known, unless the refusal is final."""
        written, temporaries = len(self.block), self.unit.temporaries
        try:
            handler = EXPRESSIONS.get(type(node))
            if handler is None:
                raise UnsupportedExpression(kind=type(node).__name__)
            return handler(self, node)
        except FinalRejectionError as error:
            raise self.stamped(error, node)
        except ParserError as error:
            found = self.python_fallback(node)
            if found is None:
                raise self.stamped(error, node)
            del self.block[written:]
            self.unit.temporaries = temporaries
            return found

    def callee(self, node: ast.expr) -> Any:
        return calls.as_intrinsic(self.expression(node))

    def test(self, node: ast.expr) -> Any:
        return branches.test(self, node)

    def range_bounds(self, node: ast.expr) -> Any:
        return loops.range_bounds(self, node)

    def aside(self, node: ast.expr) -> tuple[Any, list[Statement]]:
        """An expression and the statements that it needs, not emitted yet."""
        outer, self.block = self.block, []
        self.frame.depth += 1
        try:
            return self.expression(node), self.block
        finally:
            self.block = outer
            self.frame.depth -= 1

    # -- plain Python -------------------------------------------------------------------------------------------------------

    def python_fallback(self, node: ast.expr) -> Static | None:
        """The value by plain Python, where all names are known and the result is something a kernel can hold."""
        if isinstance(node, (ast.Name, ast.Constant)):
            return None
        try:
            if any(isinstance(one, ast.Call) and isinstance(self.callee(one.func), Intrinsic) for one in ast.walk(node)):
                return None  # some names of the language also run in plain Python
            value = self.python_value(node)
        except Exception:  # whatever Python says, the front end's own error is the one to show
            return None
        return Static(plain(value)) if visible(value) and not isinstance(value, FunctionType) else None

    def python_value(self, node: ast.expr) -> Any:
        """Evaluates ``node`` in Python; raises when a name is not known before the kernel runs."""
        names = {}
        for name in loaded_names(node):
            if name in _own_names(node):
                continue
            value = look_up(self, name)
            if not isinstance(value, Static):
                raise LookupError(name)
            names[name] = value.value
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<kernel>", "eval")
        return eval(code, names)

    # -- places -------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def placed(self, node: ast.AST) -> Iterator[None]:
        """Errors that leave without a place get that of ``node``."""
        frame = self.frame
        try:
            yield
        except WiderField:
            raise
        except UserError as error:
            raise self.stamped(error, node, frame)

    def stamped(self, error: UserError, node: Any, frame: Any = None) -> UserError:
        span = (frame or self.frame).span(node) if hasattr(node, "lineno") else None
        if isinstance(error, ParserError):
            if error.place is None:
                error.place = span
            return error
        span = pointed(error, span)
        wrapped = CheckFailed(
            kernel=self.unit.kernel or self.frame.code.name,
            error=error.builtin,
            text=error.message.format_map(error.facts),
            span=span,
            advice=error.advice or (error.help.format_map(error.facts) if error.help else None),
        )
        wrapped.__cause__ = error
        return wrapped


def _own_names(node: ast.expr) -> set[str]:
    """Names that comprehensions and lambdas in ``node`` bind themselves."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.comprehension):
            found |= {n.id for n in ast.walk(inner.target) if isinstance(n, ast.Name)}
        if isinstance(inner, ast.Lambda):
            found |= {a.arg for a in inner.args.args}
    return found
