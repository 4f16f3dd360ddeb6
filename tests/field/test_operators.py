"""Field cases, section D: operators and element types (the ops of this stage)."""

import ml_dtypes
import numpy as np
import pytest
import torch

from blackbox import define, mistake, quiet
from pypto.errors.base import UserError

INF, NAN = np.inf, np.nan
TYPES = {
    "FP32": np.float32,
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "INT32": np.int32,
    "INT64": np.int64,
    "INT8": np.int8,
}
TYPES |= {"UINT8": np.uint8, "BOOL": np.bool_, "INT16": np.int16}
LABEL = {np.dtype(t): name for name, t in TYPES.items()}


def apply(tmp_path, form, *arrays, out="FP32", shape=None):
    """The result of ``form`` over parameters ``x``, ``y``, ``z``."""
    names = "xyz"[: len(arrays)]
    parameters = "".join(f"{n}: Tensor({list(a.shape)}, DT_{LABEL[a.dtype]}), " for n, a in zip(names, arrays, strict=True))
    shape = list(arrays[0].shape) if shape is None else shape
    kernel = define(tmp_path, f"@jit\ndef kernel({parameters}out: Tensor({shape}, DT_{out})):\n    out[:] = {form}\n")
    result = np.zeros(shape, TYPES[out])
    with quiet():
        kernel(*arrays, result)
    return result


def f32(*values):
    return np.array(values, np.float32)


def i32(*values):
    return np.array(values, np.int32)


def same(a, b):
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


def test_fc_075_softmax_of_special_rows(engine, tmp_path):
    x = f32([-INF, -INF, -INF], [-INF, 2, -INF], [1, INF, 0], [1, 1, 1])
    got = apply(tmp_path, "softmax(x, -1)", x)
    expected = torch.softmax(torch.from_numpy(x), -1).numpy()
    assert np.allclose(got, expected, equal_nan=True, atol=1e-6)
    assert np.isnan(got[0]).all() and got[1].tolist() == [0, 1, 0]


def test_fc_077_nan_propagates_through_extremes(engine, tmp_path):
    x = f32([NAN, 6, 8], [6, NAN, 8], [6, 8, NAN])
    y = f32([1, 1, 1], [7, 7, 7], [NAN, 1, NAN])
    for name, function in [("amax", np.max), ("amin", np.min)]:
        assert np.isnan(apply(tmp_path, f"{name}(x, -1)", x, shape=[3])).all()
        assert np.isnan(apply(tmp_path, f"{name}(x, 0)", x, shape=[3])).all(), function
    assert same(apply(tmp_path, "maximum(x, y)", x, y), np.maximum(x, y))
    assert same(apply(tmp_path, "minimum(x, y)", x, y), np.minimum(x, y))
    assert same(apply(tmp_path, "maximum(x, 6.5)", x), np.maximum(x, np.float32(6.5)))


def test_fc_078_argmax_takes_the_lowest_index_and_the_first_nan(engine, tmp_path):
    x = f32([3, 7, 7, 1], [NAN, 6, 8, 0], [1, 2, NAN, NAN], [-INF, -INF, -INF, -INF])
    assert apply(tmp_path, "argmax(x, -1)", x, out="INT32", shape=[4]).tolist() == [1, 0, 2, 0]
    assert apply(tmp_path, "argmin(x, -1)", x, out="INT32", shape=[4]).tolist() == [3, 0, 2, 0]


def topk(tmp_path, x, k, largest=True):
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor({list(x.shape)}, DT_FP32), v: Tensor([1, {k}], DT_FP32), i: Tensor([1, {k}], DT_INT32)):
    values, indices = topk(x, {k}, -1, {largest})
    v[:] = values
    i[:] = indices
