"""Simplification: golden text of hand-made programs, and random programs that must do the same before and after."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import SIZES, random_program, run

import handmade
from handmade import Builder, carrying_loop, fp32, number, zeros
from pypto.graph.facts import Facts, range_conditions
from pypto.graph.simplify import simplify
from pypto.ir import symbols as ir
from pypto.ir.program import If, Loop, Op, walk
from pypto.ir.rules import verify
from pypto.ir.text import program_text


@pytest.mark.parametrize("make", handmade.PROGRAMS, ids=[p.__name__ for p in handmade.PROGRAMS])
def test_text_after_simplification(make, golden):
    golden(f"simplified_{make.__name__}", program_text(verify(simplify(make()))))


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_simplified_programs_do_the_same(seed):
    program = random_program(random.Random(seed))
    verify(program)
    simple = verify(simplify(program))
    for n in SIZES:
        for before, after in zip(run(program, n, n - 2), run(simple, n, n - 2), strict=True):
            np.testing.assert_array_equal(before, after)


def names(program):
    return [s.name if isinstance(s, Op) else type(s).__name__ for s in walk(program.body)]


def test_loops_that_do_not_repeat():
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    v = b.load(x)
    with b.loop(3, 3) as _:
        b.store(y, v)
    with carrying_loop(b, 5, 4, v, step=-1) as (i, (w,), carry):
        carry(b.op("add", w, number(1.0)))
    b.store(y, carry.results[0], offsets=(ir.sub(i, i),))
    assert names(simplify(b.finish())) == ["load", "add", "store"]


def test_equal_ops_and_writes_between_loads():
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    first = b.op("exp", b.load(x))
    second = b.op("exp", b.load(x))
    b.store(x, b.op("add", first, second))
    b.store(y, b.op("exp", b.load(x)))
    assert names(simplify(b.finish())) == ["load", "exp", "add", "store", "load", "exp", "store"]


def test_loads_in_a_loop_that_writes():
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    before = b.load(x)
    with b.loop(0, 3):
        b.store(x, b.op("add", b.load(x), before))
    b.store(y, b.load(x))
    assert names(simplify(b.finish())).count("load") == 3


def test_factors_of_one():
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    v = b.load(x)
    b.store(y, b.op("div", b.op("mul", b.op("mul", v, number(1.0)), number(-1.0)), number(1.0)))
    assert names(simplify(b.finish())) == ["load", "mul", "store"]


def test_minus_zero_is_not_zero():
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    plus, minus = (b.op("full", number(v), shape=(4,), valid=None) for v in (0.0, -0.0))
    b.store(x, plus)
    b.store(y, minus)
    assert names(simplify(b.finish())).count("full") == 2


def test_choices_between_scalars_become_expressions():
    b = Builder("p")
    k = b.scalar_parameter("k")
    z = b.parameter("z", handmade.TensorType(handmade.INT32, (4,)))
    chosen = ir.Symbol("chosen")
    with handmade.branch(b, ir.compare("lt", k, 3), chosen) as (then, orelse):
        with then:
            then.give(1)
        with orelse:
            orelse.give(k)
    b.effect("write", z, chosen, indices=(0,))
    assert names(simplify(b.finish())) == ["write"]


def test_dead_code():
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    v = b.load(x)
    with carrying_loop(b, 0, b.read(x, (0,)), v, zeros(b, 4)) as (_, (a, c), carry):
        carry(b.op("add", a, number(1.0)), b.op("add", c, a))
    b.store(b.allocate("t", fp32(4)), v)
    b.store(y, carry.results[0])
    simple = verify(simplify(b.finish()))
    assert names(simple) == ["load", "read", "Loop", "add", "store"]
    (loop,) = (s for s in walk(simple.body) if isinstance(s, Loop))
    assert len(loop.carried) == 1


def test_checks_that_are_known_to_hold_go():
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    y = b.parameter("y", fp32(n))
    error = ValueError
    with b.loop(0, n) as i:
        b.effect("check", ir.compare("lt", i, n), error=error)
        b.effect("check", ir.compare("lt", i, 7), error=error)
        b.effect("check", ir.compare("lt", i, 8), error=error)
        b.effect("write", y, 1.0, indices=(i,))
    assert names(simplify(b.finish())) == ["Loop", "check", "write"]


def test_nested_branches_on_one_condition():
    b = Builder("p")
    k = b.scalar_parameter("k")
    x = b.parameter("x", fp32(4))
    with handmade.branch(b, ir.compare("lt", k, 3)) as (then, orelse):
        with then, handmade.branch(b, ir.compare("lt", k, 5)) as (inner, other):
            with inner:
                b.store(x, zeros(b, 4))
            with other:
                b.store(x, b.op("exp", b.load(x)))
        with orelse:
            b.store(x, b.op("neg", b.load(x)))
    simple = simplify(b.finish())
    assert sum(isinstance(s, If) for s in walk(simple.body)) == 1 and "exp" not in names(simple)


def test_facts():
    i, n = ir.Symbol("i"), ir.Symbol("n", low=0)
    facts = Facts().inside(range_conditions(i, 0, n, 4))
    assert facts.proves(ir.compare("lt", i, n)) and facts.proves(ir.compare("eq", ir.mod(i, 4), 0))
    assert facts.simplify(ir.minimum(ir.maximum(ir.sub(n, i), 0), 1)) == 1
    assert not facts.proves(ir.compare("le", ir.add(i, 4), n))
    assert facts.inside([ir.compare("lt", n, 0)]).impossible() and not facts.impossible()
    down = Facts().inside(range_conditions(i, n, 0, -1))
    assert down.proves(ir.compare("lt", 0, i)) and down.proves(ir.compare("le", i, n))


def test_many_ops_take_near_linear_time():
    """4,000 ops simplify in at most a few times the steps of 1,000: counted in calls, not seconds."""
    import cProfile
    import pstats

    def calls(count):
        b = Builder("p")
        x = b.parameter("x", fp32(4))
        v = b.load(x)
        for k in range(count):
            v = b.op("add", v, number(float(k)))
        b.store(x, v)
        program = b.finish()
        profile = cProfile.Profile()
        profile.runcall(simplify, program)
        return pstats.Stats(profile).total_calls

    assert calls(4000) < 6 * calls(1000)
