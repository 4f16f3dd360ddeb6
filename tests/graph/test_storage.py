"""Copies only where a later write may touch what is still needed; updates in place."""

import pytest

import handmade
from handmade import INT32, Builder, TensorType, branch, carrying_loop, fp32, number, zeros
from pypto.graph.simplify import simplify
from pypto.graph.storage import storage
from pypto.ir import symbols as ir
from pypto.ir.program import Op, walk
from pypto.ops.table import OPERATIONS


def loads(program):
    """For every load: whether it is lazy."""
    marked = storage(simplify(program))
    return [s.attributes["lazy"] for s in walk(marked.body) if isinstance(s, Op) and s.name == "load"]


@pytest.mark.parametrize(
    "make, expected",
    [
        (handmade.double, [True]),
        (handmade.tail, [True]),
        (handmade.reshape_in_place, [True]),
        (handmade.view_then_write, [True]),
        (handmade.swap, [False, True]),
        (handmade.accumulate, [True]),
        (handmade.before_loop, [True, True]),
        (handmade.two_arms, [True]),
        (handmade.paged, [True]),
    ],
)
def test_copies_of_hand_made_programs(make, expected):
    assert loads(make()) == expected


def test_overlap_decides():
    for offset, lazy in ((4, True), (3, False), (0, False)):
        b = Builder("p")
        x, y = b.parameter("x", fp32(8, 4)), b.parameter("y", fp32(4, 4))
        a = b.load(x, (4, 4), (0, 0))
        b.store(x, zeros(b, 4, 4), (offset, 0))
        b.store(y, a)
        assert loads(b.finish()) == [lazy]


def test_uses_in_movement_ops_count_and_others_do_not():
    for move, lazy in ((True, False), (False, True)):
        b = Builder("p")
        x, y = b.parameter("x", fp32(8)), b.parameter("y", fp32(2, 4))
        v = b.load(x)
        w = b.op("reshape", v if move else b.op("exp", v), shape=(2, 4), valid=None)
        b.store(x, zeros(b, 8))
        b.store(y, w)
        assert loads(b.finish()) == [lazy]


def test_shifting_inside_one_storage():
    b = Builder("p")
    x = b.parameter("x", fp32(8))
    b.store(x, b.load(x, (4,), (0,)), (2,))
    assert loads(b.finish()) == [False]


def test_a_value_from_outside_a_loop_that_writes():
    """The write comes after the use in one iteration and before it in the next."""
    b = Builder("p")
    x, y = b.parameter("x", fp32(8)), b.parameter("y", fp32(8))
    v = b.load(x)
    with b.loop(0, 3):
        b.store(y, b.op("exp", v))
        b.store(x, zeros(b, 8))
    assert loads(b.finish()) == [False]


def test_a_cache_that_a_loop_fills_is_not_copied():
    """Reads of earlier blocks next to a write of the current one."""
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    cache, y = b.parameter("cache", fp32(n, 4)), b.parameter("y", fp32(n, 4))
    with b.loop(1, n) as i:
        before = b.load(cache, (1, 4), (ir.sub(i, 1), 0), valid=(1, 4))
        b.store(cache, b.op("neg", before), (i, 0))
        b.store(y, before, (i, 0))
    assert loads(b.finish()) == [True]


def test_other_arm_and_carried_values():
    b = Builder("p")
    k = b.scalar_parameter("k")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    v = b.load(x)
    with carrying_loop(b, 0, k, v) as (_, (w,), carry):
        b.store(x, zeros(b, 4))
        carry(b.op("add", w, number(1.0)))
    b.store(y, carry.results[0])
    assert loads(b.finish()) == [True]  # what is carried is the loop's own
    b = Builder("p")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    v = b.load(x)
    with branch(b, ir.compare("lt", k, 3)) as (then, orelse):
        with then:
            b.store(x, zeros(b, 4))
        with orelse:
            b.store(y, b.op("exp", v))
    b.store(y, v)
    assert loads(b.finish()) == [False]


needs_update = pytest.mark.skipif("scatter_update" not in OPERATIONS, reason="the row is not there yet")


def update(b, value, index, rows):
    return b.op("scatter_update", value, index, rows, axis=-2)


@needs_update
@pytest.mark.parametrize("between, expected", [("nothing", True), ("read", False), ("use", False), ("earlier use", True)])
def test_updates_in_place(between, expected):
    b = Builder("p")
    cache, y = b.parameter("cache", fp32(16, 4)), b.parameter("y", fp32(16, 4))
    index, rows = b.parameter("index", TensorType(INT32, (1, 2))), b.parameter("rows", fp32(2, 4))
    with b.loop(0, 3):
        value = b.load(cache)
        if between == "earlier use":
            b.store(y, b.op("exp", value))
        updated = update(b, value, b.load(index), b.load(rows))
        if between == "read":
            b.store(y, b.op("exp", b.load(cache, (2, 4), (0, 0))))
        if between == "use":
            b.store(y, updated)
        b.store(cache, updated)
    marked = storage(simplify(b.finish()))
    places = [s.attributes.get("in_place", False) for s in walk(marked.body) if isinstance(s, Op) and s.name == "scatter_update"]
    assert places == [expected]
    stores = [s for s in walk(marked.body) if isinstance(s, Op) and s.name == "store" and s.operands[0] is cache]
    assert stores[0].attributes.get("in_place", False) is expected
