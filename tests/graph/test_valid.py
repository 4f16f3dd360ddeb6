"""Bounds: what is proven, what is checked at run time, what is refused."""

import pytest

import handmade
from handmade import INT32, Builder, TensorType, at, branch, carrying_loop, fp32, number, zeros
from pypto.errors.runtime import CarriedExtentChanges, IndexOutOfBounds, RegionOutOfBounds
from pypto.graph.simplify import simplify
from pypto.graph.valid import valid
from pypto.ir import symbols as ir
from pypto.ir.program import Literal, Op, Value, walk


def checks(program):
    return [s for s in walk(valid(simplify(program)).body) if isinstance(s, Op) and s.name == "check"]


@pytest.mark.parametrize("make", handmade.PROGRAMS, ids=[p.__name__ for p in handmade.PROGRAMS])
def test_only_what_depends_on_data_is_checked(make):
    """Blocks of rows with a tail, in-place writes, whole reads need no check; block numbers read from a table do."""
    found = [s.attributes["error"].facts.get("offset", s.attributes["error"].facts.get("index")) for s in checks(make())]
    assert [str(f) for f in found] == (["k", "block"] if make is handmade.paged else [])


def blocks(step, extent, trips, valid_rows=None):
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    x, y = b.parameter("x", fp32(n, 8)), b.parameter("y", fp32(n, 8))
    with b.loop(0, trips(n)) as i:
        offset = ir.mul(i, step)
        b.store(
            y, b.load(x, (extent, 8), (offset, 0), valid=None if valid_rows is None else (valid_rows(n, offset), 8)), (offset, 0)
        )
    return b.finish()


def test_loops_over_rows():
    up = lambda n: ir.floordiv(ir.add(n, 15), 16)
    assert checks(blocks(16, 16, up)) == []
    assert checks(blocks(16, 16, lambda n: ir.floordiv(n, 16))) == []
    assert checks(blocks(16, 16, up, lambda n, o: ir.minimum(ir.sub(n, o), 16))) == []
    assert len(checks(blocks(16, 16, up, lambda n, o: 16))) == 1  # the store is inside when the load is
    assert len(checks(blocks(16, 20, lambda n: ir.floordiv(n, 16), lambda n, o: 20))) == 1


def test_certain_mistakes_are_errors_at_their_line():
    for extent, offset in ((4, 6), (4, -1), (9, 0)):
        b = Builder("p")
        x = b.parameter("x", fp32(8))
        b.span = at(7)
        value = Value(fp32(extent))
        b.append(Op("load", (x,), {"offsets": (offset,)}, (value,), at(7)))
        b.store(x, b.op("view", value, shape=(1,), offsets=(0,), valid=None))
        with pytest.raises(RegionOutOfBounds) as caught:
            checks(b.finish())
        assert caught.value.span.line == 7 and "'x'" in str(caught.value)


def test_certain_mistakes_in_code_that_may_not_run_wait_for_the_run():
    b = Builder("p")
    k = b.scalar_parameter("k")
    x, z = b.parameter("x", fp32(8)), b.parameter("z", TensorType(INT32, (4,)))
    with branch(b, ir.compare("lt", k, 3)) as (then, _):
        with then:
            b.store(x, zeros(b, 4), (6,))
    with b.loop(0, k) as i:
        b.effect("write", z, 1, indices=(ir.add(i, 4),))
    assert len(checks(b.finish())) == 2


def test_past_the_valid_part_is_fine_and_past_the_end_is_not():
    b = Builder("p")
    k = b.scalar_parameter("k")
    x, y = b.parameter("x", fp32(16, valid=(10,))), b.parameter("y", fp32(16))
    b.store(y, b.load(x, (8,), (8,)), (8,))  # two valid elements
    b.store(y, b.load(x, (8,), (k,)), (0,))
    (check,) = checks(b.finish())
    assert [ir.evaluate(check.operands[0], {k: at}) for at in (-1, 0, 9, 15, 16, 99)] == [False, True, True, True, True, True]


def test_indices():
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    t, z = b.parameter("t", TensorType(INT32, (n, 4))), b.parameter("z", TensorType(INT32, (4,)))
    with b.loop(0, n) as i:
        element = b.read(t, (i, 3))
        b.effect("write", z, element, indices=(element,))
        b.effect("write", z, 2, indices=(element,))
    (check,) = checks(b.finish())
    assert isinstance(check.attributes["error"], IndexOutOfBounds)
    b = Builder("p")
    t = b.parameter("t", TensorType(INT32, (4,)))
    b.effect("write", t, 2, indices=(4,))
    with pytest.raises(IndexOutOfBounds, match="index 4 is outside axis 0 of size 4"):
        checks(b.finish())


def test_a_number_fills_the_rest():
    b = Builder("p")
    k = b.scalar_parameter("k")
    x = b.parameter("x", fp32(8))
    b.store(x, Literal(1.0, handmade.FP32), (3,))
    b.store(x, Literal(1.0, handmade.FP32), (k,))
    assert len(checks(b.finish())) == 1


def test_carried_extents():
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    x, y = b.parameter("x", fp32(n, 8)), b.parameter("y", fp32(1, 8))
    with carrying_loop(b, 0, n, zeros(b, 1, 8)) as (i, (acc,), carry):
        carry(b.op("add", acc, b.load(x, (1, 8), (i, 0))))  # valid in every iteration
    b.store(y, carry.results[0])
    assert checks(b.finish()) == []
    b = Builder("p")
    x, y = b.parameter("x", fp32(n, 8)), b.parameter("y", fp32(4, 8))
    with carrying_loop(b, 0, n, zeros(b, 4, 8)) as (i, (acc,), carry):
        carry(b.op("add", acc, b.load(x, (4, 8), (i, 0))))  # fewer rows at the end
    b.store(y, carry.results[0])
    (check,) = checks(b.finish())
    assert isinstance(check.attributes["error"], CarriedExtentChanges)


def test_the_valid_extent_that_an_arm_declares():
    assert checks(handmade.two_arms()) == []


def test_what_a_check_has_settled_is_not_checked_again():
    b = Builder("p")
    k = b.scalar_parameter("k")
    x, y = b.parameter("x", fp32(16, 8)), b.parameter("y", fp32(16, 8))
    v = b.load(x, (4, 8), (k, 0), valid=(4, 8))
    b.store(y, b.op("add", v, number(1.0)), (k, 0))
    assert len(checks(b.finish())) == 1
