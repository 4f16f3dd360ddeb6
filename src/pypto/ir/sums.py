"""Integer expressions as sums: ``coefficient * product of atoms`` plus a constant.

An *atom* is anything that is not a sum, a difference or a product: a symbol, a ``min``, a quotient, a comparison. Two expressions
that are equal by the laws of addition and multiplication have the same sum, whatever way they were written. The order of
first appearance is kept, so that rebuilding gives the same text on every run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pypto.ir import symbols as ir
from pypto.ir.symbols import Apply, Expression, Scalar

LARGEST_PRODUCT = 32  # terms; a larger product of sums stays a product: expanding it would cost more than it shows

Key = tuple[int, ...]  # sorted identities of the atoms of a product
Atoms = tuple[Scalar, ...]


@dataclass
class Sum:
    """``constant + sum(coefficient * product(atoms))``; no coefficient is zero."""

    constant: int = 0
    terms: dict[Key, tuple[int, Atoms]] = field(default_factory=dict)

    def add(self, other: Sum, factor: int = 1) -> Sum:
        """Add ``factor * other`` to this sum, in place."""
        self.constant += factor * other.constant
        for coefficient, atoms in other.terms.values():
            self.add_term(factor * coefficient, atoms)
        return self

    def add_term(self, coefficient: int, atoms: Atoms) -> None:
        key = tuple(sorted(map(id, atoms)))
        total = self.terms[key][0] + coefficient if key in self.terms else coefficient
        if total:
            self.terms[key] = (total, self.terms[key][1] if key in self.terms else atoms)
        else:
            self.terms.pop(key, None)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficients(self) -> list[int]:
        return [coefficient for coefficient, _ in self.terms.values()]

    def gcd(self) -> int:
        """Greatest common divisor of the coefficients (the constant left out); 0 when there are none."""
        return math.gcd(*self.coefficients())

    def map(self, change: Callable[[int], int]) -> Sum:
        """The sum with every coefficient and the constant changed."""
        result = Sum(change(self.constant))
        for coefficient, atoms in self.terms.values():
            if change(coefficient):
                result.add_term(change(coefficient), atoms)
        return result

    def without_constant(self) -> Sum:
        return Sum(0, dict(self.terms))


def difference(a: Scalar, b: Scalar, leaf: Callable[[Scalar], Scalar] = lambda x: x) -> Sum:
    """``a - b`` as a sum."""
    return sum_of(a, leaf).add(sum_of(b, leaf), -1)


def sum_of(a: Scalar, leaf: Callable[[Scalar], Scalar] = lambda x: x) -> Sum:
    """The sum that ``a`` is. ``leaf`` may rewrite what is not itself a sum; its result is taken apart again.

    >>> x = ir.Symbol("x")
    >>> rebuild(sum_of(ir.sub(ir.add(x, x), 3)))
    ((x * 2) + -3)
    """
    result = Sum()
    pending: list[tuple[int, Scalar, bool]] = [(1, a, False)]
    while pending:
        factor, node, settled = pending.pop()
        if not isinstance(node, Expression):
            result.constant += factor * int(node)
        elif isinstance(node, Apply) and node.kind == "int" and node.function in ("add", "sub", "neg"):
            signs = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}[node.function]
            pending += [(factor * sign, x, settled) for sign, x in zip(reversed(signs), reversed(node.arguments), strict=True)]
        elif isinstance(node, Apply) and node.kind == "int" and node.function == "mul":
            result.add(_product(node, leaf if not settled else lambda x: x), factor)
        else:
            changed = node if settled else leaf(node)
            if changed is node:
                result.add_term(factor, (node,))
            else:
                pending.append((factor, changed, True))
    return result


def _product(node: Apply, leaf: Callable[[Scalar], Scalar]) -> Sum:
    left, right = (sum_of(x, leaf) for x in node.arguments)
    if (len(left.terms) + 1) * (len(right.terms) + 1) > LARGEST_PRODUCT and left.terms and right.terms:
        result = Sum()
        result.add_term(1, (ir.mul(rebuild(left), rebuild(right)),))
        return result
    result = Sum(left.constant * right.constant)
    for coefficient, atoms in left.terms.values():
        for other, more in right.terms.values():
            result.add(_multiply_atoms(atoms, more), coefficient * other)
    result.add(left.without_constant(), right.constant)
    return result.add(right.without_constant(), left.constant)


def _multiply_atoms(left: Atoms, right: Atoms) -> Sum:
    """Product of two products, with ``min(x, y) * max(x, y) = x * y``."""
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            if isinstance(a, Apply) and isinstance(b, Apply) and {a.function, b.function} == {"min", "max"}:
                if set(a.arguments) == set(b.arguments):
                    rest = left[:i] + left[i + 1 :] + right[:j] + right[j + 1 :]
                    return sum_of(_multiply([*a.arguments, *rest]))
    result = Sum()
    result.add_term(1, left + right)
    return result


def _multiply(factors: Iterable[Scalar]) -> Scalar:
    return functools.reduce(ir.mul, factors)


def rebuild(total: Sum) -> Scalar:
    """The expression for a sum: positive terms, then what is subtracted, then the constant."""
    shared = _shared_atoms(total)
    if shared:
        rest = Sum()
        for coefficient, atoms in total.terms.values():
            left = _remove(atoms, shared)
            if left:
                rest.add_term(coefficient, left)
            else:
                rest.constant += coefficient
        return ir.mul(rebuild(rest), _multiply(shared))
    positive = [_term(c, atoms) for c, atoms in total.terms.values() if c > 0]
    negative = [_term(-c, atoms) for c, atoms in total.terms.values() if c < 0]
    if positive:
        return ir.add(functools.reduce(ir.sub, negative, functools.reduce(ir.add, positive)), total.constant)
    if not negative:
        return total.constant
    if total.constant:
        start: Scalar = total.constant
        return functools.reduce(ir.sub, negative, start)
    if len(negative) == 1:
        ((coefficient, atoms),) = total.terms.values()
        return ir.neg(_multiply(atoms)) if coefficient == -1 else ir.mul(_multiply(atoms), coefficient)
    return ir.neg(functools.reduce(ir.add, negative))


def _term(coefficient: int, atoms: Atoms) -> Scalar:
    return ir.mul(_multiply(atoms), coefficient)


def _shared_atoms(total: Sum) -> Atoms:
    """Atoms that every term of a sum of several terms has: ``x*y + x*z`` shares ``x``."""
    if total.constant or len(total.terms) < 2:
        return ()
    products = [list(atoms) for _, atoms in total.terms.values()]
    shared: list[Scalar] = []
    for atom in list(products[0]):
        if all(any(atom is x for x in product) for product in products):
            shared.append(atom)
            for product in products:
                product.pop(next(i for i, x in enumerate(product) if x is atom))
    return tuple(shared)


def _remove(atoms: Atoms, unwanted: Atoms) -> Atoms:
    left = list(atoms)
    for atom in unwanted:
        left.pop(next(i for i, x in enumerate(left) if x is atom))
    return tuple(left)
