"""Can these conditions hold together? Does this one follow from those?

Conditions are scalar expressions (``ir/symbols.py``) over integers. ``check`` answers as tensor API section 5.3 asks;
``proves`` is what the passes use. Both know what a ``min``, a quotient or a remainder implies, and try the cases of a ``min``,
``max``, ``or`` or ``select`` one by one, up to a limit. Certain when they say UNSAT or True, honest when they do not know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pypto.ir import symbols as ir
from pypto.ir.examples import example
from pypto.ir.integers import Row, infeasible
from pypto.ir.simplify_symbols import operands_of, simplify
from pypto.ir.sums import Key, Sum, difference, sum_of
from pypto.ir.symbols import Apply, Expression, Scalar

MOST_CASES = 24  # case distinctions tried before giving up
MOST_ATOMS = 96  # minima, quotients … whose meaning is looked into

Case = tuple[Scalar, ...]


@dataclass
class System:
    """A conjunction taken apart into rows; ``choices`` are disjunctions still to be tried case by case."""

    zero: list[Row] = field(default_factory=list)
    not_negative: list[Row] = field(default_factory=list)
    not_zero: list[Row] = field(default_factory=list)
    choices: list[tuple[Case, ...]] = field(default_factory=list)
    known: set[Scalar] = field(default_factory=set)
    numbers: dict[Key, int] = field(default_factory=dict)  # of the variables
    keep: list[Sum] = field(default_factory=list)  # holds the atoms whose identities are the keys
    pending: list[Scalar] = field(default_factory=list)  # atoms still to be looked into

    def extended(self, conditions: Iterable[Scalar]) -> System:
        rows = list(self.zero), list(self.not_negative), list(self.not_zero)
        copy = System(*rows, list(self.choices), set(self.known), dict(self.numbers), list(self.keep))
        for condition in conditions:
            copy.require(condition)
        while copy.pending:
            copy.understand(copy.pending.pop(0))
        return copy

    def require(self, condition: Scalar) -> None:
        """Add one condition (already simplified)."""
        if not isinstance(condition, Expression):
            if not condition:
                self.zero.append(Row(1))
            return
        if isinstance(condition, Apply):
            rule = _REQUIRE.get(condition.function)
            if rule is not None and all(ir.kind_of(x) != "float" for x in condition.arguments):
                rule(self, condition)
                return
        if condition.kind == "bool":
            self.row(self.zero, difference(condition, 1))
        elif condition.kind == "int":
            self.row(self.not_zero, sum_of(condition))

    def row(self, into: list[Row], total: Sum) -> None:
        self.keep.append(total)
        numbered = {self.numbers.setdefault(key, len(self.numbers)): c for key, (c, _) in total.terms.items()}
        into.append(Row(total.constant, numbered))
        for _, atoms in list(total.terms.values()):
            for atom in atoms:
                if atom not in self.known and len(self.known) < MOST_ATOMS:
                    self.known.add(atom)
                    self.pending.append(atom)

    def at_least(self, a: Scalar, b: Scalar) -> None:
        self.row(self.not_negative, difference(a, b))

    def understand(self, atom: Scalar) -> None:
        """Add what is always true of an atom."""
        low, high = ir.bounds_of(atom)
        if math.isfinite(low):
            self.at_least(atom, int(low))
        if math.isfinite(high):
            self.at_least(int(high), atom)
        if isinstance(atom, Apply) and atom.kind != "float" and atom.function in _MEANING:
            _MEANING[atom.function](self, atom)


# -- conditions --------------------------------------------------------------------------------------------------------------


def _require_not(system: System, condition: Apply) -> None:
    (a,) = condition.arguments
    system.row(system.zero, sum_of(a))


def _require_or(system: System, condition: Apply) -> None:
    system.choices.append(tuple((x,) for x in operands_of("or", condition)))


def _require_and(system: System, condition: Apply) -> None:
    for x in condition.arguments:
        system.require(x)


_REQUIRE: dict[str, Callable[[System, Apply], None]] = {
    "eq": lambda s, c: s.row(s.zero, difference(c.arguments[0], c.arguments[1])),
    "ne": lambda s, c: s.row(s.not_zero, difference(c.arguments[0], c.arguments[1])),
    "le": lambda s, c: s.at_least(c.arguments[1], c.arguments[0]),
    "lt": lambda s, c: s.at_least(c.arguments[1], ir.add(c.arguments[0], 1)),
    "not": _require_not,
    "or": _require_or,
    "and": _require_and,
}


# -- what atoms mean ---------------------------------------------------------------------------------------------------------


def _extremum(system: System, atom: Apply) -> None:
    a, b = atom.arguments
    if atom.function == "max":
        system.at_least(atom, a)
        system.at_least(atom, b)
        order = (ir.compare("le", b, a), ir.compare("le", a, b))
    else:
        system.at_least(a, atom)
        system.at_least(b, atom)
        order = (ir.compare("le", a, b), ir.compare("le", b, a))
    equal = (ir.apply("eq", atom, a), ir.apply("eq", atom, b))
    system.choices.append(((equal[0], order[0]), (equal[1], order[1])))


def _quotient(system: System, atom: Apply) -> None:
    a, b = atom.arguments
    if isinstance(b, int) and b > 0:
        system.at_least(a, ir.mul(atom, b))
        system.at_least(ir.add(ir.mul(atom, b), b - 1), a)


def _remainder(system: System, atom: Apply) -> None:
    a, b = atom.arguments
    if isinstance(b, int) and b > 0:
        system.row(system.zero, difference(a, ir.add(ir.mul(ir.floordiv(a, b), b), atom)))


def _select(system: System, atom: Apply) -> None:
    condition, a, b = atom.arguments
    negated = simplify(ir.logical_not(condition))
    system.choices.append(((condition, ir.apply("eq", atom, a)), (negated, ir.apply("eq", atom, b))))


_MEANING: dict[str, Callable[[System, Apply], None]] = {
    "min": _extremum,
    "max": _extremum,
    "floordiv": _quotient,
    "mod": _remainder,
    "select": _select,
}


# -- answers -----------------------------------------------------------------------------------------------------------------


def _contradictory(system: System, cases_left: list[int]) -> bool:
    if infeasible(system.zero, system.not_negative, system.not_zero):
        return True
    while system.choices and cases_left[0] > 0:
        choice = system.choices.pop()
        cases_left[0] -= len(choice)
        open_cases = []
        for case in choice:
            extended = system.extended(map(simplify, case))
            if not infeasible(extended.zero, extended.not_negative, extended.not_zero):
                open_cases.append(extended)
        if not open_cases:
            return True
        if len(open_cases) > 1:
            return all(_contradictory(case, cases_left) for case in open_cases)
        system = open_cases[0]
    return False


def check(conditions: Sequence[Scalar]) -> str:
    """``"UNSAT"`` (certain), ``"SAT"`` (certain: nothing is left to satisfy) or ``"UNKNOWN"``.

    >>> x = ir.Symbol("x")
    >>> check([ir.compare("gt", x, 5), ir.compare("lt", x, 6)]), check([]), check([ir.compare("gt", x, 5)])
    ('UNSAT', 'SAT', 'UNKNOWN')
    """
    simple = [simplify(condition) for condition in conditions]
    if any(ir.is_constant(condition) and not condition for condition in simple):
        return "UNSAT"
    simple = [condition for condition in simple if not ir.is_constant(condition)]
    if not simple:
        return "SAT"
    return "UNSAT" if _contradictory(System().extended(simple), [MOST_CASES]) else "UNKNOWN"


def proves(assumptions: Sequence[Scalar], condition: Scalar) -> bool:
    """Whether ``condition`` follows from ``assumptions``. False means: not proven.

    >>> i, n = ir.Symbol("i"), ir.Symbol("n")
    >>> proves([ir.compare("lt", i, ir.floordiv(n, 16))], ir.compare("le", ir.add(ir.mul(i, 16), 16), n))
    True
    """
    wanted = simplify(condition)
    if ir.is_constant(wanted):
        return bool(wanted)
    conditions = [simplify(c) for c in (*assumptions, ir.logical_not(wanted))]
    if any(ir.is_constant(c) and not c for c in conditions):
        return True
    if example(conditions) is not None:  # most of what is asked does not hold, and an example is found sooner than a search ends
        return False
    return _contradictory(System().extended(conditions), [MOST_CASES])
