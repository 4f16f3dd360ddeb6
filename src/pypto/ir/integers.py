"""Systems of linear equations and inequalities over the integers: can they all hold?

``infeasible`` is certain when it says yes. Equations are eliminated exactly (unimodular substitutions, so that a gcd that
does not divide is found); inequalities are tightened to integers and eliminated one variable at a time until a contradiction
shows or the system grows beyond a fixed size. Variables are numbers, so that the way taken never depends on addresses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

LARGEST_SYSTEM = 160  # rows while eliminating; larger ones are left undecided

Variable = int  # callers use 0, 1, 2 …; fresh ones are negative
Part = frozenset[tuple[Variable, int]]


@dataclass(frozen=True)
class Row:
    """``constant + sum(coefficient * variable)``; no coefficient is zero."""

    constant: int
    terms: Mapping[Variable, int] = field(default_factory=dict)

    def plus(self, other: Row, factor: int = 1) -> Row:
        terms = dict(self.terms)
        for variable, coefficient in other.terms.items():
            total = terms.get(variable, 0) + factor * coefficient
            if total:
                terms[variable] = total
            else:
                terms.pop(variable, None)
        return Row(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Row:
        return Row(self.constant * factor, {v: c * factor for v, c in self.terms.items()})

    def replaced(self, variable: Variable, by: Row) -> Row:
        coefficient = self.terms.get(variable, 0)
        if not coefficient:
            return self
        rest = {v: c for v, c in self.terms.items() if v != variable}
        return Row(self.constant, rest).plus(by, coefficient)


class Contradiction(Exception):
    """Found while solving; never leaves this module."""


def infeasible(zero: Iterable[Row], not_negative: Iterable[Row], not_zero: Iterable[Row] = ()) -> bool:
    """Whether no integers make every row of ``zero`` 0, of ``not_negative`` ≥ 0 and of ``not_zero`` different from 0."""
    try:
        replacements = _solve(list(zero))
        rows = [_tight(_replace(row, replacements)) for row in not_negative]
        excluded = [_replace(row, replacements) for row in not_zero]
        if any(not row.terms and row.constant == 0 for row in excluded):
            return True
        rows = _parallel(rows, excluded)
        _eliminate(rows)
    except Contradiction:
        return True
    return False


def _replace(row: Row, replacements: list[tuple[Variable, Row]]) -> Row:
    for variable, by in replacements:
        row = row.replaced(variable, by)
    return row


# -- equations -----------------------------------------------------------------------------------------------------------------


def _solve(equations: list[Row]) -> list[tuple[Variable, Row]]:
    """Substitutions, to be applied in order, that make every equation true."""
    replacements: list[tuple[Variable, Row]] = []
    fresh = itertools.count(-1, -1)
    for equation in equations:
        row = _replace(equation, replacements)
        while row.terms:
            variable, by = _step(row, fresh)
            replacements.append((variable, by))
            row = row.replaced(variable, by)
        if row.constant:
            raise Contradiction
    return replacements


def _step(row: Row, fresh: Iterator[int]) -> tuple[Variable, Row]:
    """One substitution that removes a variable, or makes the coefficients smaller by a change of variable."""
    common = math.gcd(*row.terms.values())
    if row.constant % common:
        raise Contradiction
    variable, smallest = min(row.terms.items(), key=lambda item: abs(item[1]))
    rest = Row(row.constant, {v: c for v, c in row.terms.items() if v != variable})
    quotient = Row(-(rest.constant // smallest), {v: -(c // smallest) for v, c in rest.terms.items() if c // smallest})
    if all(c % smallest == 0 for c in rest.terms.values()) and rest.constant % smallest == 0:
        return variable, quotient
    return variable, quotient.plus(Row(0, {next(fresh): 1}))


# -- inequalities --------------------------------------------------------------------------------------------------------------


def _tight(row: Row) -> Row:
    """The same integer solutions with the coefficients divided by their gcd and the constant rounded down."""
    if not row.terms:
        if row.constant < 0:
            raise Contradiction
        return row
    common = math.gcd(*row.terms.values())
    return row if common == 1 else Row(row.constant // common, {v: c // common for v, c in row.terms.items()})


def _direction(row: Row) -> tuple[Part, int]:
    """The symbolic part up to sign, and the sign."""
    sign = 1 if row.terms[min(row.terms)] > 0 else -1
    return frozenset((v, c * sign) for v, c in row.terms.items()), sign


def _parallel(rows: list[Row], excluded: list[Row]) -> list[Row]:
    """One interval per symbolic part, shrunk by the excluded points; back as rows."""
    low: dict[Part, int] = {}
    high: dict[Part, int] = {}
    for row in rows:
        if row.terms:
            part, sign = _direction(row)
            if sign > 0:  # part + constant >= 0
                low[part] = max(low.get(part, -row.constant), -row.constant)
            else:  # -part + constant >= 0
                high[part] = min(high.get(part, row.constant), row.constant)
    _exclude(low, high, excluded)
    for part in low.keys() & high.keys():
        if low[part] > high[part]:
            raise Contradiction
    result = [Row(-bound, dict(part)) for part, bound in low.items()]
    return result + [Row(bound, {v: -c for v, c in part}) for part, bound in high.items()]


def _exclude(low: dict[Part, int], high: dict[Part, int], excluded: list[Row]) -> None:
    points: dict[Part, set[int]] = {}
    for row in excluded:
        if not row.terms:
            continue
        common = math.gcd(*row.terms.values())
        if row.constant % common:
            continue
        part, sign = _direction(Row(row.constant // common, {v: c // common for v, c in row.terms.items()}))
        points.setdefault(part, set()).add(-sign * (row.constant // common))
    for part, values in points.items():
        while low.get(part) in values:
            low[part] += 1
            if part in high and low[part] > high[part]:
                raise Contradiction
        while high.get(part) in values:
            high[part] -= 1


def _eliminate(rows: list[Row]) -> None:
    """Eliminate variables; raises ``Contradiction`` when a row becomes false."""
    while True:
        counts: dict[Variable, list[int]] = {}
        for row in rows:
            for variable, coefficient in row.terms.items():
                counts.setdefault(variable, [0, 0])[coefficient > 0] += 1
        if not counts:
            return
        variable = min(counts, key=lambda v: counts[v][0] * counts[v][1])
        if len(rows) + counts[variable][0] * counts[variable][1] > LARGEST_SYSTEM:
            return
        rows = _parallel(_combined(rows, variable), [])


def _combined(rows: list[Row], variable: Variable) -> list[Row]:
    lower = [row for row in rows if row.terms.get(variable, 0) > 0]
    upper = [row for row in rows if row.terms.get(variable, 0) < 0]
    result = [row for row in rows if variable not in row.terms]
    for a in lower:
        for b in upper:
            mixed = a.times(-b.terms[variable]).plus(b, a.terms[variable])
            result.append(_tight(mixed))
    return result
