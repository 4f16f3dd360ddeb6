"""Kernels as users write them that once gave a wrong number or a wrong error; every one runs on every engine."""

import numpy as np
import pytest

from blackbox import define, floats, mistake, quiet


@pytest.mark.parametrize("mark", ["DYNAMIC, DYNAMIC", "DYNAMIC, 16", "DYNAMIC, STATIC"])
def test_one_tensor_passed_twice_may_have_dynamic_axes(engine, tmp_path, mark):
    kernel = define(
        tmp_path,
        f"""
        @jit
        def kernel(cache: Tensor([DYNAMIC, DYNAMIC], DT_FP32), out: Tensor([{mark}], DT_FP32)):
            for i in loop(out.shape[0]):
                out[i : i + 1, :] = out[i : i + 1, :] + 1.0
            cache[:] = cache * 2.0
        """,
    )
    for rows in (10, 12, 10):
        both = floats(rows, 16)
        expected = (both + 1) * 2
        with quiet():
            kernel(both, both)
        assert np.array_equal(both, expected)
        with quiet():
            kernel(both.reshape(2 * rows, 8), both)  # another shape of the same memory
        assert np.array_equal(both, (expected + 1) * 2)
        other = np.zeros_like(both)
        with quiet():
            kernel(both, other)
        assert np.array_equal(both, (expected + 1) * 4) and (other == 1).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_extreme_of_nothing_stands_at_place_0(engine, tmp_path, axis):
    shape = ["1, 9", "5, 1"][axis]
    kernel = define(
        tmp_path,
        f"""
        @jit
        def kernel(x: Tensor([DYNAMIC, DYNAMIC], DT_FP32), lengths: Tensor([3], DT_INT32), most: Tensor([3, {shape}], DT_INT32),
                   least: Tensor([3, {shape}], DT_INT32)):
            for i in loop(3):
                valid = [5, 9]
                valid[{axis}] = lengths[i]
                t = view(x, [5, 9], [0, 0], valid_shape=valid)
                most[i : i + 1, :, :] = unsqueeze(argmax(t, {axis}, True), 0)
                least[i : i + 1, :, :] = unsqueeze(argmin(t, {axis}, True), 0)
        """,
    )
    x, lengths = floats(5, 9), np.array([3, 0, 1], np.int32)
    most = np.full((3, 1, 9) if axis == 0 else (3, 5, 1), -7, np.int32)
    least = most.copy()
    with quiet():
        kernel(x, lengths, most, least)
    for row, length in enumerate(lengths):
        part = np.take(x, range(length), axis)
        for got, function in ((most, np.argmax), (least, np.argmin)):
            assert np.array_equal(got[row], function(part, axis, keepdims=True) if length else np.zeros(got[row].shape))


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("x.reshape([-1])", (0,)),
        ("x.reshape([2, 0])", (2, 0)),
        ("concat([x.reshape([-1]), x.reshape([-1])], 0)", (0,)),
        ("gather(x, 0, cast(x, DT_INT32))", (0, 4)),
        ("scatter_update(x, -2, zeros(0, 0, dtype=DT_INT32), x)", (0, 4)),
        ("softmax(x, 0) + sum(x, 1, True)", (0, 4)),
        ("topk(x, 2)[0]", (0, 2)),
        ("sum(x, 0, True)", (1, 4)),
        ("cumsum(x, 0).transpose(0, 1)", (4, 0)),
    ],
)
def test_tensors_without_elements(engine, tmp_path, form, shape):
    kernel = define(
        tmp_path,
        f"""
        @jit
        def kernel(x: Tensor([0, 4], DT_FP32), out: Tensor([], DT_FP32)):
            out[:] = {form}
        """,
    )
    out = np.full(shape, np.nan, np.float32)
    with quiet():
        kernel(np.zeros((0, 4), np.float32), out)
    assert (out == 0).all()


def test_scatter_update_with_rows_that_are_missing(engine, tmp_path):
    """An index of one row pairs with the rows there are; one of several rows needs them all."""
    kernel = define(
        tmp_path,
        """
        @jit
        def kernel(x: Tensor([4, 4], DT_FP32), index: Tensor([4], DT_INT32), out: Tensor([4, 4], DT_FP32), n: SymbolicScalar,
                   shape=(1, 4)):
            rows = view(x * 10.0, [4, 4], [0, 0], valid_shape=[n, 4])
            out[:] = scatter_update(x, -2, index.reshape(list(shape)), rows)
        """,
    )
    x, index = floats(4, 4), np.array([0, 3, 1, 2], np.int32)
    for n in (4, 3, 0):
        out, expected = np.full((4, 4), np.nan, np.float32), x.copy()
        expected[index[:n]] = (x * np.float32(10))[:n]
        with quiet():
            kernel(x, index, out, n)
        assert np.array_equal(out, expected)
        for shape in ((2, 2), (4, 1)):
            with quiet():
                if n == 4:
                    kernel(x, index, out, n, shape=shape)
                    assert np.array_equal(out, expected)
                else:
                    with mistake("partial src", str(n), kind=ValueError):
                        kernel(x, index, out, n, shape=shape)


def test_triangles_whose_diagonal_is_far_away(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
        @jit
        def kernel(x: Tensor([3, 5], DT_FP32), low: Tensor([3, 5], DT_FP32), high: Tensor([3, 5], DT_FP32), n: SymbolicScalar,
                   fixed=None):
            low[:] = tril(x, n if fixed is None else fixed)
            high[:] = triu(x, n if fixed is None else fixed)
        """,
    )
    x = floats(3, 5) + 10
    for diagonal in (2**31 + 2, -(2**32), 2**63 - 1, -(2**63), 2**32 + 1, 2**70, -(2**70), 1, -1):
        low, high = np.zeros((2, 3, 5), np.float32)
        with quiet():
            kernel(x, low, high, 0, fixed=diagonal)
        place = max(min(diagonal, 9), -9)
        assert np.array_equal(low, np.tril(x, place)) and np.array_equal(high, np.triu(x, place))
        if -(2**63) <= diagonal < 2**63:
            with quiet():
                kernel(x, low, high, diagonal)
            assert np.array_equal(low, np.tril(x, place)) and np.array_equal(high, np.triu(x, place))
