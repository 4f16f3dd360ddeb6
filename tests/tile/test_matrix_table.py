"""Products over element types and valid extents, against numpy; poison around the operands never reaches a result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.cores.enums import MemorySpace, TensorLayout
from pypto.dtypes import DataType
from pypto.errors.tile_matrix import MatrixExtent, MatrixInnerExtents, MatrixTargetTooSmall
from pypto.ops.tile.numbers import FP4_VALUES, as_floats, hifloat8
from tile.calls import outside, run, same, tile, values_of

S, L, D = MemorySpace, TensorLayout, DataType
FP32, INT8, INT32 = D.DT_FP32, D.DT_INT8, D.DT_INT32
PAIRS = [
    *((one, one) for one in (D.DT_FP16, D.DT_BF16, FP32, D.DT_HF8, INT8)),
    *((left, right) for left in (D.DT_FP8E4M3, D.DT_FP8E5M2) for right in (D.DT_FP8E4M3, D.DT_FP8E5M2)),
]
EXTENTS = {  # M, K, N within tiles of [64, 48] and [48, 80]
    "full": (64, 48, 80),
    "short M": (33, 48, 80),
    "short K": (64, 31, 80),
    "short N": (64, 48, 17),
    "short all": (5, 7, 9),
    "one": (1, 1, 1),
}


def factors(left, right, extents, layout=L.NZ):
    rows, inner, columns = extents
    a = tile((64, 48), left, S.Left, layout, valid=(rows, inner))
    b = tile((48, 80), right, S.Right, valid=(inner, columns))
    for view, seed in ((a, 1), (b, 2)):
        values = values_of((view.rows, view.columns), view.type.dtype, seed)
        view.write(values - 50 if view.type.dtype is INT8 else values)
    return a, b


def exact(a, b):
    return as_floats(a.read(), a.type.dtype).astype(np.float64) @ as_floats(b.read(), b.type.dtype).astype(np.float64)


def accumulator(dtype, values=None):
    return tile((64, 80), dtype, S.Acc, values=values)


def close(found, expected, inner):
    """Sums of fp32 in any order; int32 exactly."""
    if found.dtype == np.int32:
        return same(found, expected.astype(np.int64).astype(np.int32))
    largest = max(1.0, np.abs(expected).max())
    return np.abs(found - expected).max() <= 2.0**-24 * (inner + 1) * largest * 4


@pytest.mark.parametrize("extents", EXTENTS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: f"{one[0].label}x{one[1].label}")
@pytest.mark.parametrize(
    "operation", ["matmul", "matmul_acc", "matmul_bias", "gemv", "gemv_acc", "gemv_bias", "matmul with bias"]
)
def test_products(operation, pair, extents):
    rows, inner, columns = EXTENTS[extents]
    a, b = factors(*pair, EXTENTS[extents])
    kind = INT32 if pair[0] is INT8 else FP32
    target = accumulator(kind)
    before, expected = outside(target, 0, 0, rows, columns), exact(a, b)
    operands = [target, a, b]
    if operation.endswith("_acc"):
        start = np.arange(64 * 80).reshape(64, 80) % 97 - 40
        operands.insert(1, accumulator(kind, start))
        expected = expected + start[:rows, :columns]
    elif "bias" in operation:
        row = np.arange(80)[None] - 40
        operands.append(tile((1, 80), kind, S.Bias, L.ND, values=row, valid=(1, columns)))
        expected = expected + row[:, :columns]
    call = run(operation.split()[0], *operands)
    assert close(target.read_block(0, 0, rows, columns), expected, inner)
    assert same(outside(target, 0, 0, rows, columns), before)
    assert [(touch.role, touch.rows, touch.columns) for touch in call.touched][:2] == [("R", rows, inner), ("R", inner, columns)]
    assert [touch.role for touch in call.touched].count("W") == 1


def test_accumulating_in_place_over_a_loop_of_k():
    a, b = factors(D.DT_FP16, D.DT_FP16, EXTENTS["full"])
    target = accumulator(FP32)
    run("matmul", target, a, b)
    run("matmul_acc", target, target, a, b)
    assert close(target.read(), 2 * exact(a, b), 96)


def test_left_tiles_in_the_layout_of_910b():
    a, b = factors(D.DT_FP16, D.DT_FP16, EXTENTS["short all"], L.ZZ)
    target = accumulator(FP32)
    run("matmul", target, a, b)
    assert close(target.read_block(0, 0, 5, 9), exact(a, b), 7)


def test_int8_sums_wrap_in_int32_and_are_exact():
    a, b = (
        tile(shape, INT8, space, values=np.full(shape, -128)) for shape, space in (((16, 4080), S.Left), ((4080, 16), S.Right))
    )
    target = tile((16, 16), INT32, S.Acc, values=np.full((16, 16), 2**31 - 1))
    run("matmul_acc", target, target, a, b)
    assert (target.read() == (2**31 - 1 + 4080 * 128 * 128) - 2**32).all()


def test_bf16_and_fp16_products_are_not_rounded_before_the_sum():
    a = tile((16, 16), D.DT_BF16, S.Left, values=np.full((16, 16), 1 + 2.0**-7))
    b = tile((16, 16), D.DT_BF16, S.Right, values=np.full((16, 16), 1 + 2.0**-7))
    target = tile((16, 16), FP32, S.Acc)
    run("matmul", target, a, b)
    assert (target.read() == 16 * (1 + 2.0**-7) ** 2).all()


def test_infinities_and_nans_stay_in_their_rows_and_columns():
    a, b = factors(D.DT_FP16, D.DT_FP16, EXTENTS["full"])
    a.write_block(3, 4, np.full((1, 1), np.nan, np.float16))
    b.write_block(7, 9, np.full((1, 1), np.inf, np.float16))
    target = accumulator(FP32)
    run("matmul", target, a, b)
    bad = ~np.isfinite(target.read())
    expected = np.zeros((64, 80), bool)
    expected[3], expected[:, 9] = True, True
    assert same(bad, expected)


# -- block scales -------------------------------------------------------------------------------------------------------------

MX_PAIRS = [
    (D.DT_FP8E4M3, D.DT_FP8E5M2),
    (D.DT_FP8E4M3, D.DT_FP8E4M3),
    (D.DT_FP4_E2M1, D.DT_FP4_E1M2),
    (D.DT_FP4_E2M1, D.DT_FP4_E2M1),
]


def mx_tile(shape, dtype, space, valid, seed):
    made = tile(shape, dtype, space, valid=valid)
    generator = np.random.default_rng(seed)
    bits = dtype.facts.bits
    made.write(generator.integers(0, 16, valid).astype(np.uint8) if bits == 4 else values_of(valid, dtype, seed))
    return made


def scales(shape, space, valid, seed):
    """Exponents around 127, the code of one."""
    layout = L.ZZ if space is S.ScaleLeft else L.NN
    made = tile(shape, D.DT_FP8E8M0, space, layout, 32, valid=valid)
    codes = np.random.default_rng(seed).integers(120, 134, valid).astype(np.uint8)
    made.write(codes.view(D.DT_FP8E8M0.numpy))
    return made, 2.0 ** (codes.astype(int) - 127)


@pytest.mark.parametrize("extents", [(32, 128, 48), (17, 128, 48), (32, 64, 5), (1, 64, 1), (32, 96, 48)])
@pytest.mark.parametrize("pair", MX_PAIRS, ids=lambda one: f"{one[0].label}x{one[1].label}")
@pytest.mark.parametrize("operation", ["matmul_mx", "matmul_mx_acc"])
def test_block_scaled_products(operation, pair, extents):
    rows, inner, columns = extents
    a, b = mx_tile((32, 128), pair[0], S.Left, (rows, inner), 1), mx_tile((128, 48), pair[1], S.Right, (inner, columns), 2)
    left, by_left = scales((32, 4), S.ScaleLeft, (rows, inner // 32), 3)
    right, by_right = scales((4, 48), S.ScaleRight, (inner // 32, columns), 4)
    target = tile((32, 48), FP32, S.Acc)
    operands = [target, a, b, left, right]
    expected = np.zeros((rows, columns))
    for k in range(inner):
        column = as_floats(a.read(), pair[0])[:, k].astype(np.float64) * by_left[:, k // 32]
        expected += np.outer(column, as_floats(b.read(), pair[1])[k].astype(np.float64) * by_right[k // 32])
    if operation.endswith("acc"):
        operands.insert(1, tile((32, 48), FP32, S.Acc, values=np.ones((32, 48))))
        expected += 1
    call = run(operation, *operands)
    assert close(target.read_block(0, 0, rows, columns), expected, inner)
    assert {id(touch.target) for touch in call.touched} == {id(one) for one in operands}


# -- element types ------------------------------------------------------------------------------------------------------------


def test_hifloat8_values():
    """Known points of the format: one, two, the ends of the normal range, the denormals, and the four special codes."""
    table = hifloat8()
    assert table[0b0_0001_000] == 1 and table[0b0_001_0_000] == 2 and table[0b0_001_1_000] == 0.5
    assert table[0b0_11_0111_0] == 2.0**15 and table[0b0_11_1111_0] == 2.0**-15 and table[0b0_11_1111_1] == 1.5 * 2.0**-15
    assert table[0b0_0000_001] == 2.0**-22 and table[0b0_0000_111] == 2.0**-16
    assert table[0] == 0 and np.isnan(table[0x80]) and table[0x6F] == np.inf and table[0xEF] == -np.inf
    finite = table[np.isfinite(table)]
    assert len(set(finite.tolist())) == len(finite), "every code is a number of its own"
    assert same(-table[1:0x6F], table[0x81:0xEF])


def test_four_bit_values():
    e2m1, e1m2 = FP4_VALUES[D.DT_FP4_E2M1], FP4_VALUES[D.DT_FP4_E1M2]
    import ml_dtypes

    assert same(e2m1, np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32))
    assert e1m2.tolist() == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 0, -0.25, -0.5, -0.75, -1, -1.25, -1.5, -1.75]


# -- extents that only a run knows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left,right,error,text",
    [
        ((0, 16), (16, 16), MatrixExtent, "M must be 1 to 4095, but is 0"),
        ((16, 0), (16, 16), MatrixExtent, "K must be 1 to 4095, but is 0"),
        ((16, 16), (16, 0), MatrixExtent, "N must be 1 to 4095, but is 0"),
        ((16, 16), (15, 16), MatrixInnerExtents, "K dimensions must match, got lhs K=16, rhs K=15"),
        ((17, 16), (16, 16), MatrixTargetTooSmall, r"the product is \[17, 16\], but dst_tile holds \[16, 16\]"),
    ],
)
def test_extents_at_run_time(left, right, error, text):
    a, b = tile((32, 16), D.DT_FP16, S.Left, valid=left), tile((16, 16), D.DT_FP16, S.Right, valid=right)
    with pytest.raises(error, match=text):
        run("matmul", tile((16, 16), FP32, S.Acc), a, b)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.integers(1, 64), st.integers(1, 48), st.integers(1, 80), st.sampled_from([D.DT_FP16, D.DT_BF16, FP32, INT8]))
def test_any_extents(rows, inner, columns, dtype):
    a, b = factors(dtype, dtype, (rows, inner, columns))
    target = accumulator(INT32 if dtype is INT8 else FP32)
    run("matmul", target, a, b)
    assert close(target.read_block(0, 0, rows, columns), exact(a, b), inner)


def test_work_follows_m_n_k():
    from pypto.ops.tile.table import find
    from tile.calls import Call

    def steps(dtype, extents):
        a, b = factors(dtype, dtype, extents)
        return list(find("matmul").work(Call("matmul", (accumulator(FP32), a, b))))

    assert steps(D.DT_FP16, (64, 48, 80)) == [("MATMUL", 4 * 5 * 3)]
    assert steps(FP32, (64, 48, 80)) == [("MATMUL", 4 * 5 * 6)]
    assert steps(INT8, (17, 33, 1)) == [("MATMUL", 2 * 1 * 2)]


@pytest.mark.parametrize("extents", [(130, 70, 100), (64, 200, 64), (200, 64, 64), (65, 65, 65)])
@pytest.mark.parametrize("dtype", [FP32, INT8], ids=lambda one: one.label)
def test_products_larger_than_a_block(dtype, extents):
    rows, inner, columns = extents
    a, b = tile((208, 208), dtype, S.Left, valid=(rows, inner)), tile((208, 208), dtype, S.Right, valid=(inner, columns))
    for view, seed in ((a, 1), (b, 2)):
        view.write(values_of((view.rows, view.columns), dtype, seed))
    target = tile((208, 208), INT32 if dtype is INT8 else FP32, S.Acc)
    run("matmul", target, a, b)
    assert close(target.read_block(0, 0, rows, columns), exact(a, b), inner)
