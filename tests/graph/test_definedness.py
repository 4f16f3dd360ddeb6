"""Reads of locals that nothing wrote."""

import pytest

from handmade import INT32, Builder, TensorType, at, branch, fp32, zeros
from pypto.errors.runtime import ReadUnwritten
from pypto.graph.definedness import definedness
from pypto.graph.facts import Facts, range_conditions
from pypto.graph.simplify import simplify
from pypto.graph.valid import valid
from pypto.graph.written import Box, over_iterations
from pypto.ir import symbols as ir
from pypto.ir.program import Block, Loop, Op, walk


def start(rows=8, **scalars):
    b = Builder("p")
    b.span = at(3)
    y = b.parameter("y", fp32(rows, 4))
    t = b.allocate("t", fp32(rows, 4))
    b.span = at(9)
    return b, y, t


def settle(b):
    """The checks that are left, after the passes up to definedness."""
    program = definedness(valid(simplify(b.finish())))
    return [s for s in walk(program.body) if isinstance(s, Op) and s.name == "check"]


def test_never_written():
    b, y, t = start()
    b.store(y, b.load(t))
    with pytest.raises(ReadUnwritten) as caught:
        settle(b)
    error = str(caught.value)
    assert "'t' is read at [0, 0]" in error and "made at kernel.py:3" in error and caught.value.span.line == 9


def test_partly_written_names_the_first_element():
    """FC-002: only rows 0 to 3 are written."""
    b, y, t = start()
    b.store(t, zeros(b, 4, 4))
    b.store(y, b.load(t))
    with pytest.raises(ReadUnwritten, match=r"'t' is read at \[4, 0\]"):
        settle(b)


def test_read_in_the_first_iteration_before_the_write_behind_it():
    b, y, t = start()
    with b.loop(0, 4):
        b.store(y, b.load(t))
        b.store(t, zeros(b, 8, 4))
    with pytest.raises(ReadUnwritten):
        settle(b)
    b, y, t = start()
    with b.loop(0, 4) as i:
        with branch(b, ir.compare("lt", 0, i)) as (then, _):
            with then:
                b.store(y, b.load(t))
        b.store(t, zeros(b, 8, 4))
    assert settle(b) == []


def test_loops_that_fill_a_local():
    for step, count in ((2, 4), (1, 8), (3, 3), (8, 1)):
        b, y, t = start()
        with b.loop(0, count) as i:
            b.store(t, zeros(b, step if step * count <= 8 else 2, 4), (ir.minimum(ir.mul(i, step), 8 - step + (step == 3)), 0))
        b.store(y, b.load(t))
        settle(b)
    b, y, t = start()
    with b.loop(0, 2) as i, b.loop(0, 4) as j:
        b.store(t, zeros(b, 1, 4), (ir.add(ir.mul(i, 4), j), 0))
    b.store(y, b.load(t))
    assert settle(b) == []


def test_a_loop_with_a_tail_fills_everything():
    b = Builder("p")
    n = ir.Symbol("n", low=0)
    x, y = b.parameter("x", fp32(n, 4)), b.parameter("y", fp32(n, 4))
    t = b.allocate("t", fp32(n, 4))
    with b.loop(0, ir.floordiv(ir.add(n, 15), 16)) as i:
        b.store(t, b.load(x, (16, 4), (ir.mul(i, 16), 0)), (ir.mul(i, 16), 0))
    b.store(y, b.load(t))
    assert settle(b) == []


def test_how_much_a_loop_writes_may_depend_on_the_run():
    b, y, t = start()
    k = b.scalar_parameter("k")
    with b.loop(0, ir.minimum(k, 8)) as i:
        b.store(t, zeros(b, 1, 4), (i, 0))
    b.store(y, b.load(t))
    (check,) = settle(b)
    assert ir.evaluate(check.operands[0], {k: 8}) and not ir.evaluate(check.operands[0], {k: 7})
    assert not ir.evaluate(check.operands[0], {k: -1})


