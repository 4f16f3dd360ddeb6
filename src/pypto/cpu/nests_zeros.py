"""Which values of a nest may lose the sign of a zero: those that are never -0, and those whose zeros look alike to all who use them.

x*x        never -0                          (x*y + 1.5)   a sum with a number that is not 0 has no -0 and does not see its sign
x - y      under exp: exp(-0) is exp(0)      x * y         stored: its sign is seen
"""

from __future__ import annotations

import math

from pypto.cpu.nest_terms import rounded_number
from pypto.cpu.nests import Apply, Constant, Nest, Reduce, Store, Term
from pypto.ir.symbols import Expression

_POSITIVE = frozenset({"exp", "exp2", "sigmoid", "abs"})
_BLIND = frozenset({"exp", "exp2", "sigmoid", "eq", "ne", "lt", "le", "gt", "ge"})  # what they give is the same for both zeros
_PASSING = frozenset(
    {"add", "sub", "mul", "neg", "maximum", "minimum", "cast"}
)  # the sign shows only as the sign of a zero result


def signless(nest: Nest) -> set[int]:
    """``id`` of the terms that may be +0 where they should be -0 without anything that is stored being different."""
    needed = nest.needed()
    signs = _Signs()
    for term in needed:
        signs.learn(term)
    users: dict[int, list[Term | Store]] = {id(term): [] for term in needed}
    for term in needed:
        for operand in term.operands:
            users[id(operand)].append(term)
    for store in nest.stores:
        users[id(store.term)].append(store)
    free: set[int] = set()
    for term in reversed(needed):
        if all(signs.blind(user, term, free) for user in users[id(term)]):
            free.add(id(term))
    return free | signs.plain


class _Signs:
    """``plain``: terms that are never -0. ``positive``: terms without a minus sign (NaNs aside)."""

    def __init__(self) -> None:
        self.plain: set[int] = set()
        self.positive: set[int] = set()

    def learn(self, term: Term) -> None:
        if self._is_positive(term):
            self.positive.add(id(term))
        if id(term) in self.positive or self._is_plain(term):
            self.plain.add(id(term))

    def _is_positive(self, term: Term) -> bool:
        if isinstance(term, Constant):
            return _number(term) >= 0 and math.copysign(1, _number(term)) > 0
        if not isinstance(term, Apply) or not term.dtype.is_float:
            return False
        if term.name in _POSITIVE or term.name == "mul" and _square(term):
            return True
        both = all(id(t) in self.positive for t in term.arguments)
        return both and term.name in ("add", "mul", "div", "cast") and bool(term.arguments)

    def _is_plain(self, term: Term) -> bool:
        if isinstance(term, Constant):
            return _number(term) != 0 and not math.isnan(_number(term))
        if not isinstance(term, Apply) or not term.dtype.is_float:
            return False
        known = [id(t) in self.plain for t in term.arguments]
        return {"add": any(known), "sub": known[:1] == [True], "cast": known == [True]}.get(term.name, False)

    def blind(self, user: Term | Store, term: Term, free: set[int]) -> bool:
        """Whether ``user`` shows nothing of the sign of a zero ``term``; ``free`` are users for whom that is known."""
        if isinstance(user, Reduce):
            return user.combine == "add"  # sums start from +0
        if not isinstance(user, Apply):
            return False
        if user.name in _BLIND or user.name == "mul" and _square(user):
            return True
        shown = user.name in _PASSING or user.name == "div" and term is not user.arguments[-1]
        if shown and user.dtype.is_float and id(user) in free:
            return True
        return user.name in ("add", "sub") and not _square(user) and self._absorbs(user, term)

    def _absorbs(self, user: Apply, term: Term) -> bool:
        """``0 + y`` and ``y - 0`` with y never -0; ``0 - y`` only with y never 0."""
        first, second = user.arguments
        other = second if first is term else first
        if user.name == "sub" and first is term:
            return isinstance(other, Constant) and _number(other) != 0 and not math.isnan(_number(other))
        return id(other) in self.plain


def _square(term: Apply) -> bool:
    return len(term.arguments) == 2 and term.arguments[0] is term.arguments[1]


def _number(term: Constant) -> float:
    """A constant as its type holds it, NaN when it is not known before the kernel runs."""
    if isinstance(term.value, Expression):
        return math.nan
    return float(rounded_number(term.value, term.dtype))
