"""The loop-nest form: what one pass over memory computes, before it is written as LLVM text.

    Nest  ::= space [Extent…] reduced=axis? Store*            one common iteration space; the last axis is vectorised
    Store ::= buffer[offset + Σ index·stride] = Term
    Term  ::= Load(buffer, offset, strides)                   memory at the current index
            | Gather(buffer, offset, strides, Term, stride)   memory where an index tensor says
            | Constant(scalar)                                a number known when the nest is called
            | Index(axis)                                     the position along an axis
            | Apply(row, Term*, attributes)                   an elementwise row of the op table
            | Scan(Term)                                      running sum along the nest's reduced axis
            | Reduce(combine, Term)                           over the nest's reduced axis

A term varies along ``axes``; a load with stride 0 along an axis does not vary along it, so it is computed once outside that loop. A
nest that reduces makes as many passes over the reduced axis as its chain of reductions needs; what a later pass needs again is
reloaded, recomputed, or kept in a row buffer (see ``stages.py``). Softmax of [4096, 512], for instance::

    nest softmax over [4096, 512], reduces 1
      %0 = load x[512, 1]
      %1 = reduce max %0
      %2 = sub %0, %1
      %3 = exp %2
      %4 = reduce add %3
      %5 = div %3, %4
      store y[512, 1] = %5
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pypto.cpu.views import Buffer, same
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, Scalar, kind_of, mul, text


@dataclass(eq=False)
class Term:
    """One value per index. ``axes`` are the axes of the nest it varies along."""

    dtype: DataType
    axes: frozenset[int]

    @property
    def operands(self) -> tuple[Term, ...]:
        return ()


@dataclass(eq=False)
class Access:
    """An address: ``buffer``'s element ``offset`` plus index times stride for every axis. ``dtype`` counts the elements."""

    buffer: Buffer
    dtype: DataType
    offset: Scalar
    strides: tuple[Scalar, ...]

    def aligned(self, other: Access) -> bool:
        """Whether both name the same element at every index."""
        return (
            self.buffer is other.buffer
            and self.dtype is other.dtype
            and same(self.offset, other.offset)
            and all(same(a, b) for a, b in zip(self.strides, other.strides, strict=True))
        )


@dataclass(eq=False)
class Load(Term):
    access: Access


@dataclass(eq=False)
class Gather(Term):
    """Memory at a place that depends on data: ``access`` plus ``index`` times ``stride``. Indices have been checked before."""

    access: Access
    index: Term
    stride: Scalar

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.index,)


@dataclass(eq=False)
class Constant(Term):
    value: Scalar


@dataclass(eq=False)
class Index(Term):
    axis: int


@dataclass(eq=False)
class Apply(Term):
    name: str
    lower: Any  # lower(vectors, *operands, **attributes) -> vector
    arguments: tuple[Term, ...]
    attributes: Mapping[str, Any]
    recipe: Any = None  # the formula that made it, so that a nest makes it once

    @property
    def operands(self) -> tuple[Term, ...]:
        return self.arguments


@dataclass(eq=False)
class Reduce(Term):
    combine: str
    operand: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.operand,)


@dataclass(eq=False)
class Scan(Term):
    """The running sum along the nest's reduced axis."""

    operand: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.operand,)


@dataclass(eq=False)
class Store:
    """``axes``: those it ranges over; a store that lacks an axis happens once outside that loop.

    ``flushes``: only products that take denormals for 0 read what it writes, so a conversion that flushes them will do.
    """

    access: Access
    term: Term
    axes: frozenset[int]
    flushes: bool = False


@dataclass(eq=False)
class Nest:
    """``extents`` are run-time scalars (the valid part); ``sizes`` what is known to bound them (the allocated extents). Nothing runs
    when one of ``guards`` is 0."""

    name: str
    extents: tuple[Scalar, ...]
    sizes: tuple[Scalar, ...]
    terms: list[Term] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    reduced: int | None = None
    guards: tuple[Scalar, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.extents)

    def loads(self) -> Iterator[Load]:
        return (t for t in self.terms if isinstance(t, Load))

    def accesses(self) -> Iterator[Access]:
        yield from (term.access for term in self.terms if isinstance(term, (Load, Gather)))
        yield from (store.access for store in self.stores)

    def needed(self) -> list[Term]:
        """Terms that some store depends on, operands first."""
        wanted: set[int] = set()
        stack = [store.term for store in self.stores]
        while stack:
            term = stack.pop()
            if id(term) not in wanted:
                wanted.add(id(term))
                stack.extend(term.operands)
        return [t for t in self.terms if id(t) in wanted]


def redirect(nest: Nest, buffer: Buffer, access: Access) -> None:
    """Let every load from ``buffer`` read through ``access`` instead."""
    for load in nest.loads():
        if load.access.buffer is buffer:
            load.access = access


def collapsed(nest: Nest, keep: int = 0) -> Nest:
    """The same nest with neighbouring axes merged wherever every access walks them as one; the first ``keep`` stay as they are."""
    vectors = [list(a.strides) for a in nest.accesses()]
    vectors += [[1 if i == t.axis else 0 for i in range(nest.rank)] for t in nest.terms if isinstance(t, Index)]
    groups: list[list[int]] = []
    for axis in range(nest.rank):
        if groups and axis > keep and nest.reduced not in (axis, axis - 1) and _mergeable(nest, vectors, axis):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return nest if len(groups) == nest.rank else _regrouped(nest, groups)


def permuted(nest: Nest, order: Sequence[int]) -> Nest:
    """The same nest with its axes in another order: the new axis ``i`` is the old ``order[i]``."""
    return _regrouped(nest, [[axis] for axis in order])


