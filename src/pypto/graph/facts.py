"""What is known at a place in a program: loop ranges, branch conditions, checks that have passed.

``Facts`` answers "does this always hold here?" and simplifies scalars with what it knows: inside ``for i in range(0, n)`` the
extent ``min(max(n - i, 0), 1)`` is 1. Loops, branches and checks give conditions; bounds of symbols are always used.
"""

from __future__ import annotations

from collections.abc import Iterable

from pypto.ir import symbols as ir
from pypto.ir.program import If, Loop
from pypto.ir.satisfy import check, proves
from pypto.ir.simplify_symbols import simplify, size_of
from pypto.ir.symbols import Apply, Expression, Scalar, Symbol

LARGEST = 80  # parts of an expression that is looked into; larger ones stay as they are
MOST_CONDITIONS = 40  # that one question looks at; the nearest come first


class Facts:
    """Conditions that hold here. ``inside`` makes the facts of an inner block; ``learn`` adds a condition from here on."""

    def __init__(self, outer: Facts | None = None) -> None:
        self.by_symbol: dict[Symbol, tuple[Scalar, ...]] = dict(outer.by_symbol) if outer else {}
        self.known: dict[Scalar, bool] = {}
        self.simple: dict[Expression, Scalar] = {}
        self.contradictory: bool = outer.contradictory if outer else False

    def inside(self, conditions: Iterable[Scalar]) -> Facts:
        inner = Facts(self)
        for condition in conditions:
            inner.learn(condition)
        return inner

    def inside_loop(self, loop: Loop) -> Facts:
        return self.inside(range_conditions(loop.index, loop.start, loop.stop, loop.step))

    def inside_branch(self, branch: If, taken: bool) -> Facts:
        return self.inside([branch.condition if taken else ir.logical_not(branch.condition)])

    def learn(self, condition: Scalar) -> None:
        simple = simplify(condition)
        if not isinstance(simple, Expression):
            self.contradictory = self.contradictory or not simple
            return
        for part in conjuncts(simple):
            for symbol in ir.symbols_in(part):
                self.by_symbol[symbol] = (*self.by_symbol.get(symbol, ()), part)
        self.known.clear()
        self.simple.clear()

    def relevant(self, about: Scalar) -> list[Scalar]:
        """Conditions that share symbols with ``about``, and with those conditions, and so on."""
        found: dict[Scalar, None] = {}
        pending, seen = list(ir.symbols_in(about)), set()
        while pending and len(found) < MOST_CONDITIONS:
            symbol = pending.pop(0)
            if symbol in seen:
                continue
            seen.add(symbol)
            for condition in reversed(self.by_symbol.get(symbol, ())):
                if condition not in found:
                    found[condition] = None
                    pending.extend(ir.symbols_in(condition))
        return list(found)[:MOST_CONDITIONS]

    def proves(self, condition: Scalar) -> bool:
        """Whether ``condition`` holds whenever this place is reached. False means: not proven."""
        wanted = simplify(condition)
        if not isinstance(wanted, Expression):
            return bool(wanted)
        if wanted not in self.known:
            self.known[wanted] = proves(self.relevant(wanted), wanted)
        return self.known[wanted]

    def impossible(self) -> bool:
        """Whether this place is certainly never reached."""
        conditions = {c: None for parts in self.by_symbol.values() for c in parts}
        return self.contradictory or check(list(conditions)[-MOST_CONDITIONS:]) == "UNSAT"

    def simplify(self, a: Scalar) -> Scalar:
        """``a`` in a simpler form that is equal here."""
        simple = simplify(a)
        if not isinstance(simple, Apply) or not self.by_symbol or size_of(simple, LARGEST) >= LARGEST:
            return simple
        if simple not in self.simple:
            self.simple[simple] = self._decided(simple)
        return self.simple[simple]

    def _decided(self, a: Apply) -> Scalar:
        """Minima, maxima and comparisons whose outcome is known here are replaced by it, inside out."""
        if not self.relevant(a):
            return a
        arguments = [self.simplify(x) for x in a.arguments]
        rebuilt = a
        if any(x is not y for x, y in zip(arguments, a.arguments, strict=True)):
            changed = simplify(ir.BUILDERS[a.function](*arguments))
            if not isinstance(changed, Apply):
                return changed
            rebuilt = changed
        if any(ir.kind_of(x) == "float" for x in rebuilt.arguments):
            return rebuilt
        rule = {"min": self._smaller, "max": self._larger, "select": self._chosen}.get(rebuilt.function)
        if rule is not None:
            return rule(rebuilt)
        return self._truth(rebuilt) if rebuilt.kind == "bool" else rebuilt

    def _smaller(self, a: Apply) -> Scalar:
        left, right = a.arguments
        if self.proves(ir.compare("le", left, right)):
            return left
        return right if self.proves(ir.compare("le", right, left)) else a

    def _larger(self, a: Apply) -> Scalar:
        left, right = a.arguments
        if self.proves(ir.compare("le", left, right)):
            return right
        return left if self.proves(ir.compare("le", right, left)) else a

    def _chosen(self, a: Apply) -> Scalar:
        condition, left, right = a.arguments
        return left if condition is True else right if condition is False else a

    def _truth(self, a: Apply) -> Scalar:
        if self.proves(a):
            return True
        return False if self.proves(ir.logical_not(a)) else a


def conjuncts(condition: Scalar) -> list[Scalar]:
    if isinstance(condition, Apply) and condition.function == "and":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def range_conditions(index: Symbol, start: Scalar, stop: Scalar, step: Scalar) -> list[Scalar]:
    """What holds for the index inside ``for index in range(start, stop, step)``."""
    if isinstance(step, Expression):
        low, high = ir.bounds_of(step)
        up, down = low > 0, high < 0
    else:
        up, down = step > 0, step < 0
    conditions: list[Scalar] = []
    if up:
        conditions = [ir.compare("le", start, index), ir.compare("lt", index, stop)]
    elif down:
        conditions = [ir.compare("le", index, start), ir.compare("lt", stop, index)]
    if isinstance(step, int) and abs(step) > 1:
        conditions.append(ir.compare("eq", ir.mod(ir.sub(index, start), abs(step)), 0))
    return conditions


def trip_count(loop: Loop) -> Scalar | None:
    """How often the body runs, when the step is a number."""
    step = loop.step
    if not isinstance(step, int) or step == 0:
        return None
    distance = ir.sub(loop.stop, loop.start) if step > 0 else ir.sub(loop.start, loop.stop)
    return simplify(ir.maximum(ir.floordiv(ir.add(distance, abs(step) - 1), abs(step)), 0))


def index_bounds(loop: Loop) -> tuple[float, float]:
    """Bounds that the range gives the index; low above high means that the body never runs."""
    (start_low, start_high), (stop_low, stop_high) = ir.bounds_of(loop.start), ir.bounds_of(loop.stop)
    step_low, step_high = ir.bounds_of(loop.step)
    if step_low > 0:
        return start_low, stop_high - 1
    return (stop_low + 1, start_high) if step_high < 0 else (min(start_low, stop_low + 1), max(start_high, stop_high - 1))
