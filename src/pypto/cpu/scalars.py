"""Symbolic scalars as LLVM text: ``i64``, ``double`` and ``i1`` with Python's meaning.

Values are computed without branches and never trap; what has no value (a quotient by zero, ``int()`` of an infinity) gives some number.
Beside it stands a *code*: 0, or which error Python would raise first, where ``select``, ``and`` and ``or`` look at one arm only. Whoever
asks for a value stops the kernel if its code is not 0. Integer arithmetic wraps; where an expression is evaluated with care
(``carefully``), a result beyond 64 bits has a code, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pypto.cpu import float_division
from pypto.cpu.text import double_bits
from pypto.errors.base import InternalError, UserError
from pypto.errors.runtime import DivisionByZeroInRun, ScalarNotFiniteInRun, ScalarTooLargeInRun
from pypto.ir.symbols import BOOLEAN, Apply, Expression, Scalar, Symbol, bounds_of, children_first, kind_of

if TYPE_CHECKING:
    from pypto.cpu.context import Context

TYPES = {"int": "i64", "float": "double", "bool": "i1"}
_LAZY = frozenset({"select", "and", "or"})
_DIVISIONS = frozenset({"floordiv", "mod", "truediv"})
_PAST_64_BITS = 2.0**63
_EXACT_INTEGERS = 2**53  # a double holds every integer up to here
_ERRORS: tuple[type[UserError], ...] = (DivisionByZeroInRun, ScalarNotFiniteInRun, ScalarTooLargeInRun)  # codes 1, 2, 3
_DIVIDES, _CONVERTS = 1, 2  # bits of ``risk_of``


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
        self.silent = False
        self.careful: Collection[Expression] = ()  # expressions in which no integer may leave 64 bits, and what contains them
        self.risks: dict[Expression, int] = context.parent.scalars.risks if context.parent else {}

    @contextmanager
    def silently(self) -> Iterator[None]:
        """What is evaluated inside never stops the kernel."""
        outer, self.silent = self.silent, True
        try:
            yield
        finally:
            self.silent = outer

    def carefully(self, scalars: Iterable[Scalar], careful: Collection[Expression]) -> None:
        """Evaluate scalars now, stopping at the first integer beyond 64 bits in ``careful``."""
        self.careful = careful
        for scalar in scalars:
            self.value(scalar)
        self.careful = ()

    def value(self, scalar: Scalar, kind: str | None = None) -> str:
        """LLVM value of ``scalar``, converted to ``kind``."""
        own = kind_of(scalar)
        if not isinstance(scalar, Expression):
            return constant_text(scalar, kind or own)
        if isinstance(scalar, Apply) and not self.silent:
            self._demand(scalar)
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
        return self.f.intrinsic("i64", "llvm.fptosi.sat.i64.f64", ("double", name))

    def _expression(self, scalar: Expression) -> str:
        """Arguments first, without recursion: expressions may be deeper than Python's stack."""
        found = self.context.lookup(scalar)
        if found is None and isinstance(scalar, Symbol):
            raise InternalError(f"symbol {scalar.name} is used before it is defined", step="code generation")
        pending = [scalar] if found is None else []
        while pending:
            node = pending[-1]
            if self.context.lookup(node) is None:
                assert isinstance(node, Apply)
                missing = [x for x in node.arguments if isinstance(x, Apply) and self.context.lookup(x) is None]
                if missing:
                    pending += missing
                    continue
                self.context.define(node, TYPES[node.kind], self._apply(node))
            pending.pop()
        return found or str(self.context.lookup(scalar))

    def _plain(self, scalar: Scalar, kind: str | None = None) -> str:
        """The value alone."""
        own = kind_of(scalar)
        if not isinstance(scalar, Expression):
            return constant_text(scalar, kind or own)
        return self.converted(self._expression(scalar), own, kind or own)

    # -- codes -----------------------------------------------------------------------------------------------------------------

    def _demand(self, scalar: Apply) -> None:
        """Stop the kernel here if ``scalar`` has no value."""
        careful = scalar in self.careful
        risk = risk_of(scalar, self.risks)
        key = ("demanded", careful, scalar)
        if not (risk or careful) or self.context.lookup(key):
            return
        code = self._code(scalar)
        possible = (risk & _DIVIDES, risk & _CONVERTS, careful or risk & _CONVERTS)
        for number, error in enumerate(_ERRORS):
            if possible[number]:
                self.context.require(self.f.icmp("ne", "i8", code, number + 1), error(span=self.context.span))
        self.context.define(key, "i8", code)

    def _code(self, scalar: Apply) -> str:
        for part in children_first(scalar):
            if self._coded(part) and self.context.lookup(self._code_key(part)) is None:
                self.context.define(self._code_key(part), "i8", self._code_of(part))
        return str(self.context.lookup(self._code_key(scalar)))

    def _code_key(self, node: Expression) -> object:
        return "code", node in self.careful, node

    def _coded(self, scalar: Scalar) -> bool:
        return isinstance(scalar, Apply) and (scalar in self.careful or bool(risk_of(scalar, self.risks)))

    def _known_code(self, scalar: Scalar) -> str:
        return str(self.context.lookup(self._code_key(scalar))) if self._coded(scalar) else "0"  # type: ignore[arg-type]

    def _code_of(self, node: Apply) -> str:
        first, *rest = map(self._known_code, node.arguments)
        if node.function in _LAZY:
            arms = {"select": rest, "and": [*rest, "0"], "or": ["0", *rest]}[node.function]
            return self._first(first, self.f.select(self._plain(node.arguments[0], "bool"), "i8", *arms))
        for code in (*rest, self._own_code(node)):
            first = self._first(first, code)
        return first

    def _first(self, a: str, b: str) -> str:
        if "0" in (a, b):
            return b if a == "0" else a
        return self.f.select(self.f.icmp("ne", "i8", a, 0), "i8", a, b)

    def _own_code(self, node: Apply) -> str:
        """What may be wrong with the function itself."""
        f, operand = self.f, node.arguments[-1]
        if node.function in _DIVISIONS and may_be(operand, 0):
            value = self._plain(operand)
            zero = f.fcmp("oeq", "double", value, double_bits(0.0)) if kind_of(operand) == "float" else ""
            zero = zero or f.icmp("eq", "i64", self._plain(operand, "int"), 0)
            return self._first(f.select(zero, "i8", 1, 0), self._overflow(node))
        if node.function == "int" and kind_of(operand) == "float":
            value = self._plain(operand)
            rest = f.op("fsub", "double", value, value)  # 0 for numbers, NaN for NaN and infinities
            above = f.fcmp("oge", "double", value, double_bits(-_PAST_64_BITS))
            below = f.fcmp("olt", "double", value, double_bits(_PAST_64_BITS))
            large = f.select(f.op("and", "i1", above, below), "i8", 0, 3)
            return f.select(f.fcmp("oeq", "double", rest, double_bits(0.0)), "i8", large, 2)
        return self._overflow(node)

    def _overflow(self, node: Apply) -> str:
        """Code 3 where a careful integer leaves 64 bits."""
        f, name = self.f, node.function
        if node not in self.careful or node.kind != "int":
            return "0"
        if name in ("add", "sub", "mul", "neg"):
            values = [self._plain(x, "int") for x in node.arguments]
            word, operands = ("sub", ["0", *values]) if name == "neg" else (name, values)
            both = f.intrinsic("{i64, i1}", f"llvm.s{word}.with.overflow.i64", *(("i64", v) for v in operands))
            return f.select(f.define(f"extractvalue {{i64, i1}} {both}, 1"), "i8", 3, 0)
        if name == "floordiv":
            least = f.icmp("eq", "i64", self._plain(node.arguments[0], "int"), -(2**63))
            one = f.icmp("eq", "i64", self._plain(node.arguments[1], "int"), -1)
            return f.select(f.op("and", "i1", least, one), "i8", 3, 0)
        return "0"

    # -- values ----------------------------------------------------------------------------------------------------------------

    def _apply(self, scalar: Apply) -> str:
        name, arguments = scalar.function, scalar.arguments
        if name == "select":
            condition = self._plain(arguments[0], "bool")
            return self.f.select(condition, TYPES[scalar.kind], *(self._plain(a, scalar.kind) for a in arguments[1:]))
        if name in ("and", "or"):
            return self.f.op(name, "i1", *(self._plain(a, "bool") for a in arguments))
        if name in ("float", "int"):
            return self._plain(arguments[0], name)
        if name == "not":
            return self.f.op("xor", "i1", self._plain(arguments[0], "bool"), "true")
        if name == "truediv":
            kind = "float"
        else:
            kind = "float" if any(kind_of(a) == "float" for a in arguments) else "int"
        if name in BOOLEAN and kind == "float" and self._is_mixed(arguments):
            return self._compare_mixed(name, *arguments)
        values = [self._plain(a, kind) for a in arguments]
        if name in BOOLEAN:
            return self._compare(name, kind, *values)
        return self._float(name, values) if kind == "float" else self._integer(name, arguments, values)

    def _compare(self, name: str, kind: str, a: str, b: str) -> str:
        if kind == "float":
            return self.f.fcmp({"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole"}[name], "double", a, b)
        return self.f.icmp({"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle"}[name], "i64", a, b)

    @staticmethod
    def _is_mixed(arguments: tuple[Scalar, ...]) -> bool:
        """A float beside an integer that a double may not hold exactly."""
        wide = [a for a in arguments if kind_of(a) == "int" and max(map(abs, bounds_of(a))) > _EXACT_INTEGERS]
        return len(wide) == 1 and any(kind_of(a) == "float" for a in arguments)

    def _compare_mixed(self, name: str, a: Scalar, b: Scalar) -> str:
        """Python compares integer and float exactly. Rounding keeps their order; where it makes them equal, integers decide."""
        f, turned = self.f, kind_of(a) == "float"
        whole, value = (self._plain(x) for x in ((b, a) if turned else (a, b)))
        rounded = f.cast("sitofp", "i64", whole, "double")
        tie = f.fcmp("oeq", "double", rounded, value)
        past = f.fcmp("oge", "double", value, double_bits(_PAST_64_BITS))
        other = f.intrinsic("i64", "llvm.fptosi.sat.i64.f64", ("double", value))
        less = f.op("or", "i1", f.icmp("slt", "i64", whole, other), past)
        equal = f.op("and", "i1", f.icmp("eq", "i64", whole, other), f.op("xor", "i1", past, "true"))
        if name in ("eq", "ne"):
            same = f.op("and", "i1", tie, equal)
            return same if name == "eq" else f.op("xor", "i1", same, "true")
        decided = f.fcmp("ogt" if turned else "olt", "double", rounded, value)
        if turned:  # value < whole, value <= whole
            less = f.op("xor", "i1", less if name == "le" else f.op("or", "i1", less, equal), "true")
        elif name == "le":
            less = f.op("or", "i1", less, equal)
        return f.op("or", "i1", decided, f.op("and", "i1", tie, less))

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
        return float_division.call(f, name, *values)

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


def may_be(scalar: Scalar, number: int) -> bool:
    low, high = bounds_of(scalar)
    return low <= number <= high


def risk_of(node: Apply, known: dict[Expression, int]) -> int:
    """Whether something in ``node`` divides by a number that may be 0 (bit 1) or makes an integer of a float (bit 2).

    Answers are kept in ``known``.
    """
    if node not in known:
        for part in children_first(node, known):
            risk = _DIVIDES if part.function in _DIVISIONS and may_be(part.arguments[-1], 0) else 0
            risk |= _CONVERTS if part.function == "int" and kind_of(part.arguments[0]) == "float" else 0
            for argument in part.arguments:
                risk |= known[argument] if isinstance(argument, Apply) else 0
            known[part] = risk
    return known[node]
