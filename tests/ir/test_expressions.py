"""Simplified expressions against plain evaluation, and the prover against enumeration."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.frontend.symbolic import SymbolicScalar
from pypto.graph.facts import Facts
from pypto.ir import symbols as ir
from pypto.ir.integers import Row, infeasible
from pypto.ir.satisfy import check, proves
from pypto.ir.simplify_symbols import simplify

SYMBOLS = [ir.Symbol("x"), ir.Symbol("y"), ir.Symbol("z", low=0, high=9), ir.Symbol("w", low=-3, high=3)]
quick = settings(max_examples=300, deadline=None, derandomize=True)

leaves = st.one_of(st.sampled_from(SYMBOLS), st.integers(-9, 9))


def grow(children):
    pairs = st.tuples(st.sampled_from(["add", "sub", "mul", "min", "max", "floordiv", "mod"]), children, children)
    compared = st.tuples(st.sampled_from(["eq", "ne", "lt", "le", "and", "or"]), children, children)
    single = st.tuples(st.sampled_from(["neg", "not"]), children)
    chosen = st.tuples(st.just("select"), children, children, children)
    return st.one_of(pairs, pairs, compared, single, chosen).map(lambda t: ir.BUILDERS[t[0]](*t[1:]))


expressions = st.recursive(leaves, grow, max_leaves=12)


def points(count=12):
    """A fixed spread of symbol values, within the symbols' bounds."""
    for k in range(count):
        yield {s: max(min((k * 7 + 5 * j) % 19 - 9, s.bounds[1]), s.bounds[0]) for j, s in enumerate(SYMBOLS)}


def value(expression, values):
    try:
        return ir.evaluate(expression, values)
    except ZeroDivisionError:
        return None


@given(expressions)
@quick
def test_simplify_keeps_the_value(expression):
    simple = simplify(expression)
    for values in points():
        expected = value(expression, values)
        if expected is not None:
            assert value(simple, values) == expected, (expression, simple, values)


@given(expressions)
@quick
def test_bounds_hold(expression):
    low, high = ir.bounds_of(expression)
    for values in points():
        got = value(expression, values)
        assert got is None or low <= got <= high, (expression, values)


@given(expressions)
@quick
def test_simplify_ends_in_the_same_text_every_time(expression):
    simple = simplify(expression)
    assert ir.text(simplify(simple)) == ir.text(simplify(simplify(simple)))


def row(coefficients, constant):
    return Row(constant, {v: c for v, c in enumerate(coefficients) if c})


rows = st.lists(st.builds(row, st.tuples(*[st.integers(-4, 4)] * 3), st.integers(-6, 6)), max_size=4)


@given(rows, rows, rows)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_infeasible_is_certain(zero, not_negative, not_zero):
    if not infeasible(zero, not_negative, not_zero):
        return
    for values in itertools.product(range(-6, 7), repeat=3):

        def at(r):
            return r.constant + sum(c * values[v] for v, c in r.terms.items())

        assert not (all(at(r) == 0 for r in zero) and all(at(r) >= 0 for r in not_negative) and all(at(r) != 0 for r in not_zero))


@given(st.lists(expressions, min_size=1, max_size=4))
@quick
def test_unsat_is_certain(conditions):
    if check(conditions) == "UNSAT":
        for values in points(40):
            found = [value(c, values) for c in conditions]
            assert None in found or not all(found), (conditions, values)


i, j, n, m = (ir.Symbol(name, low=0) for name in "ijnm")
le = lambda a, b: ir.compare("le", a, b)
lt = lambda a, b: ir.compare("lt", a, b)
tail = ir.minimum(ir.maximum(ir.sub(n, ir.mul(i, 16)), 0), 16)


@pytest.mark.parametrize(
    "assumptions, condition",
    [
        ([lt(i, ir.floordiv(ir.add(n, 15), 16))], lt(ir.mul(i, 16), n)),
        ([lt(ir.mul(i, 16), n)], le(ir.add(ir.mul(i, 16), tail), n)),
        ([], le(tail, 16)),
        ([], le(0, tail)),
        ([lt(i, n), lt(j, m)], le(ir.add(i, j), ir.sub(ir.add(n, m), 2))),
        ([lt(i, j)], le(ir.add(ir.mul(i, 16), 16), ir.mul(j, 16))),
        ([], lt(ir.mod(n, 8), 8)),
        ([le(n, 100)], le(ir.floordiv(n, 3), 33)),
        ([], ir.logical_or(lt(i, j), le(j, i))),
        ([ir.compare("eq", ir.mod(n, 16), 0)], ir.compare("eq", n, ir.mul(ir.floordiv(n, 16), 16))),
    ],
)
def test_proves(assumptions, condition):
    assert proves(assumptions, condition)


def test_does_not_prove_what_is_not_true():
    assert not proves([lt(i, ir.floordiv(ir.add(n, 15), 16))], le(ir.add(ir.mul(i, 16), 16), n))
    assert not proves([lt(i, n)], lt(j, n))


def test_long_sums_are_quick():
    symbols = [ir.Symbol(f"s{k}") for k in range(400)]
    total = 0
    for s in symbols:
        total = ir.add(total, s)
    for s in symbols[1:]:
        total = ir.sub(total, s)
    assert simplify(total) is symbols[0]


def test_deep_expressions():
    """Deeper than Python's stack: what a static loop over scalars read from a tensor makes."""
    s, t = ir.Symbol("s"), ir.Symbol("t")
    deep = s
    for k in range(3000):
        deep = ir.maximum(ir.add(deep, 1), t) if k % 2 else ir.minimum(ir.sub(deep, t), ir.mul(s, k))
    values = {s: 3, t: 5}
    assert ir.evaluate(deep, values) == ir.evaluate(simplify(deep), values)
    assert ir.substitute(deep, values) == ir.evaluate(deep, values)
    assert ir.text(deep).startswith("max(") and "RUNTIME_Max" in str(SymbolicScalar(deep))
    assert Facts().inside([ir.compare("lt", 0, s)]).simplify(deep) is simplify(deep)
    assert not proves([ir.compare("lt", 0, s)], ir.compare("lt", deep, 5))
