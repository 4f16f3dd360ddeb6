"""Small numbers under which conditions hold together: the quick way to know that they do not contradict each other.

A search through few candidates per symbol, bounded and the same every time. Finding none means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pypto.ir import symbols as ir
from pypto.ir.symbols import FUNCTIONS, Apply, Expression, Number, Scalar, Symbol

MOST_SYMBOLS = 10
MOST_TRIALS = 80  # assignments of one symbol; a proof takes longer than so many
PLAIN = (7, 0, 1, 8, 3, 2, 16, 5, 64, 1000)  # where nothing else suggests a value
PER_SYMBOL = 8


def example(conditions: Sequence[Scalar]) -> dict[Symbol, int] | None:
    """Numbers that make every condition true, or None when a short search finds none.

    >>> i, n = Symbol("i"), Symbol("n")
    >>> example([ir.compare("le", 0, i), ir.compare("lt", i, n), ir.compare("le", 5, i)])
    {i: 5, n: 6}
    """
    return _Search(conditions).run()


class _Search:
    def __init__(self, conditions: Sequence[Scalar]) -> None:
        self.conditions = [c for c in conditions if isinstance(c, Expression)]
        self.possible = all(isinstance(c, Expression) or c for c in conditions)
        self.symbols_of = [frozenset(ir.symbols_in(c)) for c in self.conditions]
        self.hints: dict[Symbol, list[tuple[Scalar, frozenset[Symbol], int]]] = {}
        for condition in self.conditions:
            for symbol, other, offset in _hints(condition):
                self.hints.setdefault(symbol, []).append((other, frozenset(ir.symbols_in(other)), offset))
        self.multiples = dict(found for c in self.conditions for found in _multiple(c))
        self.order = self.ordered(list(dict.fromkeys(symbol for c in self.conditions for symbol in ir.symbols_in(c))))
        self.trials = MOST_TRIALS

    def ordered(self, symbols: list[Symbol]) -> list[Symbol]:
        """The one that bounds most others first, then always the one that most is known about."""
        order: list[Symbol] = []
        needs = {s: [needed for _, needed, _ in self.hints.get(s, ())] for s in symbols}
        bounding = {s: sum(s in needed for other in symbols for needed in needs[other]) for s in symbols}
        while len(order) < len(symbols):
            known = frozenset(order)
            rest = [s for s in symbols if s not in known]
            order.append(max(rest, key=lambda s: (sum(n <= known for n in needs[s]), bounding[s])))
        return order

    def run(self) -> dict[Symbol, int] | None:
        whole = all(symbol.kind == "int" for symbol in self.order)
        if not self.possible or not whole or len(self.order) > MOST_SYMBOLS:
            return None
        return self.search({})

    def search(self, chosen: dict[Symbol, int]) -> dict[Symbol, int] | None:
        if len(chosen) == len(self.order):
            return chosen
        symbol = self.order[len(chosen)]
        for value in self.candidates(symbol, chosen):
            self.trials -= 1
            if self.trials < 0:
                return None
            extended = {**chosen, symbol: value}
            if self.holds(symbol, extended):
                found = self.search(extended)
                if found is not None:
                    return found
        return None

    def candidates(self, symbol: Symbol, chosen: Mapping[Symbol, int]) -> list[int]:
        """Values on the edge of what the comparisons with known numbers allow, then plain ones."""
        suggested = []
        for other, needed, offset in self.hints.get(symbol, ()):
            if needed <= chosen.keys():
                value = _value(other, dict(chosen.items()))
                if value is not None:
                    suggested.append(int(value) + offset)
        low, high = symbol.bounds
        step = self.multiples.get(symbol, 1)
        rounded = [near for v in [*suggested, *PLAIN] for near in dict.fromkeys((v // step * step, -(-v // step) * step))]
        return [v for v in dict.fromkeys(rounded) if low <= v <= high][:PER_SYMBOL]

    def holds(self, symbol: Symbol, chosen: Mapping[Symbol, int]) -> bool:
        """Whether no condition that is decided by now, and was not before, fails."""
        known: dict[Expression, Number | None] = dict(chosen.items())
        for condition, needed in zip(self.conditions, self.symbols_of, strict=True):
            if symbol in needed and needed <= chosen.keys() and not _value(condition, known):
                return False
        return True


def _hints(condition: Scalar) -> Iterator[tuple[Symbol, Scalar, int]]:
    """``(symbol, expression, offset)``: the symbol may be the expression plus the offset, as far as this comparison goes."""
    if not isinstance(condition, Apply) or condition.function not in ("le", "lt", "eq"):
        return
    left, right = condition.arguments
    strict = int(condition.function == "lt")
    if isinstance(left, Symbol):
        yield left, right, -strict
    if isinstance(right, Symbol):
        yield right, left, strict


def _multiple(condition: Scalar) -> Iterator[tuple[Symbol, int]]:
    """``(symbol, n)`` when the condition says that the symbol is a multiple of n."""
    if isinstance(condition, Apply) and condition.function == "eq" and condition.arguments[1] == 0:
        remainder = condition.arguments[0]
        if isinstance(remainder, Apply) and remainder.function == "mod":
            symbol, divisor = remainder.arguments
            if isinstance(symbol, Symbol) and isinstance(divisor, int) and divisor > 0:
                yield symbol, divisor


def _value(a: Scalar, known: dict[Expression, Number | None]) -> Number | None:
    """The number ``a`` stands for; None when it has none (a division by zero somewhere)."""
    if not isinstance(a, Expression):
        return a
    for node in ir.children_first(a, known):
        arguments = [known.get(x) if isinstance(x, Expression) else x for x in node.arguments]
        try:
            known[node] = None if None in arguments else FUNCTIONS[node.function](*arguments)
        except (ArithmeticError, ValueError):
            known[node] = None
    return known.get(a)
