"""``SymbolicScalar``: run-time integers (and floats) as users hold them.

A thin handle around an ir ``Scalar``. The text forms are those of tensor API section 5.3; the arithmetic is Python's
(ruling "arithmetic on symbols"): ``//`` floors, ``%`` has the divisor's sign, and ``/`` on integers is ``//`` (the API
divides integers with both spellings). Only a scalar of kind float divides truly.
"""

from __future__ import annotations

import enum
import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pypto.errors.symbols import (
    InvalidScalarConstruction,
    InvalidScalarType,
    NotConcrete,
    ScalarDivisionByZero,
    UnsupportedScalarOperation,
)
from pypto.frontend.symbol_text import as_written, text
from pypto.ir import symbols as ir
from pypto.ir.symbols import Apply, Expression, Scalar, Symbol


class SatStatus(enum.Enum):
    """Answer of ``SymbolicScalar.check``."""

    SAT = 0
    UNSAT = 1
    UNKNOWN = 2


class NamedValue(Symbol):
    """A named scalar whose value is known: ``SymbolicScalar("n", 4)``. A symbol in text, a number when one is needed."""

    __slots__ = ("value",)

    def __init__(self, name: str, value: int) -> None:
        super().__init__(name)
        self.value = value


Build = Callable[[Scalar, Scalar], Scalar]
Operator = Callable[..., "SymbolicScalar"]

# Two scalars made from the same name are the same scalar.
_named: weakref.WeakValueDictionary[tuple[str, int | None], Symbol] = weakref.WeakValueDictionary()


def named_symbol(name: str, value: int | None = None) -> Symbol:
    """The symbol that ``SymbolicScalar(name)`` or ``SymbolicScalar(name, value)`` stands for."""
    made = Symbol(name) if value is None else NamedValue(name, value)
    return _named.setdefault((name, value), made)


def scalar_of(thing: Any) -> Scalar | None:
    """``thing`` as an ir ``Scalar``: a number, or what a SymbolicScalar wraps (its number when known). Else None."""
    if isinstance(thing, SymbolicScalar):
        return thing.concrete_or_none() if thing.is_concrete() else thing.scalar
    if isinstance(thing, (bool, int, float, Expression)):
        return thing
    try:
        return operator.index(thing)  # numpy and torch integers
    except Exception:  # a foreign __index__ may raise anything; then it is not a scalar
        return None


def _operand(operation: str, thing: Any, partner: SymbolicScalar | None = None) -> Scalar:
    """``thing`` as a Scalar. A float goes with a scalar of kind float only: integers never turn into floats silently."""
    scalar = thing.scalar if isinstance(thing, SymbolicScalar) else scalar_of(thing)
    floating = isinstance(thing, float) and partner is not None and partner.kind != "float"
    if scalar is None or floating:
        raise InvalidScalarType(operation=operation, got=f"{type(thing).__name__} {thing!r}")
    return scalar


def _compare(function: str, sign: str, left: SymbolicScalar, right: Any) -> SymbolicScalar:
    return SymbolicScalar(ir.compare(function, left.scalar, _operand(sign, right, left)))


def _divisor(a: Scalar, b: Scalar) -> None:
    if ir.is_constant(b) and b == 0:
        raise ScalarDivisionByZero(text=text(a))


def _divide(a: Scalar, b: Scalar) -> Scalar:
    _divisor(a, b)
    return ir.truediv(a, b) if "float" in (ir.kind_of(a), ir.kind_of(b)) else ir.floordiv(a, b)


def _floor_divide(a: Scalar, b: Scalar) -> Scalar:
    _divisor(a, b)
    return ir.floordiv(a, b)


def _modulo(a: Scalar, b: Scalar) -> Scalar:
    _divisor(a, b)
    return ir.mod(a, b)


def _and(a: Scalar, b: Scalar) -> Scalar:
    if (ir.is_constant(a) and not a) or (ir.is_constant(b) and not b):
        return 0
    return ir.apply("and", a, b)


def _or(a: Scalar, b: Scalar) -> Scalar:
    if (ir.is_constant(a) and a) or (ir.is_constant(b) and b):
        return 1
    return ir.apply("or", a, b)


def _chain(function: str, a: Scalar) -> list[Scalar]:
    """Operands of nested ``min`` (or ``max``), left to right."""
    if isinstance(a, Apply) and a.function == function:
        return _chain(function, a.arguments[0]) + _chain(function, a.arguments[1])
    return [a]


