"""Valid shapes: what every rule makes of partial tensors, statically and with symbols; field cases of section B at op level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import ops
from pypto.dtypes import DataType
from pypto.errors import operations as errors
from pypto.errors.base import UserError
from pypto.errors.regions import ReshapeSize
from pypto.errors.runtime import PartialNotRepresentable, ReadUnwritten, RegionOutOfBounds, ValidShapesDisagree
from pypto.ir import symbols as ir
from pypto.ir.program import TensorType, Value
from pypto.ops.direct import DirectRecorder, recording
from pypto.ops.dtype_sets import BOOL, F16, F32, I32
from pypto.ops.guards import guards
from pypto.ops.table import OPERATIONS
from pypto.ops.valid import reshaped_valid
from pypto.reference import run


def typed(shape, valid=None, dtype=F32):
    return Value(TensorType(dtype, tuple(shape), None if valid is None else tuple(valid)))


def inferred(name, *values, **attributes):
    return OPERATIONS[name].infer(values, attributes)[0]


def kernel(build, **parameters):
    """Run a program that ``build`` records on loaded parameters; returns the arrays of the outputs."""
    recorder = DirectRecorder("kernel")
    arrays, storages = {}, {}
    for name, array in parameters.items():
        from pypto.dtypes import BY_NUMPY

        storages[name] = recorder.builder.parameter(name, TensorType(BY_NUMPY[array.dtype], array.shape))
        arrays[storages[name]] = array
    with recording(recorder):
        build(recorder.builder, **storages)
    run(recorder.builder.finish(), arrays)


# -- rules --------------------------------------------------------------------------------------------------------------------


def test_binary_ops_take_the_minimum_and_respect_broadcasting():
    assert inferred("add", typed((4, 8), (3, 8)), typed((4, 8), (4, 5))).valid == (3, 5)
    assert inferred("add", typed((4, 8), (3, 5)), typed((4, 1))).valid == (3, 5)
    assert inferred("add", typed((8,), (5,)), typed((4, 8), (3, 8))).valid == (3, 5)
    assert inferred("mul", typed((1, 8)), typed((4, 1), (2, 1))).valid == (2, 8)
    assert inferred("mul", typed((1, 8), (0, 8)), typed((4, 8))).valid == (0, 8)


def test_reductions_give_one_or_remove():
    assert inferred("sum", typed((4, 8), (3, 5)), axis=1, keepdim=True).valid == (3, 1)
    assert inferred("amax", typed((4, 8), (3, 5)), axis=0, keepdim=False) == TensorType(F32, (8,), (5,))
    assert inferred("sum", typed((8,), (5,)), axis=0, keepdim=False) == TensorType(F32, (1,))


def test_movement_moves_the_extent():
    assert inferred("permute", typed((2, 3, 4), (1, 2, 3)), axes=(2, 0, 1)).valid == (3, 1, 2)
    assert inferred("concat", typed((2, 4), (2, 3)), typed((5, 4), (1, 3)), axis=0) == TensorType(F32, (7, 4), (3, 3))
    assert inferred("matmul", typed((4, 8), (3, 6)), typed((8, 5), (6, 2)), out_dtype=F32).valid == (3, 2)
    assert inferred("expand_clone", typed((4, 1), (2, 1)), shape=(4, 8)).valid == (2, 8)
    assert inferred("reinterpret", typed((2, 8), (2, 6)), dtype=F16) == TensorType(F16, (2, 16), (2, 12))


def test_view_clips_and_symbols_stay():
    assert inferred("view", typed((8, 8), (6, 8)), shape=(4, 4), offsets=(4, 6)).valid == (2, 2)
    assert inferred("view", typed((8, 8), (6, 8)), shape=(4, 4), offsets=(7, 0)).valid == (0, 4)
    n = ir.Symbol("n", low=0, high=8)
    found = inferred("view", typed((8, 8), (n, 8)), shape=(4, 4), offsets=(4, 0)).valid[0]
    assert [ir.evaluate(found, {n: v}) for v in (0, 4, 6, 8)] == [0, 0, 2, 4]


def test_an_explicit_extent_overrides_but_stays_inside():
    assert inferred("view", typed((8, 8)), shape=(4, 4), offsets=(0, 0), valid=(2, 3)).valid == (2, 3)
    with pytest.raises(errors.ValidShapeTooLarge, match="valid_shape"):
        inferred("view", typed((8, 8)), shape=(4, 4), offsets=(0, 0), valid=(5, 3))
    with pytest.raises(errors.LengthMismatch):
        inferred("view", typed((8, 8)), shape=(4, 4), offsets=(0, 0), valid=(4,))
    with pytest.raises(errors.LengthMismatch):
        inferred("view", typed((8, 8)), shape=(4,), offsets=(0, 0))
    with pytest.raises(RegionOutOfBounds):
        inferred("view", typed((8, 8)), shape=(4, 4), offsets=(6, 0), valid=(4, 4))


# -- reshape ------------------------------------------------------------------------------------------------------------------


def region(shape, valid):
    """Mask of the valid elements, row-major."""
    mask = np.zeros(shape, np.bool_)
    mask[tuple(slice(0, v) for v in valid)] = True
    return mask.reshape(-1)


@given(st.data())
@settings(max_examples=400, derandomize=True, deadline=None)
def test_reshape_keeps_exactly_the_valid_elements_or_refuses(data):
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
    total = math.prod(sizes)
    target, rest = [], total
    while rest > 1 and len(target) < 3:
        target.append(data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0])))
        rest //= target[-1]
    target.append(rest)
    valid = [data.draw(st.integers(1, s)) for s in sizes]
    before = region(sizes, valid)
    try:
        found = reshaped_valid(sizes, valid, target)
    except errors.ReshapePartial:
        # Refused: then no rectangle at the origin of the target holds exactly these elements.
        shapes = np.indices(target).reshape(len(target), -1)[:, before]
        box = [int(axis.max()) + 1 for axis in shapes]
        assert not np.array_equal(region(target, box), before)
        return
    assert np.array_equal(region(target, found), before)


def test_fc_027_a_partial_reshape_is_refused_or_masked():
    with pytest.raises(errors.ReshapePartial, match="valid part"):
        inferred("reshape", typed((4, 8), (3, 8)), shape=(2, 16))
    assert inferred("reshape", typed((4, 8), (2, 8)), shape=(2, 16)).valid == (1, 16)
    assert inferred("reshape", typed((4, 8), (3, 8)), shape=(2, 16), valid=(2, 16)).valid == (2, 16)
    with pytest.raises(ReshapeSize):
        inferred("reshape", typed((4, 8)), shape=(5, 7))


def test_reshape_with_symbols_guards_at_run_time():
    n = ir.Symbol("n", low=0, high=4)
    with guards() as needed:
        found = inferred("reshape", typed((4, 8), (n, 8)), shape=(2, 16))
    ((condition, error),) = needed
    assert isinstance(error, PartialNotRepresentable)
    assert [bool(ir.evaluate(condition, {n: v})) for v in range(5)] == [True, False, True, False, True]
    assert ir.evaluate(found.valid[0], {n: 2}) == 1
    with guards() as needed:
        assert inferred("reshape", typed((4, 8), (n, 8)), shape=(4, 2, 4)).valid == (n, 2, 4)
    assert not needed


def test_reshape_of_a_view_that_may_reach_past_the_end_guards_its_inner_axes():
    n, m, one = ir.Symbol("n", low=0, high=4), ir.Symbol("m", low=0, high=8), ir.Symbol("one", low=0, high=1)
    with guards() as needed:
        found = inferred("reshape", typed((4, 8), (n, m)), shape=(32,))
    ((condition, _),) = needed
    assert [bool(ir.evaluate(condition, {m: v})) for v in (7, 8)] == [False, True]
    assert ir.evaluate(found.valid[0], {n: 3, m: 8}) == 24
    with guards() as needed:
        found = inferred("reshape", typed((1, 8), (one, m)), shape=(8,))
    assert not needed
    assert [ir.evaluate(found.valid[0], {one: v, m: 5}) for v in (0, 1)] == [0, 5]
    found = inferred("reshape", typed((4, 8, 1), (4, m, one)), shape=(4, 8))
    assert [ir.evaluate(found.valid[0], {one: v, m: 5}) for v in (0, 1)] == [0, 4] and found.valid[1] == m


def test_unsqueeze_of_a_partial_view_then_flattened():
    """Tensor API section 9.8: view [32, 32] with valid [16, 16] gives shape [1, 32, 32], valid [1, 16, 16]."""
    with recording(DirectRecorder()) as recorder:
        storage = recorder.builder.parameter("x", TensorType(F32, (32, 32)))
        x = recorder.builder.load(storage, (32, 32), (0, 0), (16, 16))
        once = ops.PUBLIC["unsqueeze"](x, 0)
        assert once.type == TensorType(F32, (1, 32, 32), (1, 16, 16))
        assert ops.PUBLIC["squeeze"](once).type == TensorType(F32, (32, 32), (16, 16))
        flat = ops.PUBLIC["reshape"](once, [-1], valid_shape=[512])
        assert flat.type.shape == (1024,)


# -- concat -------------------------------------------------------------------------------------------------------------------


def test_concat_refuses_gaps():
    with pytest.raises(errors.ConcatPartial, match="gap"):
        inferred("concat", typed((2, 4), (1, 4)), typed((2, 4)), axis=0)
    with pytest.raises(errors.ConcatPartial):
        inferred("concat", typed((2, 4), (2, 3)), typed((2, 4)), axis=0)
    n = ir.Symbol("n", low=0, high=2)
    with guards() as needed:
        inferred("concat", typed((2, 4), (n, 4)), typed((2, 4)), axis=0)
    ((condition, error),) = needed
    assert isinstance(error, ValidShapesDisagree) and not ir.evaluate(condition, {n: 1}) and ir.evaluate(condition, {n: 2})


# -- whole programs -------------------------------------------------------------------------------------------------------------


def test_fc_021_a_tail_changes_only_real_elements():
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    y = np.full((6, 8), -1, np.float32)

    def build(b, x, y):
        part = b.load(x, (4, 4), (2, 4))
        assert part.type.valid == (2, 4)
        b.store(y, ops.PUBLIC["add"](part, 1.0), (3, 2))

    kernel(build, x=x, y=y)
    expected = np.full((6, 8), -1, np.float32)
    expected[3:5, 2:6] = x[2:, 4:] + 1
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("give_valid", [True, False])
def test_fc_022_blocks_of_two_over_five(give_valid):
    x = np.random.default_rng(1).standard_normal((5, 5)).astype(np.float32)
    y = np.zeros((5, 1), np.float32)

    def build(b, x, y):
        with b.loop(0, 3, name="i") as i:
            rows = ir.minimum(2, ir.sub(5, ir.mul(i, 2)))
            total = ops.PUBLIC["full"]([2, 1], 0.0, F32, valid_shape=[rows, 1])
            for j in range(3):
                valid = (rows, min(2, 5 - 2 * j)) if give_valid else None
                block = b.load(x, (2, 2), (ir.mul(i, 2), 2 * j), valid)
                total = ops.PUBLIC["add"](total, ops.PUBLIC["sum"](block, -1, True))
            b.store(y, total, (ir.mul(i, 2), 0))

    kernel(build, x=x, y=y)
    assert np.allclose(y[:, 0], x.sum(1), atol=1e-5)


def test_fc_024_025_empty_tiles():
    """Nothing valid: no store, sums are 0, maxima keep the accumulator, a product over nothing is 0."""
    x, y = np.ones((4, 8), np.float32), np.full((4, 8), 7, np.float32)
    total, product = np.full((4, 1), 3, np.float32), np.ones((4, 4), np.float32)

    def build(b, x, y, total, product):
        empty = b.load(x, (4, 8), (4, 0))
        assert empty.type.valid == (0, 8)
        b.store(y, ops.PUBLIC["exp"](empty))
        narrow = b.load(x, (4, 8), (0, 8), (4, 0))
        best = ops.PUBLIC["maximum"](b.load(total), ops.PUBLIC["amax"](narrow, -1, True))
        b.store(total, ops.PUBLIC["add"](best, ops.PUBLIC["sum"](narrow, -1, True)))
        b.store(product, ops.PUBLIC["matmul"](narrow, b.load(x, (8, 4), (0, 0), (0, 4)), F32))

    kernel(build, x=x, y=y, total=total, product=product)
    assert (y == 7).all() and (total == 3).all() and (product == 0).all()


def test_fc_029_views_at_every_run_time_offset():
    x = np.random.default_rng(2).standard_normal((7, 6)).astype(np.float32)
    at = np.zeros(1, np.int32)
    for offset in range(4):
        y, at[0] = np.zeros((2, 12), np.float32), offset

        def build(b, x, at, y):
            start = b.read(at, (0,), "start")
            part = b.load(x, (4, 6), (start, 0), (4, 6))
            b.store(y, ops.PUBLIC["add"](ops.PUBLIC["reshape"](part, [2, 12]), 1.0))

        kernel(build, x=x, at=at, y=y)
        assert np.array_equal(y, x[offset : offset + 4].reshape(2, 12) + 1)
    at[0] = 4
    with pytest.raises(RegionOutOfBounds, match="leaves axis 0 of 'x'"):
        kernel(build, x=x, at=at, y=y)


def test_fc_031_a_broadcast_operand_keeps_its_own_extent():
    x = np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)
    y = np.zeros((3, 5), np.float32)

    def build(b, x, y):
        part = b.load(x, (4, 8), (0, 0), (3, 5))
        b.store(y, ops.PUBLIC["exp"](ops.PUBLIC["sub"](part, ops.PUBLIC["amax"](part, -1, True))))

    kernel(build, x=x, y=y)
    part = x[:3, :5]
    assert np.allclose(y, np.exp(part - part.max(1, keepdims=True)), rtol=1e-6)


def test_dynamic_sizes_that_differ_stop_the_run():
    n, m = ir.Symbol("n", low=0), ir.Symbol("m", low=0)
    recorder = DirectRecorder()
    b = recorder.builder
    x, y, z = (b.parameter(name, TensorType(F32, (s,))) for name, s in (("x", n), ("y", m), ("z", n)))
    with recording(recorder):
        b.store(z, ops.PUBLIC["add"](b.load(x), b.load(y)))
    program = b.finish()
    arrays = [np.ones(3, np.float32), np.ones(3, np.float32), np.zeros(3, np.float32)]
    run(program, dict(zip((x, y, z), arrays, strict=True)))
    assert arrays[2].tolist() == [2, 2, 2]
    with pytest.raises(UserError, match="broadcast compatible, but at run time 3 differs from 4"):
        run(program, {x: arrays[0], y: np.ones(4, np.float32), z: arrays[2]})


def test_reading_padding_of_a_local_is_an_error():
    y = np.zeros((8, 16), np.float32)

    def build(b, y):
        local = b.allocate("t", TensorType(F32, (8, 16)))
        b.store(local, ops.PUBLIC["full"]([4, 16], 1.0, F32))
        b.store(y, b.load(local, (8, 16), (0, 0), (4, 16)))
        b.store(y, b.load(local))

    with pytest.raises(ReadUnwritten, match=r"'t' is read at \[4, 0\]"):
        kernel(build, y=y)
    assert y[:4].all() and not y[4:].any()


def test_scatter_update_numbers_rows_over_whole_axes():
    table, index, rows = typed((8, 4), (6, 4)), typed((2, 3), (2, 2), I32), typed((6, 4))
    with pytest.raises(ValidShapesDisagree, match="partial index"):
        inferred("scatter_update", table, index, rows)
    assert inferred("scatter_update", table, typed((1, 6), (1, 2), I32), rows).valid == (6, 4)


def test_where_and_comparisons_give_bool_and_minimum():
    found = inferred("gt", typed((4, 8), (2, 8)), typed((4, 8), (4, 3)))
    assert found == TensorType(BOOL, (4, 8), (2, 3))
    assert inferred("where", Value(found), typed((4, 8)), typed((4, 1), (1, 1))).valid == (1, 3)
    assert DataType.DT_BOOL is BOOL
