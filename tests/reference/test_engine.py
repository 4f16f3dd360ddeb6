"""The reference engine on programs written by hand: order, loops, branches, carried values, and what a run can find wrong."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import handmade
from handmade import BF16, FP32, INT32, branch, carrying_loop, fp32, number
from pypto.diagnostics import Span
from pypto.errors import runtime as errors
from pypto.errors.base import InternalError, UserError
from pypto.ir import symbols as ir
from pypto.ir.program import Storage, TensorType, Value
from pypto.ops.build import Builder
from pypto.reference import run


def ran(program, *arrays, scalars=(), **options):
    """Arrays by position of the storages, numbers by position of the symbols; returns the arrays."""
    storages = [p for p in program.parameters if isinstance(p, Storage)]
    symbols = [p for p in program.parameters if not isinstance(p, Storage)]
    run(program, dict(zip(storages, arrays, strict=True)), dict(zip(symbols, scalars, strict=True)), **options)
    return arrays


def random(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("rows", [0, 1, 16, 37])
def test_one_program_for_all_sizes_and_tails(rows):
    x, y = ran(handmade.tail(), random(rows, 8), np.zeros((rows, 8), np.float32))
    assert np.allclose(y, np.exp(x), rtol=1e-6)


def test_in_place_reshape_writes_through():
    (y,) = ran(handmade.reshape_in_place(), np.zeros((4, 8), np.float32))
    assert (y == 2).all()


def test_fc_004_a_view_keeps_what_it_saw():
    (y,) = ran(handmade.view_then_write(), np.full((32, 32), 5, np.float32))
    expected = np.zeros((32, 32), np.float32)
    expected[16:, 16:] = 1
    expected[:16, :16] = 1
    assert np.array_equal(y, expected)


def test_swap_of_storages_and_of_one_storage_passed_twice():
    x, y = random(4, 8), random(4, 8) + 1
    before = x.copy(), y.copy()
    ran(handmade.swap(), x, y)
    assert np.array_equal(x, before[1]) and np.array_equal(y, before[0])


@pytest.mark.parametrize("n", [0, 1, 7])
def test_fc_059_carried_tensor_and_number(n):
    x, y, z = random(n, 8), np.zeros((1, 8), np.float32), np.zeros(1, np.int32)
    ran(handmade.accumulate(), x, y, z)
    assert np.allclose(y[0], x.sum(0), atol=1e-5) and z[0] == n


@pytest.mark.parametrize("n", [0, 3])
def test_fc_058_before_a_loop(n):
    a, c = random(1, 8), random(n, 8) + 2
    expected = c * (a + 1)
    ran(handmade.before_loop(), a, c)
    assert np.array_equal(c, expected)


@pytest.mark.parametrize(("k", "rows"), [(0, 2), (3, 16)])
def test_fc_068_each_arm_has_its_own_extent(k, rows):
    x, y = random(16, 8), np.zeros((16, 8), np.float32)
    ran(handmade.two_arms(), x, y, scalars=(k,))
    assert np.array_equal(y[:rows], -x[:rows]) and not y[rows:].any()


def test_paged_lengths_and_blocks_from_tensors():
    lengths = np.array([1, 200, 256], np.int32)
    table = np.array([[3, 0], [1, 2], [4, 3]], np.int32)
    cache = random(5, 128, 64).astype(ml_dtypes.bfloat16)
    out = np.full((3, 64), 9, np.float32)
    ran(handmade.paged(), lengths, table, cache, out)
    for s, length in enumerate(lengths):
        rows = np.concatenate([cache[b] for b in table[s]])[:length].astype(np.float64)
        assert np.allclose(out[s], rows.sum(0), atol=1e-3)
    table[1, 1] = 7
    with pytest.raises(errors.RegionOutOfBounds, match="read of 1 elements at offset 7 leaves axis 0 of 'cache'"):
        ran(handmade.paged(), lengths, table, cache, out)


@pytest.mark.parametrize("bounds", [(3, 10, 4), (0, 0, 1), (5, -4, -3), (2, 2, -1), (0, 5, 2)])
def test_loops_visit_exactly_range(bounds):
    b = Builder("visits")
    seen, count = b.parameter("seen", TensorType(INT32, (16,))), b.parameter("count", TensorType(INT32, (1,)))
    start, stop, step = (b.scalar_parameter(name) for name in ("start", "stop", "step"))
    b.effect("write", count, 0, indices=(0,))
    with b.loop(start, stop, step) as i:
        place = b.read(count, (0,))
        b.effect("write", seen, i, indices=(place,))
        b.effect("write", count, ir.add(place, 1), indices=(0,))
    seen, count = ran(b.finish(), np.zeros(16, np.int32), np.zeros(1, np.int32), scalars=bounds)
    assert seen[: count[0]].tolist() == list(range(*bounds))


def test_step_zero_and_division_by_zero_name_the_line():
    b = Builder("zero")
    y, k = b.parameter("y", fp32(4)), b.scalar_parameter("k")
    b.span = Span("kernel.py", 7)
    with b.loop(0, 4, k):
        pass
    with pytest.raises(errors.LoopStepZeroInRun, match="kernel.py:7"):
        ran(b.finish(), np.zeros(4, np.float32), scalars=(0,))
    b = Builder("zero")
    y, k = b.parameter("y", fp32(4)), b.scalar_parameter("k")
    b.span = Span("kernel.py", 9)
    b.effect("write", y, ir.floordiv(4, k), indices=(0,))
    with pytest.raises(errors.DivisionByZeroInRun, match=r"Division or Mod by zero\.[\s\S]*kernel.py:9"):
        ran(b.finish(), np.zeros(4, np.float32), scalars=(0,))


def test_carried_values_swap():
    """Both next values are taken before either is bound."""
    b = Builder("fibonacci")
    out, n = b.parameter("out", TensorType(INT32, (2,))), b.scalar_parameter("n")
    with carrying_loop(b, 0, n, 0, 1) as (_, (first, second), carry):
        carry(second, ir.add(first, second))
    for place, value in enumerate(carry.results):
        b.effect("write", out, value, indices=(place,))
    (out,) = ran(b.finish(), np.zeros(2, np.int32), scalars=(10,))
    assert out.tolist() == [55, 89]


def test_branches_run_one_arm():
    b = Builder("arms")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    k, result = b.scalar_parameter("k"), Value(fp32(4))
    v = b.load(x)
    with branch(b, ir.compare("gt", k, 0), result) as (then, orelse):
        with then:
            then.give(b.op("add", v, number(1.0)))
        with orelse:
            b.store(x, b.op("full", number(7.0), shape=(4,), valid=None))
            orelse.give(b.op("mul", v, number(2.0)))
    b.store(y, result)
    program = b.finish()
    x, y = ran(program, np.ones(4, np.float32), np.zeros(4, np.float32), scalars=(1,))
    assert (y == 2).all() and (x == 1).all()
    x, y = ran(program, np.full(4, 3, np.float32), np.zeros(4, np.float32), scalars=(0,))
    assert (y == 6).all() and (x == 7).all()


def test_locals_are_new_in_every_iteration():
    b = Builder("local")
    y = b.parameter("y", fp32(4))
    with b.loop(0, 2) as i:
        t = b.allocate("scratch", fp32(4))
        with branch(b, ir.compare("eq", i, 0)) as (then, _), then:
            b.store(t, b.op("full", number(1.0), shape=(4,), valid=None))
        b.store(y, b.load(t))
    with pytest.raises(errors.ReadUnwritten, match=r"'scratch' is read at \[0\] before anything wrote it"):
        ran(b.finish(), np.zeros(4, np.float32))


def test_fc_002_a_partly_written_local():
    b = Builder("partly")
    y, t = b.parameter("y", fp32(8, 16)), b.allocate("t", fp32(8, 16))
    b.store(t, b.op("full", number(1.0), shape=(4, 16), valid=None))
    b.store(y, b.op("add", b.load(t), number(1.0)))
    with pytest.raises(errors.ReadUnwritten, match=r"'t' is read at \[4, 0\]"):
        ran(b.finish(), np.zeros((8, 16), np.float32))


def test_elements_are_checked():
    for indices, write in (((4,), False), ((-1,), False), ((9,), True)):
        b = Builder("element")
        x = b.parameter("x", fp32(4))
        if write:
            b.effect("write", x, 1.0, indices=indices)
        else:
            b.effect("write", x, b.read(x, indices, kind="float"), indices=(0,))
        with pytest.raises(errors.IndexOutOfBounds, match="outside axis 0 of size 4"):
            ran(b.finish(), np.zeros(4, np.float32))


def test_stores_stay_inside():
    b = Builder("store")
    x, y, k = b.parameter("x", fp32(4)), b.parameter("y", fp32(6)), b.scalar_parameter("k")
    b.store(y, b.load(x), (k,))
    program = b.finish()
    assert ran(program, random(4), np.zeros(6, np.float32), scalars=(2,))[1][2:].any()
    for k in (3, -1):
        with pytest.raises(errors.RegionOutOfBounds, match="write of 4 elements"):
            ran(program, random(4), np.zeros(6, np.float32), scalars=(k,))


def test_accumulate_rounds_to_the_storage():
    b = Builder("accumulate")
    x, y = b.parameter("x", TensorType(BF16, (4,))), b.parameter("y", TensorType(BF16, (4,)))
    b.effect("accumulate", y, b.load(x), offsets=(0,))
    x, y = (np.full(4, v, ml_dtypes.bfloat16) for v in (1.0, 256.0))
    ran(b.finish(), x, y)
    assert (y.astype(np.float32) == 256).all()


def test_scalars_as_literals():
    b = Builder("literal")
    y, k, f = b.parameter("y", fp32(2)), b.scalar_parameter("k"), b.scalar_parameter("f", "float")
    v = b.op("full", number(ir.add(k, 1)), shape=(2,), valid=None)
    b.store(y, b.op("mul", v, number(f)))
    (y,) = ran(b.finish(), np.zeros(2, np.float32), scalars=(3, 0.5))
    assert y.tolist() == [2.0, 2.0]


def test_print_gives_valid_parts(capsys):
    b = Builder("print")
    x, k = b.parameter("x", TensorType(BF16, (2, 3))), b.scalar_parameter("k")
    part = b.load(x, (2, 3), (0, 0), (1, 2))
    b.effect("print", k, part, text=("k = ", ", part ", ""))
    ran(b.finish(), np.ones((2, 3), ml_dtypes.bfloat16), scalars=(5,))
    assert capsys.readouterr().out == "k = 5, part [[1. 1.]]\n"
    lines = []
    ran(b.finish(), np.ones((2, 3), ml_dtypes.bfloat16), scalars=(5,), output=lines.append)
    assert lines == ["k = 5, part [[1. 1.]]"]


def test_checks_stop_with_their_error():
    b = Builder("check")
    x, k = b.parameter("x", fp32(2)), b.scalar_parameter("k")
    b.span = Span("kernel.py", 3)
    b.effect("check", ir.compare("lt", k, 4), error=errors.ShapesDisagree(first=k, second=4, operation="ADD"))
    program = b.finish()
    ran(program, np.zeros(2, np.float32), scalars=(3,))
    with pytest.raises(errors.ShapesDisagree, match=r"at run time 5 differs from 4 for op: ADD[\s\S]*kernel.py:3"):
        ran(program, np.zeros(2, np.float32), scalars=(5,))
    assert x.type.dtype is FP32


def test_padding_is_poisoned_or_zero():
    b = Builder("padding")
    x, y = b.parameter("x", fp32(4)), b.parameter("y", fp32(4))
    part = b.load(x, (4,), (0,), (2,))
    b.store(y, b.op("view", part, shape=(4,), offsets=(0,), valid=(4,)))
    program = b.finish()
    y = ran(program, np.ones(4, np.float32), np.zeros(4, np.float32))[1]
    assert y[:2].tolist() == [1, 1] and np.isnan(y[2:]).all()
    y = ran(program, np.ones(4, np.float32), np.zeros(4, np.float32), poison=False)[1]
    assert y.tolist() == [1, 1, 0, 0]


def test_data_dependent_indices_are_checked():
    for name, attributes in (("gather", {"axis": 0}), ("index_select", {"axis": 0})):
        b = Builder(name)
        x, i = b.parameter("x", fp32(4)), b.parameter("i", TensorType(INT32, (2,)))
        y = b.parameter("y", fp32(2))
        b.span = Span("kernel.py", 5)
        b.store(y, b.op(name, b.load(x), b.load(i), **attributes))
        program = b.finish()
        assert ran(program, random(4), np.array([3, 0], np.int32), np.zeros(2, np.float32))[2].all()
        for bad in (4, -1):
            with pytest.raises(
                errors.IndexOutOfBounds, match=rf"{name}: index {bad} is outside axis 0 of size 4[\s\S]*kernel.py:5"
            ):
                ran(program, random(4), np.array([3, bad], np.int32), np.zeros(2, np.float32))


def test_our_own_mistakes_are_internal_errors():
    b = Builder("wrong")
    b.parameter("x", fp32(4))
    with pytest.raises(InternalError, match="report it"):
        ran(b.finish(), np.zeros(5, np.float32))
    assert not issubclass(InternalError, UserError)