def open_condition(nest: Nest) -> Expression | None:
    """The condition of a ``where`` that is one number for the whole nest, and not known before it runs."""
    for term in nest.needed():
        if isinstance(term, Apply) and term.name == "where":
            condition = term.arguments[0]
            if isinstance(condition, Constant) and isinstance(condition.value, Expression) and kind_of(condition.value) == "bool":
                return condition.value
    return None


def settled(nest: Nest, condition: Expression, holds: bool) -> Nest:
    """The same nest where ``condition`` is known: its ``where`` is one of its two sides."""
    axes = {axis: axis for axis in range(nest.rank)}
    made = Nest(nest.name, nest.extents, nest.sizes, reduced=nest.reduced, guards=nest.guards)
    renamed: dict[int, Term] = {}
    for term in nest.terms:
        if isinstance(term, Apply) and term.name == "where" and _is_constant(term.arguments[0], condition):
            renamed[id(term)] = renamed[id(term.arguments[1 if holds else 2])]
            continue
        own = term.axes
        if isinstance(term, Apply) and term.arguments:
            own = frozenset().union(*(renamed[id(t)].axes for t in term.arguments))
        renamed[id(term)] = new = _renamed(term, own, axes, renamed, tuple)
        made.terms.append(new)
    made.stores = [Store(s.access, renamed[id(s.term)], s.axes, s.flushes) for s in nest.stores]
    return made


def _is_constant(term: Term, value: Expression) -> bool:
    return isinstance(term, Constant) and term.value is value


def _mergeable(nest: Nest, vectors: Sequence[Sequence[Scalar]], axis: int) -> bool:
    """Whether ``axis`` continues ``axis - 1``: stepping the outer one is stepping the inner one ``extent`` times."""
    extent = nest.extents[axis]
    return all(same(v[axis - 1], mul(v[axis], extent)) for v in vectors)


def _regrouped(nest: Nest, groups: list[list[int]]) -> Nest:
    """Rewrite a nest for merged axes (each group of old axes becomes one)."""
    place = {axis: new for new, group in enumerate(groups) for axis in group}
    fold = lambda items: tuple(_folded(items, group) for group in groups)  # noqa: E731
    last = lambda strides: tuple(strides[group[-1]] for group in groups)  # noqa: E731
    made = Nest(nest.name, fold(nest.extents), fold(nest.sizes), guards=nest.guards)
    made.reduced = None if nest.reduced is None else place[nest.reduced]
    renamed: dict[int, Term] = {}
    for term in nest.terms:
        axes = frozenset(place[a] for a in term.axes)
        new = _renamed(term, axes, place, renamed, last)
        renamed[id(term)] = new
        made.terms.append(new)
    made.stores = [
        Store(_access(s.access, last), renamed[id(s.term)], frozenset(place[a] for a in s.axes), s.flushes) for s in nest.stores
    ]
    return made


def _access(access: Access, last: Any) -> Access:
    return Access(access.buffer, access.dtype, access.offset, last(access.strides))


def _renamed(term: Term, axes: frozenset[int], place: Mapping[int, int], renamed: Mapping[int, Term], last: Any) -> Term:
    if isinstance(term, Load):
        return Load(term.dtype, axes, _access(term.access, last))
    if isinstance(term, Gather):
        return Gather(term.dtype, axes, _access(term.access, last), renamed[id(term.index)], term.stride)
    if isinstance(term, Index):
        return Index(term.dtype, axes, place[term.axis])
    if isinstance(term, Apply):
        return Apply(
            term.dtype, axes, term.name, term.lower, tuple(renamed[id(t)] for t in term.arguments), term.attributes, term.recipe
        )
    if isinstance(term, Scan):
        return Scan(term.dtype, axes, renamed[id(term.operand)])
    if isinstance(term, Reduce):
        return Reduce(term.dtype, axes, term.combine, renamed[id(term.operand)])
    return term


def _folded(items: Sequence[Scalar], group: Sequence[int]) -> Scalar:
    total: Scalar = 1
    for axis in group:
        total = mul(total, items[axis])
    return total


def nest_text(nest: Nest) -> str:
    """The nest for people: ``pypto show``."""
    number = {id(t): f"%{i}" for i, t in enumerate(nest.terms)}
    lines = [f"nest {nest.name} over [{_list(nest.extents)}]" + ("" if nest.reduced is None else f", reduces {nest.reduced}")]
    lines += [f"  {number[id(t)]} = {_term_text(t, number)}" for t in nest.terms]
    lines += [f"  store {_access_text(s.access)} = {number[id(s.term)]}" for s in nest.stores]
    return "\n".join(lines)


def _term_text(term: Term, number: Mapping[int, str]) -> str:
    names = ", ".join(number[id(t)] for t in term.operands)
    if isinstance(term, Load):
        return f"load {_access_text(term.access)}"
    if isinstance(term, Gather):
        return f"gather {_access_text(term.access)} at {names} * {text(term.stride)}"
    if isinstance(term, Constant):
        return f"constant {text(term.value)} {term.dtype.label}"
    if isinstance(term, Index):
        return f"index {term.axis}"
    if isinstance(term, Scan):
        return f"running sum {names}"
    if isinstance(term, Reduce):
        return f"reduce {term.combine} {names} {term.dtype.label}"
    assert isinstance(term, Apply)
    extra = "".join(f", {k}={v}" for k, v in term.attributes.items())
    return f"{term.name} {names}{extra} {term.dtype.label}"


def _access_text(access: Access) -> str:
    at = "" if same(access.offset, 0) else f" + {text(access.offset)}"
    return f"{access.buffer.name}{at}[{_list(access.strides)}] {access.dtype.label}"


def _list(items: Sequence[Scalar]) -> str:
    return ", ".join(text(x) for x in items)
