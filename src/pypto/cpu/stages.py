"""How many passes a nest makes over its inner axis, and what each pass computes.

In: a nest. Out: ``Stages``: per pass the terms evaluated at every index, its reductions, stores, and what it saves for later passes.

    softmax:  pass 0  load x; reduce max           pass 1  load x, sub, exp (saved); reduce add          pass 2  exp (restored), div; store

The *inner* axis is the reduced one, else the last. Terms that do not vary along it stand outside the passes. A value that a later pass
needs again is reloaded or recomputed when that is cheap, else kept in a row buffer (recomputed in any case when the inner axis is not
the last). Stores into memory that the nest also reads, or writes twice, go to the last pass, in order, so that no pass reads what an
earlier one overwrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.cpu.nests import Apply, Constant, Gather, Index, Load, Nest, Reduce, Scan, Store, Term
from pypto.cpu.vector_base import compute_type
from pypto.cpu.views import same
from pypto.dtypes import DataType

# Rough instruction counts of one vector of 16 lanes; only ratios matter (recompute or save, how far to unroll).
_COSTS = {
    **dict.fromkeys(("tril", "triu"), 3),
    **{"exp": 18, "exp2": 12, "log": 22, "tanh": 30, "erf": 30, "sigmoid": 25, "div": 4, "sqrt": 6, "rsqrt": 8, "pow": 45},
}
_CHEAP_NAMES = frozenset(
    ("add", "sub", "mul", "neg", "abs", "maximum", "minimum", "relu", "eq", "ne", "lt", "le", "gt", "ge", "where", "cast")
    + ("logical_and", "logical_or", "logical_not", "floor", "ceil", "trunc", "round")
)
_UNKNOWN_COST = 20
_ROUNDING_COST = 8
_RECOMPUTE_LIMIT = 7


def cost_of(term: Term) -> int:
    """Instructions for one vector of this term alone."""
    if isinstance(term, Load):
        return 1 if term.access.strides and same(term.access.strides[-1], 1) or not term.access.strides else 8
    if isinstance(term, (Constant, Index)):
        return 1
    if isinstance(term, (Gather, Scan)):
        return 16
    if isinstance(term, Reduce):
        return 8 if term.combine.startswith("arg") else 2
    assert isinstance(term, Apply)
    return cost_of_name(term.name, term.dtype)


def cost_of_name(name: str, dtype: DataType) -> int:
    """Instructions for one vector of an elementwise row."""
    own = _COSTS.get(name, 1 if name in _CHEAP_NAMES else _UNKNOWN_COST)
    return own + (_ROUNDING_COST if dtype.is_float and compute_type(dtype) is not dtype else 0)


@dataclass
class Pass:
    """``terms`` in evaluation order; ``saved`` is written to row buffers here, ``restored`` read from them."""

    terms: list[Term] = field(default_factory=list)
    restored: list[Term] = field(default_factory=list)
    saved: list[Term] = field(default_factory=list)
    reductions: list[Reduce] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)

    @property
    def cost(self) -> int:
        return sum(map(cost_of, self.terms)) + sum(map(cost_of, self.reductions)) + len(self.restored) + len(self.stores)


@dataclass
class Stages:
    inner: int | None
    passes: list[Pass]
    outside: list[Term]  # terms that do not vary along the inner axis, operands first
    outside_stores: list[Store]
    ready: dict[int, int]  # id(term) -> first pass before which the term is known (outside) or in which it is (inside)

    @property
    def saved(self) -> list[Term]:
        return [t for p in self.passes for t in p.saved]


def stages_of(nest: Nest) -> Stages:
    inner = nest.reduced if nest.reduced is not None else (nest.rank - 1 if nest.rank else None)
    needed = nest.needed()
    ready = _ready(needed)
    stores = [s for s in nest.stores if inner in s.axes]
    reductions = [t for t in needed if isinstance(t, Reduce)]
    count = max([ready[id(t)] for t in reductions] + [ready[id(s.term)] + 1 for s in stores], default=0)
    passes = [Pass() for _ in range(count)]
    for term in reductions:
        passes[ready[id(term)] - 1].reductions.append(term)
    for store in stores:
        passes[_store_pass(store, nest, ready, count)].stores.append(store)
    order = {id(t): i for i, t in enumerate(needed)}
    keep = inner == nest.rank - 1
    for number in range(count):
        _fill(passes, number, inner, order, keep)
    outside = [t for t in needed if inner not in t.axes]
    return Stages(inner, passes, outside, [s for s in nest.stores if inner not in s.axes], ready)


def _ready(needed: list[Term]) -> dict[int, int]:
    ready: dict[int, int] = {}
    for term in needed:
        latest = max((ready[id(o)] for o in term.operands), default=0)
        ready[id(term)] = latest + 1 if isinstance(term, Reduce) else latest
    return ready


def _store_pass(store: Store, nest: Nest, ready: dict[int, int], count: int) -> int:
    buffer = store.access.buffer
    shared = any(a is not store.access and a.buffer is buffer for a in nest.accesses())
    return count - 1 if shared else ready[id(store.term)]


def _fill(passes: list[Pass], number: int, inner: int | None, order: dict[int, int], keep: bool) -> None:
    """Collect what pass ``number`` evaluates, walking down from its reductions and stores."""
    current = passes[number]
    emitted = [{id(t) for t in p.terms} for p in passes[:number]]
    chosen: dict[int, Term] = {}
    restored: dict[int, Term] = {}
    stack: list[Term] = [r.operand for r in current.reductions] + [s.term for s in current.stores]
    while stack:
        term = stack.pop()
        if inner not in term.axes or id(term) in chosen or id(term) in restored:
            continue
        home = next((i for i, ids in enumerate(emitted) if id(term) in ids), None)
        if keep and home is not None and _recompute_cost(term, inner) > _RECOMPUTE_LIMIT:
            restored[id(term)] = term
            if all(t is not term for p in passes[:number] for t in p.saved):
                passes[home].saved.append(term)
            continue
        chosen[id(term)] = term
        stack.extend(term.operands)
    current.terms = sorted(chosen.values(), key=lambda t: order[id(t)])
    current.restored = sorted(restored.values(), key=lambda t: order[id(t)])


def _recompute_cost(term: Term, inner: int | None) -> int:
    """Cost of evaluating ``term`` from memory; stops counting once it is clearly too much."""
    total = 0
    stack = [term]
    while stack and total <= _RECOMPUTE_LIMIT:
        item = stack.pop()
        if inner in item.axes:
            total += cost_of(item)
            stack.extend(item.operands)
    return total
