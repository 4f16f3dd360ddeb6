"""Symbolic scalars as LLVM text: ``i64``, ``double`` and ``i1`` with Python's meaning.

A division by zero stops the kernel with ``DivisionByZeroInRun`` unless it stands in an arm of ``select``, ``and``, ``or`` (there it
gives an arbitrary number that the expression does not use, or 0); nothing here can trap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.cpu.text import double_bits
from pypto.errors.base import InternalError
from pypto.errors.runtime import ScalarNotFiniteInRun
from pypto.ir.symbols import BOOLEAN, Apply, Expression, Scalar, Symbol, bounds_of, children_first, kind_of

if TYPE_CHECKING:
    from pypto.cpu.context import Context

TYPES = {"int": "i64", "float": "double", "bool": "i1"}
_LAZY = frozenset({"select", "and", "or"})
_DIVISIONS = frozenset({"floordiv", "mod", "truediv"})


def constant_text(value: Scalar, kind: str) -> str:
    if kind == "float":
        return double_bits(float(value))  # type: ignore[arg-type]
    if kind == "bool":
        return "true" if value else "false"
    return str(int(value))  # type: ignore[arg-type]


class Scalars:
    """Evaluates expressions in a context; equal expressions are evaluated once where that dominates."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.f = context.f
        self.guarded = 0  # depth of arms in which division by zero is no error
        self.risks: dict[Expression, bool] = context.parent.scalars.risks if context.parent else {}

    def value(self, scalar: Scalar, kind: str | None = None) -> str:
        """LLVM value of ``scalar``, converted to ``kind``."""
        own = kind_of(scalar)
        if not isinstance(scalar, Expression):
            return constant_text(scalar, kind or own)
        return self.converted(self._expression(scalar), own, kind or own)

    def converted(self, name: str, kind: str, wanted: str) -> str:
        if kind == wanted:
            return name
        if wanted == "float":
            return self.f.cast("uitofp" if kind == "bool" else "sitofp", TYPES[kind], name, "double")
        if wanted == "bool":
            zero = "0x0000000000000000" if kind == "float" else "0"
            return self.f.fcmp("une", "double", name, zero) if kind == "float" else self.f.icmp("ne", "i64", name, zero)
        if kind == "bool":
            return self.f.cast("zext", "i1", name, "i64")
        if not self.guarded:
            rest = self.f.op("fsub", "double", name, name)  # 0 for numbers, NaN for NaN and infinities
            self.context.require(
                self.f.fcmp("oeq", "double", rest, double_bits(0.0)), ScalarNotFiniteInRun(span=self.context.span)
            )
        return self.f.intrinsic("i64", "llvm.fptosi.sat.i64.f64", ("double", name))

    def _expression(self, scalar: Expression) -> str:
        """Arguments first, without recursion: expressions may be deeper than Python's stack."""
        pending = [scalar]
        while pending:
            node = pending[-1]
            if self._known(node) is None:
                if isinstance(node, Symbol):
                    raise InternalError(f"symbol {node.name} is used before it is defined", step="code generation")
                assert isinstance(node, Apply)
                missing = [x for x in self._needed_first(node) if isinstance(x, Expression) and self._known(x) is None]
                if missing:
                    pending += missing
                    continue
                self.context.define(self._key(node), TYPES[node.kind], self._apply(node))
            pending.pop()
        return str(self._known(scalar))

    def _key(self, node: Expression) -> object:
        """What was evaluated without checks is not used where they are wanted."""
        return ("guarded", node) if self.guarded and isinstance(node, Apply) and self._risky(node) else node

    def _known(self, node: Expression) -> str | None:
        return self.context.lookup(self._key(node))

    def _needed_first(self, node: Apply) -> tuple[Scalar, ...]:
        """Arguments that are evaluated in any case; arms that could divide by zero wait."""
        if node.function in _LAZY and any(isinstance(x, Apply) and self._risky(x) for x in node.arguments[1:]):
            return node.arguments[:1]
        return node.arguments

    def _risky(self, node: Apply) -> bool:
        """Whether something in ``node`` divides by a number that may be 0."""
        if node not in self.risks:
            for part in children_first(node, self.risks):
                low, high = bounds_of(part.arguments[-1])
                divides = part.function in _DIVISIONS and low <= 0 <= high
                self.risks[part] = divides or any(isinstance(x, Apply) and self.risks[x] for x in part.arguments)
        return self.risks[node]

    def _apply(self, scalar: Apply) -> str:
        name, arguments = scalar.function, scalar.arguments
        if name in _LAZY:
            return self._lazy(scalar)
        if name in ("float", "int"):
            return self.value(arguments[0], name)
        if name == "not":
            return self.f.op("xor", "i1", self.value(arguments[0], "bool"), "true")
        if name == "truediv":
            kind = "float"
        else:
            kind = "float" if any(kind_of(a) == "float" for a in arguments) else "int"
        values = [self.value(a, kind) for a in arguments]
        if name in BOOLEAN:
            return self._compare(name, kind, *values)
        if name in _DIVISIONS:
            self._refuse_zero(arguments[1], kind, values[1])
        return self._float(name, values) if kind == "float" else self._integer(name, arguments, values)

    def _lazy(self, scalar: Apply) -> str:
        first, *rest = scalar.arguments
        condition = self.value(first, "bool")
        self.guarded += 1
        if scalar.function == "select":
            a, b = (self.value(x, scalar.kind) for x in rest)
            result = self.f.select(condition, TYPES[scalar.kind], a, b)
        else:
            result = self.f.op(scalar.function, "i1", condition, self.value(rest[0], "bool"))
        self.guarded -= 1
        return result

    def _compare(self, name: str, kind: str, a: str, b: str) -> str:
        if kind == "float":
            return self.f.fcmp({"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole"}[name], "double", a, b)
        return self.f.icmp({"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle"}[name], "i64", a, b)

    def _refuse_zero(self, divisor: Scalar, kind: str, value: str) -> None:
        low, high = bounds_of(divisor)
        if self.guarded or low > 0 or high < 0:
            return
        if kind == "float":
            fine = self.f.fcmp("une", "double", value, double_bits(0.0))
        else:
            fine = self.f.icmp("ne", "i64", value, 0)
        self.context.require_nonzero(fine)

    def _float(self, name: str, values: list[str]) -> str:
        f = self.f
        simple = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}.get(name)
        if simple:
            return f.op(simple, "double", *values)
        if name == "neg":
            return f.op("fneg", "double", values[0])
        if name in ("min", "max"):
            a, b = values
            return f.select(f.fcmp("olt", "double", *((b, a) if name == "min" else (a, b))), "double", b, a)
        a, b = values
        floor = f.intrinsic("double", "llvm.floor.f64", ("double", f.op("fdiv", "double", a, b)))
        return floor if name == "floordiv" else f.op("fsub", "double", a, f.op("fmul", "double", b, floor))

    def _integer(self, name: str, arguments: tuple[Scalar, ...], values: list[str]) -> str:
        f = self.f
        if name in ("add", "sub", "mul"):
            return f.op(name, "i64", *values)
        if name == "neg":
            return f.op("sub", "i64", 0, values[0])
        if name in ("min", "max"):
            return f.intrinsic("i64", f"llvm.s{name}.i64", ("i64", values[0]), ("i64", values[1]))
        low, high = bounds_of(arguments[1])
        if bounds_of(arguments[0])[0] >= 0 and low > 0:
            return f.op("udiv" if name == "floordiv" else "urem", "i64", *values)
        return self._floor_division(name, values[0], values[1], low > 0 or high < -1)

    def _floor_division(self, name: str, a: str, b: str, safe: bool) -> str:
        """``//`` and ``%``; the machine's division truncates, and traps for 0 and for the smallest number by -1."""
        f = self.f
        special = None
        divisor = b
        if not safe:
            special = f.icmp("ult", "i64", f.op("add", "i64", b, 1), 2)  # 0 or -1
            divisor = f.select(special, "i64", 1, b)
        quotient = f.op("sdiv", "i64", a, divisor)
        rest = f.op("sub", "i64", a, f.op("mul", "i64", quotient, divisor))
        signs = f.icmp("slt", "i64", f.op("xor", "i64", rest, divisor), 0)
        adjust = f.op("and", "i1", signs, f.icmp("ne", "i64", rest, 0))
        if name == "floordiv":
            result = f.op("sub", "i64", quotient, f.cast("zext", "i1", adjust, "i64"))
            other = f.op("sub", "i64", 0, a) if special else ""
        else:
            result = f.op("add", "i64", rest, f.select(adjust, "i64", divisor, 0))
            other = "0"
        return f.select(special, "i64", other, result) if special else result