def test_writes_of_both_arms_count_and_of_one_arm_may_count():
    b, y, t = start()
    k = b.scalar_parameter("k")
    with branch(b, ir.compare("lt", k, 3)) as (then, orelse):
        for arm in (then, orelse):
            with arm:
                b.store(t, zeros(b, 8, 4))
    b.store(y, b.load(t))
    assert settle(b) == []
    b, y, t = start()
    with branch(b, ir.compare("lt", k, 3)) as (then, orelse):
        with then:
            b.store(t, zeros(b, 8, 4))
        with orelse:
            b.store(y, b.load(t))
    with pytest.raises(ReadUnwritten):
        settle(b)


def test_aliases_write_the_storage_they_stand_for():
    b, y, t = start()
    flat = b.alias(t, (32,), "flat")
    b.store(flat, zeros(b, 16), (0,))
    b.store(flat, zeros(b, 16), (16,))
    b.store(y, b.load(t))
    assert settle(b) == []
    b, y, t = start()
    b.store(b.alias(t, (2, 16), "rows"), zeros(b, 1, 16), (1, 0))
    b.store(y, b.load(t))
    with pytest.raises(ReadUnwritten, match=r"\[0, 0\]"):
        settle(b)


@pytest.mark.parametrize("bounds", [(0, 4, 1), (3, -1, -1), (2, 11, 3), (0, 0, 1), (9, 1, -4)])
@pytest.mark.parametrize("stride, extent", [(1, 1), (2, 2), (2, 3), (-1, 1), (-2, 5), (3, 2), (0, 4)])
def test_boxes_over_iterations(bounds, stride, extent):
    """Against counting."""
    i = ir.Symbol("i")
    loop = Loop(i, *bounds, Block())
    box = Box((ir.add(ir.mul(i, stride), 20),), (extent,))
    facts = Facts().inside(range_conditions(i, *bounds))
    joint = over_iterations(box, loop, facts)
    touched = {e for index in range(*bounds) for e in range(20 + index * stride, 20 + index * stride + extent)}
    if joint is not None:
        first, size = (ir.evaluate(x, {}) for x in (joint.offsets[0], joint.extents[0]))
        assert set(range(first, first + max(size, 0))) == touched
    else:
        assert not touched or touched != set(range(min(touched), max(touched) + 1)) or stride * bounds[2] != 0


def allocates(b):
    program = definedness(valid(simplify(b.finish())))
    return [s for s in walk(program.body) if isinstance(s, Op) and s.name in ("allocate", "check")]


def test_a_write_under_a_condition_is_checked_by_that_condition():
    b, y, t = start()
    k = b.scalar_parameter("k")
    with branch(b, ir.compare("lt", k, 3)) as (then, _):
        with then:
            b.store(t, zeros(b, 8, 4))
    b.store(y, b.load(t))
    (_, check) = allocates(b)
    assert ir.evaluate(check.operands[0], {k: 2}) and not ir.evaluate(check.operands[0], {k: 3})


def test_the_first_iteration_writes_and_the_others_read():
    """An online sum: begin branch stores, every other iteration loads what the one before it stored."""
    b, y, t = start()
    n = b.scalar_parameter("n")
    with b.loop(0, n) as i:
        with branch(b, ir.compare("eq", i, 0)) as (then, orelse):
            with then:
                b.store(t, zeros(b, 8, 4))
            with orelse:
                b.store(t, b.op("exp", b.load(t)))
        b.store(y, b.load(t))
    (allocate,) = allocates(b)
    assert "unproven" not in allocate.attributes


def test_what_stays_open_is_marked():
    b, y, t = start()
    index = b.parameter("index", TensorType(INT32, (4,)))
    with b.loop(0, 4) as i:
        b.store(t, zeros(b, 2, 4), (ir.mod(b.read(index, (i,)), 7), 0))  # data-dependent places
    b.store(y, b.load(t))
    (allocate,) = allocates(b)
    assert allocate.attributes["unproven"] is True
