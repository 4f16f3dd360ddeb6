"""Equal but simpler scalar expressions.

Sums are brought into one form (``ir/sums.py``), ``min``/``max`` lose bounds that cannot matter, quotients and remainders by
constants lose what divides, comparisons cancel what both sides share, logic is absorbed. Every rule holds for all integers
(Python's ``//`` and ``%``), so a rewritten expression can stand anywhere the old one stood. Floats stay as they are written.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence

from pypto.ir import symbols as ir
from pypto.ir.sums import Sum, difference, rebuild, sum_of
from pypto.ir.symbols import Apply, Expression, Scalar

PAIRWISE_LIMIT = 8  # operands of one min/max that are compared with each other

SUMS = {"add", "sub", "neg", "mul"}

# None stands for "already simple": a value that is its own key would keep the entry alive for ever.
_known: weakref.WeakKeyDictionary[Expression, Scalar | None] = weakref.WeakKeyDictionary()


def simplify(a: Scalar) -> Scalar:
    """``a``, equal for every value of its symbols, in a simpler form.

    >>> x, y = ir.Symbol("x"), ir.Symbol("y")
    >>> simplify(ir.sub(ir.add(x, y), y)), simplify(ir.floordiv(ir.mul(x, 6), 3))
    (x, (x * 2))
    """
    if not isinstance(a, Apply):
        return a
    if a not in _known:
        try:
            _simplify_parts(a)
        except RecursionError:  # absurdly deep products: right as they are
            return a
    found = _known[a]
    return a if found is None else found


def _simplify_parts(a: Apply) -> None:
    """Simplify ``a`` and what it is made of, innermost first (expressions may be deeper than Python's stack)."""
    pending = [a]
    while pending:
        node = pending[-1]
        if node in _known:
            pending.pop()
            continue
        missing = [x for x in _parts(node) if x not in _known]
        if missing:
            pending += missing
            continue
        result = _simplify(node)
        _known[node] = None if result is node else result
        if isinstance(result, Apply):
            _known.setdefault(result, None)


def _parts(a: Apply) -> list[Apply]:
    """The applications inside ``a`` that are simplified on their own: arguments, or what a sum is made of."""
    found: dict[Apply, None] = {}
    pending: list[Scalar] = list(a.arguments)
    while pending:
        x = pending.pop()
        if isinstance(x, Apply):
            if a.function in SUMS and x.function in SUMS and x.kind == "int":
                pending += x.arguments
            else:
                found[x] = None
    return list(found)


def _simplify(a: Apply) -> Scalar:
    if any(ir.kind_of(x) == "float" for x in a.arguments) or a.kind == "float":
        return ir.BUILDERS[a.function](*map(simplify, a.arguments))
    if a.function in SUMS:
        return rebuild(sum_of(a, simplify))
    arguments = [simplify(x) for x in a.arguments]
    result = _RULES[a.function](a.function, arguments)
    return result if result is a else _again(a, result)


def _again(before: Apply, after: Scalar) -> Scalar:
    """One more round when a rule made something new; rules only ever shrink, so this ends."""
    return after if not isinstance(after, Apply) or size_of(after) >= size_of(before) else simplify(after)


def size_of(a: Scalar, limit: int = 200) -> int:
    """Number of parts of an expression, counted up to ``limit``."""
    count, stack = 0, [a]
    while stack and count < limit:
        node = stack.pop()
        count += 1
        if isinstance(node, Apply):
            stack.extend(node.arguments)
    return count


# -- min and max ---------------------------------------------------------------------------------------------------------------


def operands_of(function: str, a: Scalar) -> list[Scalar]:
    """Operands of nested applications of one function, left to right."""
    found: list[Scalar] = []
    pending = [a]
    while pending:
        x = pending.pop()
        if isinstance(x, Apply) and x.function == function:
            pending += reversed(x.arguments)
        else:
            found.append(x)
    return found


def _extremum(function: str, arguments: Sequence[Scalar]) -> Scalar:
    operands = list(dict.fromkeys(x for a in arguments for x in operands_of(function, a)))
    constants = [x for x in operands if ir.is_constant(x)]
    rest = [x for x in operands if not ir.is_constant(x)]
    rest = _absorb("max" if function == "min" else "min", rest, operands)
    if constants:
        bound = functools.reduce(ir.BUILDERS[function], constants)
        rest = list(dict.fromkeys(_relax(function, x, bound) for x in rest))
        rest = [x for a in rest for x in operands_of(function, a)]
        rest.append(bound)
    if len(rest) <= PAIRWISE_LIMIT:
        rest = _undominated(function, rest)
    return _shared_out(function, rest)


def _absorb(opposite: str, operands: list[Scalar], among: list[Scalar]) -> list[Scalar]:
    """``min(max(x, y), y) = y``: an operand that is an ``opposite`` of another operand never decides."""
    return [x for x in operands if not any(y is o for o in among for y in operands_of(opposite, x) if y is not x)]


def _undominated(function: str, operands: list[Scalar]) -> list[Scalar]:
    """Leave out operands that another one beats for every value of the symbols."""
    kept: list[Scalar] = []
    for x in operands:
        if any(_beats(function, k, x) for k in kept):
            continue
        kept = [k for k in kept if not _beats(function, x, k)] + [x]
    return kept


def _beats(function: str, winner: Scalar, loser: Scalar) -> bool:
    gap = difference(loser, winner) if function == "min" else difference(winner, loser)
    return ir.bounds_of(rebuild(gap))[0] >= 0


def _relax(function: str, a: Scalar, bound: Scalar, shift: int = 0) -> Scalar:
    """A simpler ``b`` with ``function(b + shift, bound) == function(a + shift, bound)``: inner bounds that cannot matter go.

    ``min(max(min(x, 512) - 16, 0), 16)``: whatever the 512 cuts off, the 16 cuts off too.
    """
    opposite = "max" if function == "min" else "min"
    total = sum_of(a)
    if total.constant and len(total.terms) == 1 and total.coefficients() == [1]:
        inner = rebuild(total.without_constant())
        return ir.add(_relax(function, inner, bound, shift + total.constant), total.constant)
    if isinstance(a, Apply) and a.function == function:
        useful = [x for x in operands_of(function, a) if not _useless(function, x, bound, shift)]
        return _join(function, [_relax(function, x, bound, shift) for x in useful] or [a])
    if isinstance(a, Apply) and a.function == opposite:
        return _join(opposite, [_relax(function, x, bound, shift) for x in operands_of(opposite, a)])
    return a


def _useless(function: str, a: Scalar, bound: Scalar, shift: int) -> bool:
    if not ir.is_constant(a):
        return False
    return a + shift >= bound if function == "min" else a + shift <= bound  # type: ignore[operator]


def _join(function: str, operands: Sequence[Scalar]) -> Scalar:
    return functools.reduce(ir.BUILDERS[function], operands)


def _shared_out(function: str, operands: list[Scalar]) -> Scalar:
    """``min(x + y, x + z) = x + min(y, z)``."""
    sums = [sum_of(x) for x in operands]
    shared = Sum()
    if len(sums) > 1:
        for key, (coefficient, atoms) in sums[0].terms.items():
            if all(s.terms.get(key, (0, ()))[0] == coefficient for s in sums[1:]):
                shared.add_term(coefficient, atoms)
    if not shared.terms:
        return _join(function, operands)
    rest = [rebuild(s.add(shared, -1)) for s in sums]
    constants = [x for x in rest if ir.is_constant(x)]
    inner = _join(function, [x for x in rest if not ir.is_constant(x)] + constants)
    return rebuild(sum_of(inner).add(shared) if ir.is_constant(inner) else shared.add(sum_of(inner)))


# -- quotient and remainder ----------------------------------------------------------------------------------------------------


def _quotient(function: str, arguments: Sequence[Scalar]) -> Scalar:
    a, b = arguments
    if not isinstance(b, int) or isinstance(b, bool) or b == 0:
        return ir.floordiv(a, b)
    total = sum_of(a)
    if b < 0:
        return _quotient(function, [rebuild(total.map(lambda c: -c)), -b])
    whole, rest = _split(total, b)
    common = math.gcd(rest.gcd(), b)
    if common > 1:
        rest = rest.map(lambda c: c // common)  # floors the constant, which is what the identity asks for
    return rebuild(whole.add(sum_of(_small_quotient(rebuild(rest), b // common))))


def _split(total: Sum, divisor: int) -> tuple[Sum, Sum]:
    """``total = divisor * whole + rest``; the constant of the rest lies in 0 … divisor - 1."""
    whole, rest = Sum(total.constant // divisor), Sum(total.constant % divisor)
    for coefficient, atoms in total.terms.values():
        if coefficient % divisor == 0:
            whole.add_term(coefficient // divisor, atoms)
        else:
            rest.add_term(coefficient, atoms)
    return whole, rest


def _small_quotient(a: Scalar, b: int) -> Scalar:
    low, high = ir.bounds_of(a)
    if b == 1:
        return a
    if math.isfinite(low) and math.isfinite(high) and low // b == high // b:
        return int(low // b)
    if isinstance(a, Apply) and a.function == "floordiv" and isinstance(a.arguments[1], int) and a.arguments[1] > 0:
        return ir.floordiv(a.arguments[0], a.arguments[1] * b)
    return ir.floordiv(a, b)


def _remainder(function: str, arguments: Sequence[Scalar]) -> Scalar:
    a, b = arguments
    if not isinstance(b, int) or isinstance(b, bool) or b <= 0:
        return ir.mod(a, b)
    _, rest = _split(sum_of(a), b)
    inner = rebuild(rest)
    if isinstance(inner, Apply) and inner.function == "mod" and isinstance(inner.arguments[1], int):
        if inner.arguments[1] % b == 0 and inner.arguments[1] > 0:
            return ir.mod(inner.arguments[0], b)
    low, high = ir.bounds_of(inner)
    return inner if 0 <= low and high < b else ir.mod(inner, b)


# -- comparisons ---------------------------------------------------------------------------------------------------------------


def _comparison(function: str, arguments: Sequence[Scalar]) -> Scalar:
    a, b = arguments
    if ir.kind_of(a) == "bool" and isinstance(b, int) and function in ("eq", "ne"):
        if int(b) in (0, 1):
            return a if bool(b) == (function == "eq") else _not("not", [a])
    gap = difference(a, b)
    common = gap.gcd()
    if common == 0:
        return ir.FUNCTIONS[function](gap.constant, 0)
    if function in ("eq", "ne") and gap.constant % common:
        return function == "ne"
    low, high = ir.bounds_of(rebuild(gap))
    decided = ir.compare(function, low, 0) if low == high else _by_bounds(function, low, high)
    if decided is not None:
        return decided
    # common * T + c < 0  is  T + floor(c / common) < 0;  for <= it is the ceiling; for == it divides.
    bound = -(-gap.constant // common) if function == "le" else gap.constant // common
    left, right = _sides(gap, common, bound)
    return ir.compare(function, left, right)


def _by_bounds(function: str, low: float, high: float) -> Scalar | None:
    """Truth of ``gap <function> 0`` for a gap between ``low`` and ``high``, or None."""
    if function == "lt" and (high < 0 or low >= 0):
        return high < 0
    if function == "le" and (high <= 0 or low > 0):
        return high <= 0
    if function in ("eq", "ne") and (high < 0 or low > 0):
        return function == "ne"
    return None


def _sides(gap: Sum, common: int, constant: int) -> tuple[Scalar, Scalar]:
    """``gap / common + constant`` against 0, with everything positive on its own side."""
    left, right = Sum(), Sum()
    for coefficient, atoms in gap.terms.values():
        (left if coefficient > 0 else right).add_term(abs(coefficient) // common, atoms)
    if not right.terms or (left.terms and constant < 0):
        right.constant = -constant
    else:
        left.constant = constant
    return rebuild(left), rebuild(right)


# -- logic ---------------------------------------------------------------------------------------------------------------------

_FLIPPED = {"eq": "ne", "ne": "eq"}


def _not(function: str, arguments: Sequence[Scalar]) -> Scalar:
    (a,) = arguments
    if not isinstance(a, Apply):
        return ir.logical_not(a)
    integers = all(ir.kind_of(x) != "float" for x in a.arguments)
    if a.function in _FLIPPED and integers:
        return ir.compare(_FLIPPED[a.function], *a.arguments)
    if a.function in ("lt", "le") and integers:  # not so for floats: NaN
        return ir.compare("le" if a.function == "lt" else "lt", a.arguments[1], a.arguments[0])
    if a.function in ("and", "or"):
        inner = [_not("not", [x]) for x in a.arguments]
        return _logic("or" if a.function == "and" else "and", inner)
    return ir.logical_not(a)


def _logic(function: str, arguments: Sequence[Scalar]) -> Scalar:
    neutral = function == "and"
    operands = list(dict.fromkeys(x for a in arguments for x in operands_of(function, a)))
    if any(ir.is_constant(x) and bool(x) != neutral for x in operands):
        return not neutral
    operands = [x for x in operands if not ir.is_constant(x)]
    if any(_not("not", [x]) is y for x in operands for y in operands):
        return not neutral
    operands = _absorb("or" if neutral else "and", operands, operands)
    if not operands:
        return neutral
    if len(operands) == 1:
        return ir.truth(operands[0])
    return functools.reduce(lambda x, y: ir.apply(function, x, y), operands)


def _select(function: str, arguments: Sequence[Scalar]) -> Scalar:
    condition, a, b = arguments
    if isinstance(condition, Apply) and condition.function == "not":
        return _select(function, [ir.truth(condition.arguments[0]), b, a])
    if a is True and b is False:
        return ir.truth(condition)
    return ir.select(condition, a, b)


def _rebuilt(function: str, arguments: Sequence[Scalar]) -> Scalar:
    if function == "int" and ir.kind_of(arguments[0]) == "int":
        return arguments[0]
    return ir.BUILDERS[function](*arguments)


_RULES: dict[str, Callable[[str, Sequence[Scalar]], Scalar]] = {
    **dict.fromkeys(("min", "max"), _extremum),
    **dict.fromkeys(("eq", "ne", "lt", "le"), _comparison),
    **dict.fromkeys(("and", "or"), _logic),
    **dict.fromkeys(("int", "float", "truediv"), _rebuilt),
    "floordiv": _quotient,
    "mod": _remainder,
    "not": _not,
    "select": _select,
}