def _extremum(function: str, a: Scalar, b: Scalar) -> Scalar:
    """``min``/``max`` with chains flattened, equal operands removed, constants merged and last."""
    operands = list(dict.fromkeys(_chain(function, a) + _chain(function, b)))
    constants = [x for x in operands if ir.is_constant(x)]
    rest = [x for x in operands if not ir.is_constant(x)]
    if constants:
        rest.append(functools.reduce(lambda x, y: ir.BUILDERS[function](x, y), constants))
    return functools.reduce(lambda x, y: ir.BUILDERS[function](x, y), rest)


def _forward(sign: str, build: Build) -> Operator:
    return lambda self, other: SymbolicScalar(build(self.scalar, _operand(sign, other, self)))


def _reflected(sign: str, build: Build) -> Operator:
    return lambda self, other: SymbolicScalar(build(_operand(sign, other, self), self.scalar))


def _refused(sign: str, instead: str) -> Operator:
    def refuse(self: SymbolicScalar, other: Any = None) -> SymbolicScalar:
        raise UnsupportedScalarOperation(operation=sign, text=str(self), instead=instead)

    return refuse


class SymbolicScalar:
    """A scalar that may be known only when the kernel runs.

    ``SymbolicScalar(8)``, ``SymbolicScalar("n")``, ``SymbolicScalar("n", 8)``, or a copy ``SymbolicScalar(other)``.
    Arithmetic with ints and other scalars gives scalars; comparisons give 0 or 1; ``&``, ``|``, ``~`` are logical.
    Raises ``ValueError`` (Not concrete value) where a number is needed and none is known, ``TypeError`` for other operands.

    >>> n = SymbolicScalar("n")
    >>> print((n + 3) + 5, (n * 6 // 3).simplify(), (n - 1).min(8))
    (n+8) (n*2) RUNTIME_Min((n-1), 8)
    """

    scalar: Scalar

    def __init__(self, value: Any, concrete: int | None = None) -> None:
        if isinstance(value, str) and (concrete is None or isinstance(concrete, int)):
            self.scalar = named_symbol(value, concrete)
            return
        scalar = scalar_of(value)
        if scalar is None or concrete is not None:
            raise InvalidScalarConstruction(got=f"{type(value).__name__} {value!r}")
        self.scalar = value.scalar if isinstance(value, SymbolicScalar) else scalar

    # -- what is known -----------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """``"int"``, ``"float"`` or ``"bool"``."""
        return ir.kind_of(self.scalar)

    def is_concrete(self) -> bool:
        """Whether the value is known now."""
        return all(isinstance(symbol, NamedValue) for symbol in ir.symbols_in(self.scalar))

    def concrete_or_none(self) -> Any:
        """The number (int or float), or None when it is known only at run time."""
        if not self.is_concrete():
            return None
        values: dict[Symbol, ir.Number] = {
            symbol: symbol.value for symbol in ir.symbols_in(self.scalar) if isinstance(symbol, NamedValue)
        }
        try:
            number = ir.evaluate(self.scalar, values)
        except ZeroDivisionError:
            raise ScalarDivisionByZero(text=str(self))
        return int(number) if isinstance(number, bool) else number

    def concrete(self) -> int:
        """The number; raises ``ValueError`` when it is known only at run time.

        >>> (SymbolicScalar("n", 4) * 2).concrete()
        8
        """
        number = self.concrete_or_none()
        if number is None:
            raise NotConcrete(text=str(self))
        return number

    def is_immediate(self) -> bool:
        """Whether it is a plain number."""
        return not isinstance(self.scalar, Expression)

    def is_symbol(self) -> bool:
        """Whether it is a name (with or without a value)."""
        return isinstance(self.scalar, Symbol)

    def is_expression(self) -> bool:
        """Whether it is the result of an operation that is not folded."""
        return isinstance(self.scalar, Apply)

    def simplify(self) -> SymbolicScalar:
        """An equal scalar in a simpler form (the table of tensor API section 5.3)."""
        from pypto.ir.simplify_symbols import simplify

        result = simplify(self.scalar)
        return SymbolicScalar(as_written(self.scalar, result))

    def as_variable(self) -> None:
        """Mark as an intermediate variable, in place. Changes no value."""
        self.variable = True

    def as_expr(self) -> Scalar:
        """The program form's scalar behind this handle."""
        return self.scalar

    as_var = as_expr

    @staticmethod
    def check(conditions: Sequence[Any]) -> SatStatus:
        """Whether all ``conditions`` can hold at once: ``UNSAT`` and ``SAT`` are certain, ``UNKNOWN`` is everything else.

        >>> x = SymbolicScalar("x")
        >>> SymbolicScalar.check([x > 5, x < 6])
        <SatStatus.UNSAT: 1>
        """
        from pypto.ir.satisfy import check

        return SatStatus[check([_operand("check", condition) for condition in conditions])]

    @staticmethod
    def tenary(condition: Any, if_true: Any, if_false: Any) -> SymbolicScalar:
        """``if_true`` where ``condition`` is not 0, else ``if_false``."""
        chosen, a, b = (_operand("tenary", thing) for thing in (condition, if_true, if_false))
        return SymbolicScalar(ir.select(ir.truth(chosen), a, b))

    # -- conversions -------------------------------------------------------------------------------------------------------

    def __int__(self) -> int:
        return int(self.concrete())

    def __float__(self) -> float:
        return float(self.concrete())

    def __bool__(self) -> bool:
        return bool(self.concrete())

    def __str__(self) -> str:
        return text(self.scalar)

    __repr__ = __str__

    __hash__ = None  # type: ignore[assignment]  # == builds a scalar, so hashing would be a trap

    # -- operators ---------------------------------------------------------------------------------------------------------

    def min(self, other: Any) -> SymbolicScalar:
        """The smaller of the two."""
        return SymbolicScalar(_extremum("min", self.scalar, _operand("min", other, self)))

    def max(self, other: Any) -> SymbolicScalar:
        """The larger of the two."""
        return SymbolicScalar(_extremum("max", self.scalar, _operand("max", other, self)))

    __add__, __radd__ = _forward("+", ir.add), _reflected("+", ir.add)
    __sub__, __rsub__ = _forward("-", ir.sub), _reflected("-", ir.sub)
    __mul__, __rmul__ = _forward("*", ir.mul), _reflected("*", ir.mul)
    __truediv__, __rtruediv__ = _forward("/", _divide), _reflected("/", _divide)
    __floordiv__, __rfloordiv__ = _forward("//", _floor_divide), _reflected("//", _floor_divide)
    __mod__, __rmod__ = _forward("%", _modulo), _reflected("%", _modulo)
    __and__, __rand__ = _forward("&", _and), _reflected("&", _and)
    __or__, __ror__ = _forward("|", _or), _reflected("|", _or)
    __pow__ = __rpow__ = _refused("**", "write the product out: x * x")
    __lshift__ = __rlshift__ = _refused("<<", "multiply by a power of two")
    __rshift__ = __rrshift__ = _refused(">>", "divide by a power of two with //")
    __xor__ = __rxor__ = _refused("^", "compare with !=")
    __abs__ = _refused("abs()", "write x.max(-x)")
    __round__ = _refused("round()", "write int(x + 0.5) for a float; an int is whole already")
    __floor__ = _refused("math.floor()", "write x // 1")
    __ceil__ = _refused("math.ceil()", "write -(-x // 1)")
    __trunc__ = _refused("math.trunc()", "write int(x)")

    def __divmod__(self, other: Any) -> tuple[SymbolicScalar, SymbolicScalar]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[SymbolicScalar, SymbolicScalar]:
        return other // self, other % self

    def __neg__(self) -> SymbolicScalar:
        return SymbolicScalar(ir.neg(self.scalar))

    def __pos__(self) -> SymbolicScalar:
        return self

    def __invert__(self) -> SymbolicScalar:
        return SymbolicScalar(ir.apply("not", self.scalar))

    def __eq__(self, other: Any) -> SymbolicScalar:  # type: ignore[override]
        return _compare("eq", "==", self, other)

    def __ne__(self, other: Any) -> SymbolicScalar:  # type: ignore[override]
        return _compare("ne", "!=", self, other)

    def __lt__(self, other: Any) -> SymbolicScalar:
        return _compare("lt", "<", self, other)

    def __le__(self, other: Any) -> SymbolicScalar:
        return _compare("le", "<=", self, other)

    def __gt__(self, other: Any) -> SymbolicScalar:
        return _compare("gt", ">", self, other)

    def __ge__(self, other: Any) -> SymbolicScalar:
        return _compare("ge", ">=", self, other)

    def __index__(self) -> int:
        raise UnsupportedScalarOperation(
            operation="use as an index or in range()",
            text=str(self),
            instead="loop with pypto.loop(...), or take the number with int(...) if it is known at compile time",
        )


def symbolic_min(a: Any, b: Any, *more: Any) -> SymbolicScalar:
    """Smallest of two or more ints and symbolic scalars, always a SymbolicScalar (``pypto.min``).

    >>> print(symbolic_min(SymbolicScalar("n"), 4, 7))
    RUNTIME_Min(n, 4)
    """
    return functools.reduce(SymbolicScalar.min, (b, *more), SymbolicScalar(_operand("min", a)))


def symbolic_max(a: Any, b: Any, *more: Any) -> SymbolicScalar:
    """Largest of two or more ints and symbolic scalars, always a SymbolicScalar (``pypto.max``)."""
    return functools.reduce(SymbolicScalar.max, (b, *more), SymbolicScalar(_operand("max", a)))
