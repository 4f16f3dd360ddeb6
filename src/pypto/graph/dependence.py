"""Which loops may run their iterations in any order.

In: a program with settled regions. Out: ``independent=True`` on every loop whose iterations provably do not conflict: nothing is
carried, nothing printed, and whatever one iteration writes no other iteration reads or writes. A loop the user calls parallel is
believed where nothing is known, refused where two iterations provably write the same elements.

Before::

    program example(x: fp32[64, 4], y: fp32[64, 4], z: fp32[1, 4]):
        for i: int(0, 7) in range(0, 8, 1):
            a: fp32[8, 4] = load(x, offsets=((i * 8), 0))
            store(y, a, offsets=((i * 8), 0))
        for i_1: int(0, 63) in range(0, 64, 1):
            b: fp32[1, 4] = load(x, offsets=(i_1, 0))
            store(z, b, offsets=(0, 0))

After::

    program example(x: fp32[64, 4], y: fp32[64, 4], z: fp32[1, 4]):
        for i: int(0, 7) in range(0, 8, 1), independent=True:
            a: fp32[8, 4] = load(x, offsets=((i * 8), 0))
            store(y, a, offsets=((i * 8), 0))
        for i_1: int(0, 63) in range(0, 64, 1):
            b: fp32[1, 4] = load(x, offsets=(i_1, 0))
            store(z, b, offsets=(0, 0))

Adding up (``accumulate``) counts as reading and writing: the order of additions would show. Not handled: locals made outside the
loop that every iteration fills anew, carried sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pypto.diagnostics import warn
from pypto.errors.graph import ParallelWritesOverlap
from pypto.graph.facts import Facts, trip_count
from pypto.graph.regions import Access, Survey, defined_in, disjoint
from pypto.ir import symbols as ir
from pypto.ir.program import Loop, Op, Program, Statement, Storage, results_of, walk
from pypto.ir.rewrite import Rewriter, with_parts
from pypto.ir.simplify_symbols import simplify
from pypto.ir.symbols import Expression, Scalar, Symbol

MOST_ACCESSES = 48  # different regions of one storage in one loop; beyond that the loop stays in order


def dependence(program: Program) -> Program:
    """``program`` with independent loops marked; raises when a parallel loop certainly conflicts with itself."""
    return _Marker(Survey(program)).program(program)


class _Marker(Rewriter):
    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey
        self.inside: dict[Loop, dict[Storage, list[Access]]] = {}
        for root, accesses in survey.accesses.items():
            for access in accesses:
                for loop in access.loops:
                    self.inside.setdefault(loop, {}).setdefault(root, []).append(access)

    def op(self, op: Op) -> Iterable[Statement]:
        return [op]

    def loop(self, loop: Loop) -> Iterable[Statement]:
        made = self.rebuilt_loop(loop)
        return [with_parts(made, (made.start, made.stop, made.step), made.body, made.carried, independent=self.independent(loop))]

    def independent(self, loop: Loop) -> bool:
        if any(isinstance(s, Op) and s.name == "print" for s in walk(loop.body)):
            return False
        if loop.carried:
            if loop.parallel:
                warn(
                    f"the parallel loop '{loop.name or loop.index.name}' carries a value between iterations: it runs in order",
                    loop.span,
                    help="write each iteration's result to its own place and combine them after the loop",
                    portability=True,
                )
            return False
        iterations = Iterations(loop)
        shared = self.shared(loop)
        if loop.parallel:
            iterations.refuse_overlap(shared)
            return True
        return all(iterations.apart(accesses) for accesses in shared.values())

    def shared(self, loop: Loop) -> dict[Storage, list[Access]]:
        """Accesses in the loop to storages that are made outside it and written in it."""
        made = {r for s in walk(loop.body) for r in results_of(s) if isinstance(r, Storage)}
        found = self.inside.get(loop, {})
        return {root: a for root, a in found.items() if root not in made and any(x.writes for x in a)}


class Iterations:
    """Two different iterations of one loop: what one accesses, and what the other does, with its symbols renamed."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        inner = [loop.index, *(s for s in defined_in(loop.body) if isinstance(s, Symbol))]
        self.renaming: dict[Symbol, Scalar] = {s: Symbol(s.name, s.kind, *s.bounds) for s in inner}
        self.other = self.renaming[loop.index]

    def renamed(self, access: Access) -> Access:
        def change(scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(ir.substitute(s, self.renaming) for s in scalars)

        return replace(
            access, offsets=change(access.offsets), extents=change(access.extents), conditions=change(access.conditions)
        )

    def apart(self, accesses: Sequence[Access]) -> bool:
        """Whether no element is written in one iteration and accessed in another."""
        different = list({region_key(a): a for a in accesses}.values())
        if len(different) > MOST_ACCESSES:
            return False
        writes = [a for a in different if a.writes]
        return all(self.pair_apart(w, a) for w in writes for a in different)

    def pair_apart(self, write: Access, access: Access) -> bool:
        there = self.renamed(access)
        orders = [ir.compare("lt", self.loop.index, self.other)]
        if access is not write:
            orders.append(ir.compare("lt", self.other, self.loop.index))
        for order in orders:
            facts = Facts().inside(dict.fromkeys((*write.conditions, *there.conditions, order)))
            if not disjoint(write, there, facts) and not facts.impossible():
                return False
        return True

    # -- the user's word -------------------------------------------------------------------------------------------------------

    def refuse_overlap(self, shared: dict[Storage, list[Access]]) -> None:
        """Raise when the first two iterations certainly write the same elements."""
        trips = trip_count(self.loop)
        if trips is not None and ir.bounds_of(trips)[1] < 2:
            return
        for accesses in shared.values():
            for write in accesses:
                if write.writes and write.exact and write.around and write.around[-1] is self.loop:
                    self.refuse(write)

    def refuse(self, write: Access) -> None:
        index, step = self.loop.index, self.loop.step
        following = ir.add(index, step)
        renaming = {**self.renaming, index: following}  # what is read or computed inside may differ from one to the next
        later = [tuple(ir.substitute(s, renaming) for s in part) for part in (write.offsets, write.extents)]
        facts = Facts().inside(write.conditions)
        common = []
        for offset, extent, offset2, extent2 in zip(write.offsets, write.extents, *later, strict=True):
            first = facts.simplify(ir.maximum(offset, offset2))
            last = facts.simplify(ir.minimum(ir.add(offset, extent), ir.add(offset2, extent2)))
            if not facts.proves(ir.compare("lt", first, last)):
                return
            common.append((first, last))
        start = {index: self.loop.start}
        shared = [tuple(simplify(ir.substitute(x, start)) for x in pair) for pair in common]
        raise ParallelWritesOverlap(
            span=write.op.span,
            tensor=write.root.name,
            loop=self.loop.name or index.name,
            first=simplify(self.loop.start),
            second=simplify(ir.add(self.loop.start, step)),
            shared=", ".join(f"{a}:{b}" for a, b in shared),
            bytes=byte_range(write.root, shared),
        )


def byte_range(root: Storage, region: Sequence[tuple[Any, ...]]) -> str:
    """First and last byte of a region of numbers; where sizes are symbolic, the words that say so."""
    if any(isinstance(x, Expression) for pair in region for x in pair) or not root.type.is_static:
        return "bytes known only at run time"
    first = last = 0
    for (start, stop), size in zip(region, root.type.shape, strict=True):
        first, last = first * size + start, last * size + stop - 1  # type: ignore[operator]
    width = root.type.dtype.size
    return f"bytes {first * width} to {(last + 1) * width - 1}"


def region_key(access: Access) -> Any:
    """Accesses with equal keys touch the same region in every iteration."""
    conditions = tuple(c for c in access.conditions if isinstance(c, Expression))
    numbers = tuple(x if isinstance(x, Expression) else (type(x), x) for x in (*access.offsets, *access.extents))
    return numbers, access.writes, conditions