""",
    )
    values, indices = np.zeros((1, k), np.float32), np.zeros((1, k), np.int32)
    with quiet():
        kernel(x, values, indices)
    return values[0].tolist(), indices[0].tolist()


def test_fc_079_topk_with_ties_infinities_and_all(engine, tmp_path):
    assert topk(tmp_path, f32([5, 5, 5, 1, 5]), 3) == ([5, 5, 5], [0, 1, 2])
    assert topk(tmp_path, f32([5, 5, 5, 1, 5]), 5) == ([5, 5, 5, 5, 1], [0, 1, 2, 4, 3])
    values, indices = topk(tmp_path, f32([-INF, 2, -INF, -INF]), 3)
    assert values == [2, -INF, -INF] and indices == [1, 0, 2]
    assert topk(tmp_path, f32([3, 1, 1, 2]), 2, largest=False) == ([1, 1], [1, 2])
    values, indices = topk(tmp_path, f32([1, NAN, 3]), 3)
    assert sorted(indices) == [0, 1, 2]


def test_fc_081_argmin_over_a_narrow_axis_stays_in_range(engine, tmp_path):
    x = np.random.default_rng(0).standard_normal((32, 20)).astype(np.float32) + 100
    assert np.array_equal(apply(tmp_path, "argmin(x, -1)", x, out="INT32", shape=[32]), x.argmin(-1))


@pytest.mark.parametrize("n", [8, 32, 33, 4000])
def test_fc_084_085_cumsum_of_ones(engine, tmp_path, n):
    x = np.ones((2, n), np.float32)
    assert np.array_equal(apply(tmp_path, "cumsum(x, -1)", x)[1], np.arange(1, n + 1))
    assert np.array_equal(apply(tmp_path, "cumsum(x, 0)", x.reshape(n, 2))[:, 1], np.arange(1, n + 1))


@pytest.mark.parametrize("name", ["round", "floor", "ceil", "trunc"])
def test_fc_087_rounding_of_integers_is_exact(engine, tmp_path, name):
    x = i32(16777217, -2147483648, 2147483647, -16777217)
    assert np.array_equal(apply(tmp_path, f"{name}(x)", x, out="INT32"), x)


def test_fc_088_remainder_and_fmod(engine, tmp_path):
    x, y = f32(7, -7, 7, -7), f32(-3, 3, 3, -3)
    assert apply(tmp_path, "remainder(x, y)", x, y).tolist() == [-2, 2, 1, -1]
    assert apply(tmp_path, "x % y", x, y).tolist() == [-2, 2, 1, -1]
    assert apply(tmp_path, "fmod(x, y)", x, y).tolist() == [1, -1, 1, -1]
    assert same(apply(tmp_path, "fmod(x, y)", f32(5, 5, INF, NAN), f32(INF, NAN, 2, 2)), f32(5, NAN, NAN, NAN))
    big = i32(2147483647, -2147483648, 16777217, -2147483647)
    assert np.array_equal(
        apply(tmp_path, "remainder(x, y)", big, i32(10, 7, 16777216, -2), out="INT32"), np.mod(big, i32(10, 7, 16777216, -2))
    )


def test_fc_089_floor_division(engine, tmp_path):
    assert apply(tmp_path, "floor_div(x, y)", i32(-7, 7, 7, -7), i32(3, 3, -3, -3), out="INT32").tolist() == [-3, 2, -3, 2]
    assert apply(tmp_path, "floor_div(x, y)", f32(-7, 7.5), f32(3, -2)).tolist() == [-3, -4]
    apply(tmp_path, "floor_div(x, y)", i32(5, -2147483648, 0), i32(0, -1, 0), out="INT32")  # no trap


def test_fc_089_division_by_zero_is_the_same_on_every_engine(tmp_path):
    from pypto.fuzz.engines import ENGINES, on_engine

    results = []
    for engine in ENGINES:
        with on_engine(engine):
            results.append(apply(tmp_path, "floor_div(x, y)", i32(5, -2147483648, 0, -5), i32(0, -1, 0, 0), out="INT32").tolist())
    assert results[0] == results[1]


def test_fc_091_rounding_modes_to_bf16(engine, tmp_path):
    x = f32(1.00390625, 1.01171875)
    expected = {
        "RINT": [1.0, 1.015625],
        "ROUND": [1.0078125, 1.015625],
        "TRUNC": [1.0, 1.0078125],
        "FLOOR": [1.0, 1.0078125],
        "CEIL": [1.0078125, 1.015625],
    }
    for mode, values in expected.items():
        assert apply(tmp_path, f"cast(x, DT_BF16, CastMode.CAST_{mode})", x, out="BF16").astype(np.float32).tolist() == values, (
            mode
        )


def test_fc_092_special_values_to_bf16(engine, tmp_path):
    quiet_bits = np.array([0x7F800001, 0x7F800000, 0xFF800000], np.uint32).view(np.float32)
    x = np.concatenate([quiet_bits, f32(3.4e38, 1e-40, -0.0)])
    got = apply(tmp_path, "cast(x, DT_BF16)", x, out="BF16").astype(np.float32)
    assert np.isnan(got[0]) and got[1] == INF and got[2] == -INF
    assert got[3] == INF and abs(got[4] - 9.18e-41) < 1e-42
    assert got[5] == 0 and np.signbit(got[5])


def test_fc_097_float_to_integer(tmp_path):
    from pypto.fuzz.engines import ENGINES, on_engine

    x = f32(3e38, -1.5, NAN, 300.7, -INF, 127.5)
    for mode in ("OFF", "ON"):
        results = []
        for engine in ENGINES:
            with on_engine(engine):
                results.append(apply(tmp_path, f"cast(x, DT_INT32, satmode=SaturationMode.{mode})", x, out="INT32").tolist())
        assert results[0] == results[1], mode
        assert results[0][1] == -1 and results[0][3] == 300 and results[0][5] == 127
        if mode == "ON":
            assert results[0][0] == 2147483647 and results[0][4] == -2147483648


def test_fc_098_int8_products_accumulate_in_int32(tmp_path):
    for value, k, expected in [(-128, 131071, 2147467264), (127, 133144, 2147479576)]:
        x, y = np.full((1, k), value, np.int8), np.full((k, 1), value, np.int8)
        assert apply(tmp_path, "matmul(x, y, DT_INT32)", x, y, out="INT32", shape=[1, 1])[0, 0] == expected


def test_fc_098_an_overflow_wraps_alike(tmp_path):
    x, y = np.full((1, 131072), -128, np.int8), np.full((131072, 1), -128, np.int8)
    assert apply(tmp_path, "matmul(x, y, DT_INT32)", x, y, out="INT32", shape=[1, 1])[0, 0] == -2147483648


def test_fc_101_leaky_relu(engine, tmp_path):
    x = np.array([-3, -0.5, 0, 2], np.float16)
    expected = np.where(x >= 0, x, (x.astype(np.float32) * np.float32(0.01)).astype(np.float16))
    assert np.array_equal(apply(tmp_path, "lrelu(x, 0.01)", x, out="FP16"), expected)
    assert np.array_equal(apply(tmp_path, "lrelu(x, 0)", x, out="FP16"), np.maximum(x, 0))
    for slope in ("-0.1", "float('nan')", "float('inf')"):
        with mistake("negative_slope" if slope != "-0.1" else "must be non-negative"):
            apply(tmp_path, f"lrelu(x, {slope})", x, out="FP16")


def test_fc_102_sign_of_special_values(engine, tmp_path):
    got = apply(tmp_path, "sign(x)", f32(1e-45, -1e-45, 0.0, -0.0, NAN, INF, -3))
    assert got[0] == 1 and got[1] == -1 and got[2] == 0 and got[3] == 0 and np.isnan(got[4]) and got[5] == 1 and got[6] == -1


def test_fc_104_clip(engine, tmp_path):
    x = f32(-5, 1e-40, 0.5, 9, NAN)
    assert same(apply(tmp_path, "clip(x, 0.0, 1.0)", x), f32(0, 1e-40, 0.5, 1, NAN))
    assert apply(tmp_path, "clip(x, 3.0, 1.0)", x)[:4].tolist() == [1, 1, 1, 1]
    assert np.isnan(apply(tmp_path, "clip(x, float('nan'), 1.0)", x)).all()
    assert same(apply(tmp_path, "clip(x, max=1.0)", x), f32(-5, 1e-40, 0.5, 1, NAN))


@pytest.mark.parametrize("dtype", ["FP16", "FP32"])
def test_fc_105_infinite_and_nan_literals(engine, tmp_path, dtype):
    for text, value in [("float('inf')", INF), ("-float('inf')", -INF), ("float('nan')", NAN), ("1e30 * 1e30", INF)]:
        x = np.array([1, 2], TYPES[dtype])
        assert same(apply(tmp_path, f"full([2], {text}, DT_{dtype})", x, out=dtype).astype(np.float32), f32(value, value))
        assert same(apply(tmp_path, f"x + {text}", x, out=dtype).astype(np.float32), f32(value, value))


def test_fc_107_where_with_scalars(engine, tmp_path):
    c, x = np.array([True, False]), np.array([2, 3], np.float32)
    assert apply(tmp_path, "where(x, y, -1.5)", c, x, shape=[2]).tolist() == [2, -1.5]
    for form in ("where(x, y, -1)", "where(x, -1, y)"):
        with mistake("negative"):
            apply(tmp_path, form, c, np.array([1, 2], np.uint8), out="UINT8", shape=[2])


def test_fc_112_axes_out_of_range_duplicate_and_boolean(tmp_path):
    x = np.ones((2, 3), np.float32)
    for form in (
        "sum(x, -3)",
        "sum(x, 2)",
        "amax(x, 5)",
        "argmax(x, -9)",
        "softmax(x, 7)",
        "x.transpose(0, 2)",
        "x.permute([0, 0])",
        "x.permute([0])",
    ):
        with mistake("axis"):
            apply(tmp_path, form, x)
    for form in ("pypto.sum(x, 'a')", "pypto.sum(x, None)", "pypto.sum(x, 1.5)", "pypto.sum(x, [0, 0])"):
        with mistake("dim"):
            apply(tmp_path, form, x)


def test_fc_117_scalars_on_the_left_and_chains(engine, tmp_path):
    x = f32(1, 2, 4)
    assert apply(tmp_path, "2 - x", x).tolist() == [1, 0, -2]
    assert apply(tmp_path, "1 / x", x).tolist() == [1, 0.5, 0.25]
    assert apply(tmp_path, "2 * x + 1 - x / 2", x).tolist() == [2.5, 4, 7]
    assert apply(tmp_path, "x ** 2", x).tolist() == [1, 4, 16]
    assert apply(tmp_path, "x // 2", x).tolist() == [0, 1, 2]
    assert apply(tmp_path, "zeros(3, dtype=DT_FP32) + ones([3])", x).tolist() == [1, 1, 1]
    assert apply(tmp_path, "(-x).abs().sqrt().relu().exp().log()", x)[2] == pytest.approx(2)
    assert apply(tmp_path, "+x", x).tolist() == x.tolist()
    for form in ("2 ** x", "x & x", "round(x, 'a')", "add(x, x, alpha=2)"):
        try:
            apply(tmp_path, form, x)
        except UserError:
            continue


def test_fc_118_bitwise_ops_on_floats(tmp_path):
    for form in ("bitwise_and(x, x)", "bitwise_or(x, 1)", "bitwise_xor(x, x)", "bitwise_not(x)"):
        with mistake("bitwise", "fp32"):
            apply(tmp_path, form, f32(1, 2))


def test_fc_119_a_long_chain_of_movement(engine, tmp_path):
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    got = apply(
        tmp_path,
        "concat([x[:, 0:1], (x.reshape([16, 4, 64]).permute([2, 0, 1]) * 2.0).reshape([64, 64])[:, 1:]], -1) + x[0:1]",
        x,
    )
    expected = np.concatenate([x[:, :1], (x.reshape(16, 4, 64).transpose(2, 0, 1) * 2).reshape(64, 64)[:, 1:]], 1) + x[:1]
    assert np.array_equal(got, expected)


def test_fc_111_comparisons_of_empty_tensors_are_empty_or_refused(tmp_path):
    for shape in ([0, 4], [4, 0]):
        x = np.ones(shape, np.float32)
        try:
            assert apply(tmp_path, "eq(x, x)", x, out="BOOL").shape == tuple(shape)
        except UserError as error:
            assert "mpty" in str(error)


def test_fc_121_a_product_of_sizes_that_overflows_is_diagnosed(tmp_path):
    with mistake("2147483647"):
        apply(tmp_path, "full([65536, 65536], 0.0, DT_FP32)[0:1, 0:2].reshape([2])", f32(1, 2))
