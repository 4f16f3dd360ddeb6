"""Which loops may run in any order, and parallel loops that certainly must not."""

import pytest

import handmade
from handmade import INT32, Builder, TensorType, at, carrying_loop, fp32, number, zeros
from pypto.diagnostics import PyptoWarning
from pypto.errors.graph import ParallelWritesOverlap
from pypto.graph import PASSES
from pypto.ir import symbols as ir
from pypto.ir.program import Loop, walk


def independent(program):
    for _, function in PASSES:
        program = function(program)
    return [s.independent for s in walk(program.body) if isinstance(s, Loop)]


@pytest.mark.parametrize(
    "make, expected",
    [(handmade.tail, [True]), (handmade.accumulate, [False]), (handmade.before_loop, [True]), (handmade.paged, [True, False])],
)
def test_hand_made_programs(make, expected):
    assert independent(make()) == expected


def rows(step, extent, start=0, loop_step=1, stop=None, **flags):
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    y = b.parameter("y", fp32(ir.add(ir.mul(n, 64), 4096), 4))
    with b.loop(start, n if stop is None else stop, loop_step, **flags) as i:
        b.span = at(7)
        b.store(y, zeros(b, extent, 4), (ir.mul(i, step), 0))
    return b.finish()


@pytest.mark.parametrize(
    "step, extent, loop_step, expected",
    [
        (1, 1, 1, True),
        (16, 16, 1, True),
        (16, 17, 1, False),
        (2, 4, 1, False),
        (1, 8, 8, True),
        (1, 9, 8, False),
        (2, 4, 2, True),
    ],
)
def test_stride_and_extent(step, extent, loop_step, expected):
    assert independent(rows(step, extent, loop_step=loop_step)) == [expected]
    assert independent(rows(step, extent, start=40, loop_step=-loop_step, stop=-1)) == [expected]


def test_both_axes():
    b = Builder("p")
    y = b.parameter("y", fp32(64, 64))
    with b.loop(0, 4) as i, b.loop(0, 4) as j:
        b.store(y, zeros(b, 16, 16), (ir.mul(i, 16), ir.mul(j, 16)))
    assert independent(b.finish()) == [True, True]


def test_reading_a_neighbour():
    b = Builder("p")
    y = b.parameter("y", fp32(64, 4))
    with b.loop(0, 63) as i:
        b.store(y, b.load(y, (1, 4), (ir.add(i, 1), 0)), (i, 0))
    with b.loop(0, 32) as i:
        b.store(y, b.load(y, (1, 4), (ir.add(i, 32), 0)), (i, 0))
    with b.loop(0, 64) as i:
        b.store(y, b.op("neg", b.load(y, (1, 4), (i, 0))), (i, 0))
    assert independent(b.finish()) == [False, True, True]


def test_data_dependent_places_prints_and_sums_keep_the_order():
    b = Builder("p")
    t, y = b.parameter("t", TensorType(INT32, (8,))), b.parameter("y", fp32(8, 4))
    with b.loop(0, 8) as i:
        b.store(y, zeros(b, 1, 4), (b.read(t, (i,)), 0))
    with b.loop(0, 8) as i:
        b.effect("print", i, text=("", ""))
        b.store(y, zeros(b, 1, 4), (i, 0))
    with b.loop(0, 8) as i:
        b.effect("accumulate", y, zeros(b, 1, 4), offsets=(0, 0))
    with b.loop(0, 8, parallel=True) as i:
        b.store(y, zeros(b, 1, 4), (b.read(t, (i,)), 0))  # the user's word
    with b.loop(0, 8, parallel=True) as i:
        b.effect("print", i, text=("", ""))
    assert independent(b.finish()) == [False, False, False, True, False]


def test_locals_of_an_iteration_are_its_own():
    b = Builder("p")
    x, y = b.parameter("x", fp32(8, 4)), b.parameter("y", fp32(8, 4))
    outside = b.allocate("outside", fp32(1, 4))
    with b.loop(0, 8) as i:
        t = b.allocate("t", fp32(2, 4))
        b.store(t, b.load(x, (1, 4), (i, 0)), (0, 0))
        b.store(y, b.op("exp", b.load(t, (1, 4), (0, 0))), (i, 0))
    with b.loop(0, 8) as i:
        b.store(outside, b.load(x, (1, 4), (i, 0)))
        b.store(y, b.op("exp", b.load(outside)), (i, 0))
    assert independent(b.finish()) == [True, False]


def test_counts_that_grow_are_formulas():
    b = Builder("p")
    y = b.parameter("y", fp32(64, 4))
    with carrying_loop(b, 0, 16, 0) as (i, (row,), carry):
        b.store(y, zeros(b, 4, 4), (row, 0))
        carry(ir.add(row, 4))
    assert independent(b.finish()) == [True]


def test_overlapping_parallel_writes():
    """FC-008: both iterations, the shared range, the line."""
    with pytest.raises(ParallelWritesOverlap) as caught:
        independent(rows(2, 4, stop=5, parallel=True, name="blocks"))
    text = str(caught.value)
    assert "iterations 0 and 1" in text and "'blocks'" in text and "'y'[2:4, 0:4]" in text
    assert caught.value.span.line == 7
    assert independent(rows(2, 2, stop=5, parallel=True)) == [True]
    assert independent(rows(2, 4, stop=1, parallel=True)) in ([], [True])


def test_the_shared_bytes():
    b = Builder("p")
    y = b.parameter("y", fp32(12, 8))
    with b.loop(0, 5, parallel=True) as i:
        b.store(y, zeros(b, 4, 8), (ir.mul(i, 2), 0))
    with pytest.raises(ParallelWritesOverlap, match=r"bytes 64 to 127"):
        independent(b.finish())


def test_a_parallel_loop_that_carries_runs_in_order():
    b = Builder("p")
    y = b.parameter("y", fp32(4))
    with carrying_loop(b, 0, 5, zeros(b, 4), parallel=True) as (_, (acc,), carry):
        carry(b.op("add", acc, number(1.0)))
    b.store(y, carry.results[0])
    with pytest.warns(PyptoWarning, match="runs in order"):
        assert independent(b.finish()) == [False]
