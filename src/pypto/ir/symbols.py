"""Symbolic integers (and run-time floats): immutable, interned expressions over symbols.

    Expression ::= Constant(value) | Symbol(name, kind, low, high) | Apply(function, arguments)

An expression is built with the module functions (``add``, ``floordiv``, ``minimum`` …), which fold constants and
accept plain ``int``/``float``/``bool`` anywhere. ``Scalar`` is what the rest of the house stores: an ``Expression`` or a plain number.
Semantics are Python's: ``//`` floors, ``%`` has the divisor's sign. Equality is identity, so expressions are cheap dictionary keys.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Union

Number = Union[int, float, bool]
Scalar = Union["Expression", int, float, bool]

INFINITY = math.inf


class Expression:
    """Base. ``kind`` is ``"int"``, ``"float"`` or ``"bool"``; ``bounds`` an inclusive interval (infinite when unknown)."""

    __slots__ = ("__weakref__", "bounds", "kind")
    kind: str
    bounds: tuple[float, float]

    def __repr__(self) -> str:
        return text(self)


class Symbol(Expression):
    """A run-time scalar defined by exactly one place: a parameter, a dimension, a loop, a branch, or a read of a tensor."""

    __slots__ = ("name", "number")
    _numbers = itertools.count()

    def __init__(self, name: str, kind: str = "int", low: float = -INFINITY, high: float = INFINITY) -> None:
        self.name = name
        self.kind = kind
        self.bounds = (low, high)
        self.number = next(self._numbers)


class Apply(Expression):
    """``function`` applied to arguments; made by ``apply`` only, so that equal expressions are one object."""

    __slots__ = ("arguments", "function")
    function: str
    arguments: tuple[Scalar, ...]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "truediv": lambda a, b: a / b,
    "neg": lambda a: -a,
    "min": min,
    "max": max,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "not": lambda a: not a,
    "select": lambda c, a, b: a if c else b,
    "float": float,
    "int": int,
}
BOOLEAN = {"eq", "ne", "lt", "le", "and", "or", "not"}

_interned: weakref.WeakValueDictionary[tuple[Any, ...], Apply] = weakref.WeakValueDictionary()


def _key(a: Scalar) -> Any:
    return id(a) if isinstance(a, Expression) else (type(a), a)


def kind_of(a: Scalar) -> str:
    if isinstance(a, Expression):
        return a.kind
    return "bool" if isinstance(a, bool) else "float" if isinstance(a, float) else "int"


def bounds_of(a: Scalar) -> tuple[float, float]:
    return a.bounds if isinstance(a, Expression) else (a, a)


def is_constant(a: Any) -> bool:
    return not isinstance(a, Expression)


def apply(function: str, *arguments: Scalar) -> Scalar:
    """Build ``function(*arguments)``, folding when all arguments are numbers. Division by a zero constant is not folded."""
    if not any(isinstance(a, Expression) for a in arguments):
        if function not in ("floordiv", "mod", "truediv") or arguments[1] != 0:
            return FUNCTIONS[function](*arguments)
    key = (function, *map(_key, arguments))
    found = _interned.get(key)
    if found is not None:
        return found
    made = Apply()
    made.function = function
    made.arguments = arguments
    made.kind = _kind(function, arguments)
    made.bounds = _bounds(function, arguments)
    _interned[key] = made
    return made


def _kind(function: str, arguments: tuple[Scalar, ...]) -> str:
    if function in BOOLEAN:
        return "bool"
    if function in ("float", "truediv"):
        return "float"
    if function == "int":
        return "int"
    kinds = {kind_of(a) for a in (arguments[1:] if function == "select" else arguments)}
    if "float" in kinds:
        return "float"
    return "bool" if function == "select" and kinds == {"bool"} else "int"


def _product(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _corners(operation: Callable[[float, float], float], p: tuple[float, float], q: tuple[float, float]) -> tuple[float, float]:
    values = [operation(x, y) for x in p for y in q]
    return min(values), max(values)


def _floor_quotient(x: float, y: float) -> float:
    if math.isinf(y):
        return 0 if x == 0 or (x > 0) == (y > 0) else -1
    return x if math.isinf(x) and y > 0 else -x if math.isinf(x) else x // y


def _bounds(function: str, arguments: tuple[Scalar, ...]) -> tuple[float, float]:
    everything = (-INFINITY, INFINITY)
    if function in BOOLEAN:
        return (0, 1)
    ranges = [bounds_of(a) for a in arguments]
    (low, high), (low2, high2) = ranges[0], ranges[-1]
    if function == "add":
        return (low + low2, high + high2)
    if function == "sub":
        return (low - high2, high - low2)
    if function == "neg":
        return (-high, -low)
    if function == "mul":
        return _corners(_product, ranges[0], ranges[1])
    if function == "min":
        return (min(low, low2), min(high, high2))
    if function == "max":
        return (max(low, low2), max(high, high2))
    if function == "select":
        return (min(ranges[1][0], low2), max(ranges[1][1], high2))
    if function == "floordiv" and low2 > 0:
        return _corners(_floor_quotient, ranges[0], ranges[1])
    if function == "mod" and low2 > 0:
        if any(kind_of(a) == "float" for a in arguments):
            return (0, high2)  # -1e-20 % 0.1 rounds up to 0.1
        return (low, high) if 0 <= low and high < low2 else (0, high2 - 1)
    return everything


# -- constructors with the cheap identities; deeper rewriting is ir/simplify_symbols.py ---------------------------------------


def add(a: Scalar, b: Scalar) -> Scalar:
    if is_constant(b) and b == 0 and kind_of(b) != "float":
        return a
    if is_constant(a) and a == 0 and kind_of(a) != "float":
        return b
    if is_constant(a) and not is_constant(b):
        a, b = b, a  # constants to the right
    if is_constant(b) and isinstance(a, Apply) and a.function == "add" and is_constant(a.arguments[1]) and a.kind == "int":
        return add(a.arguments[0], apply("add", a.arguments[1], b))
    return apply("add", a, b)


def sub(a: Scalar, b: Scalar) -> Scalar:
    if is_constant(b) and kind_of(b) == "int" and kind_of(a) == "int":
        return add(a, -b)  # type: ignore[operator]
    if a is b and kind_of(a) == "int":
        return 0
    if isinstance(a, Apply) and a.function == "add" and kind_of(a) == "int":
        left, right = a.arguments
        if left is b:
            return right
        if right is b:
            return left
        if is_constant(right):
            return add(sub(left, b), right)
    return apply("sub", a, b)


def mul(a: Scalar, b: Scalar) -> Scalar:
    if is_constant(a) and not is_constant(b):
        a, b = b, a
    if is_constant(b) and kind_of(b) == "int":
        if b == 1:
            return a
        if b == 0 and kind_of(a) == "int":
            return 0
    return apply("mul", a, b)


def floordiv(a: Scalar, b: Scalar) -> Scalar:
    return a if is_constant(b) and b == 1 and kind_of(a) == "int" else apply("floordiv", a, b)


def mod(a: Scalar, b: Scalar) -> Scalar:
    return 0 if is_constant(b) and b == 1 and kind_of(a) == "int" else apply("mod", a, b)


def truediv(a: Scalar, b: Scalar) -> Scalar:
    return apply("truediv", a, b)


def neg(a: Scalar) -> Scalar:
    return apply("neg", a)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    if a is b:
        return a
    if kind_of(a) != "float" and kind_of(b) != "float":
        if bounds_of(a)[1] <= bounds_of(b)[0]:
            return a
        if bounds_of(b)[1] <= bounds_of(a)[0]:
            return b
    return apply("min", a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    if a is b:
        return a
    if kind_of(a) != "float" and kind_of(b) != "float":
        if bounds_of(a)[0] >= bounds_of(b)[1]:
            return a
        if bounds_of(b)[0] >= bounds_of(a)[1]:
            return b
    return apply("max", a, b)


def compare(function: str, a: Scalar, b: Scalar) -> Scalar:
    """``eq``, ``ne``, ``lt``, ``le``, and ``gt``, ``ge`` (turned around). Decided by bounds where they suffice (integers only)."""
    if function in ("gt", "ge"):
        return compare("lt" if function == "gt" else "le", b, a)
    if kind_of(a) != "float" and kind_of(b) != "float":
        (low, high), (low2, high2) = bounds_of(a), bounds_of(b)
        if a is b:
            return function in ("eq", "le")
        if function == "lt" and (high < low2 or low >= high2):
            return high < low2
        if function == "le" and (high <= low2 or low > high2):
            return high <= low2
        if function in ("eq", "ne") and (high < low2 or low > high2):
            return function == "ne"
    return apply(function, a, b)


def logical_and(a: Scalar, b: Scalar) -> Scalar:
    if is_constant(a):
        return truth(b) if a else False
    if is_constant(b):
        return truth(a) if b else False
    return truth(a) if a is b else apply("and", a, b)


def logical_or(a: Scalar, b: Scalar) -> Scalar:
    if is_constant(a):
        return True if a else truth(b)
    if is_constant(b):
        return True if b else truth(a)
    return truth(a) if a is b else apply("or", a, b)


def logical_not(a: Scalar) -> Scalar:
    if isinstance(a, Apply):
        if a.function == "not":
            return truth(a.arguments[0])
        flipped = {"eq": "ne", "ne": "eq"}.get(a.function)
        if flipped and all(kind_of(x) != "float" for x in a.arguments):
            return apply(flipped, *a.arguments)
    return apply("not", a)


def truth(a: Scalar) -> Scalar:
    """``a != 0`` as a bool."""
    return a if kind_of(a) == "bool" else compare("ne", a, 0)


def select(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    if is_constant(condition):
        return a if condition else b
    return a if a is b else apply("select", condition, a, b)


# -- reading expressions -----------------------------------------------------------------------------------------------------


def evaluate(a: Scalar, values: Mapping[Symbol, Number], functions: Mapping[str, Callable[..., Any]] = FUNCTIONS) -> Number:
    """The number ``a`` stands for; raises ``ZeroDivisionError`` and ``KeyError`` (unknown symbol) as Python would.

    What ``select``, ``and`` and ``or`` do not look at is not evaluated: the other arm may divide by zero. ``functions`` may give
    another meaning to the functions.
    """
    if not isinstance(a, Expression):
        return a
    if isinstance(a, Symbol):
        return values[a]
    done: dict[Expression, Number] = {}
    pending: list[Scalar] = [a]

    def known(x: Scalar) -> Number | None:
        return done.get(x) if isinstance(x, Expression) else x

    while pending:
        node = pending[-1]
        if not isinstance(node, Expression) or node in done:
            pending.pop()
        elif isinstance(node, Symbol):
            done[node] = values[node]
        else:
            assert isinstance(node, Apply)
            missing = next((x for x in _looked_at(node, known) if known(x) is None), None)
            if missing is None:
                done[node] = functions[node.function](*(known(x) for x in node.arguments))
            else:
                pending.append(missing)
    result = known(a)
    assert result is not None
    return result


def _looked_at(node: Apply, known: Callable[[Scalar], Number | None]) -> Sequence[Scalar]:
    """The arguments that decide the value, as far as the first one tells."""
    first = node.arguments[0]
    if node.function == "select" and known(first) is not None:
        return (node.arguments[1 if known(first) else 2],)
    if node.function in ("and", "or") and known(first) is not None:
        return () if bool(known(first)) == (node.function == "or") else node.arguments[1:]
    return (first,) if node.function in ("select", "and", "or") else node.arguments


def symbols_in(a: Scalar) -> Iterator[Symbol]:
    """Every symbol in ``a``, each once, in order of appearance."""
    seen: set[int] = set()
    stack: list[Scalar] = [a]
    while stack:
        node = stack.pop()
        if not isinstance(node, Expression) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Symbol):
            yield node
        elif isinstance(node, Apply):
            stack.extend(reversed(node.arguments))


def children_first(a: Scalar, known: Container[Expression] = ()) -> Iterator[Apply]:
    """Every application in ``a``, arguments before what uses them, each once; ``known`` ones and what is in them left out."""
    seen: set[Expression] = set()
    pending: list[tuple[Scalar, bool]] = [(a, False)]
    while pending:
        node, ready = pending.pop()
        if not isinstance(node, Apply) or node in known or (node in seen and not ready):
            continue
        if ready:
            yield node
        else:
            seen.add(node)
            pending.append((node, True))
            pending.extend((x, False) for x in reversed(node.arguments))


def substitute(a: Scalar, replacement: Mapping[Symbol, Scalar]) -> Scalar:
    """``a`` with symbols replaced, rebuilt through the constructors so that it folds again."""
    done: dict[Scalar, Scalar] = dict(replacement.items())
    for node in children_first(a):
        arguments = tuple(done.get(x, x) if isinstance(x, Expression) else x for x in node.arguments)
        if any(x is not y for x, y in zip(arguments, node.arguments, strict=True)):
            done[node] = BUILDERS[node.function](*arguments)
    return done.get(a, a) if isinstance(a, Expression) else a


BUILDERS: dict[str, Callable[..., Scalar]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "floordiv": floordiv,
    "mod": mod,
    "truediv": truediv,
    "neg": neg,
    "min": minimum,
    "max": maximum,
    "eq": lambda a, b: compare("eq", a, b),
    "ne": lambda a, b: compare("ne", a, b),
    "lt": lambda a, b: compare("lt", a, b),
    "le": lambda a, b: compare("le", a, b),
    "and": logical_and,
    "or": logical_or,
    "not": logical_not,
    "select": select,
    "float": lambda a: apply("float", a),
    "int": lambda a: apply("int", a),
}

_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/"}
_INFIX |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "and": "and", "or": "or"}


def text(a: Scalar, name: Callable[[Symbol], str] = lambda s: s.name) -> str:
    """Program text of an expression: Python syntax, fully parenthesised, ``min(a, b)``, ``select(c, a, b)``."""
    done: dict[Expression, str] = {}

    def part(x: Scalar) -> str:
        if isinstance(x, Symbol):
            return name(x)
        return done[x] if isinstance(x, Expression) else repr(x)

    for node in children_first(a):
        done[node] = _text_of(node, [part(x) for x in node.arguments])
    return part(a)


def _text_of(a: Apply, parts: list[str]) -> str:
    if a.function in _INFIX:
        return f"({parts[0]} {_INFIX[a.function]} {parts[1]})"
    if a.function in ("neg", "not"):
        return f"({'-' if a.function == 'neg' else 'not '}{parts[0]})"
    return f"{a.function}({', '.join(parts)})"
