"""Bias, scale, ReLU, TF32, int8 accumulation: what extend_params adds to a product (tensor API section 9.9)."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ops
from pypto.enums import ReLuType, TransMode
from pypto.errors.runtime import AccumulatorOverflow
from pypto.ir.program import TensorType
from pypto.ops.direct import DirectRecorder, recording
from pypto.ops.dtype_sets import F16, F32, I8, I32
from pypto.ops.matmul import truncated_scale
from pypto.reference import evaluate, run

matmul = ops.PUBLIC["matmul"]
RNG = np.random.default_rng(4)


def extended(a, b, out, bias=None, **parameters):
    if bias is None:
        return evaluate(lambda x, y: matmul(x, y, out, extend_params=parameters), a, b)
    return evaluate(lambda x, y, z: matmul(x, y, out, extend_params={"bias_tensor": z, **parameters}), a, b, bias)


def test_bias_then_relu():
    a, b = RNG.standard_normal((2, 5, 7)).astype(np.float16), RNG.standard_normal((2, 7, 3)).astype(np.float16)
    wide = a.astype(np.float64) @ b.astype(np.float64)
    for bias in (RNG.standard_normal((1, 3)), RNG.standard_normal((1, 1, 3)), RNG.standard_normal((2, 1, 3))):
        bias = bias.astype(np.float32)
        got = extended(a, b, F16, bias, relu_type=ReLuType.RELU)
        assert np.allclose(got, np.maximum(wide + bias, 0), atol=4e-3)


def test_int8_dequantised_and_quantised():
    a, b = RNG.integers(-9, 9, (4, 6)).astype(np.int8), RNG.integers(-9, 9, (6, 5)).astype(np.int8)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    scale = 0.25
    assert np.array_equal(extended(a, b, F16, scale=scale), (exact * scale).astype(np.float16))
    bias = RNG.integers(-50, 50, (1, 5)).astype(np.int32)
    assert np.array_equal(extended(a, b, I32, bias), exact + bias)
    assert np.array_equal(extended(a, b, I8, bias, scale=scale), np.clip(np.rint((exact + bias) * scale), -128, 127))
    words = np.array([[0.5, 2.0, 1.0, 0.25, 4.0]], np.float32).view(np.uint32).astype(np.int64)
    got = evaluate(lambda x, y, s: matmul(x, y, F16, extend_params={"scale_tensor": s}), a, b, words)
    assert np.array_equal(got, (exact * np.array([0.5, 2.0, 1.0, 0.25, 4.0])).astype(np.float16))


def test_the_scale_keeps_ten_bits_of_mantissa():
    assert truncated_scale(0.1) == float((np.float32(0.1).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)) < 0.1
    assert truncated_scale(0.375) == 0.375


def test_tf32_inputs():
    a, b = np.array([[1 + 2**-11]], np.float32), np.array([[1.0]], np.float32)
    assert extended(a, b, F32)[0, 0] == np.float32(1 + 2**-11)
    assert extended(a, b, F32, trans_mode=TransMode.CAST_RINT)[0, 0] == 1.0
    assert extended(a, b, F32, trans_mode=TransMode.CAST_ROUND)[0, 0] == np.float32(1 + 2**-10)


@pytest.mark.parametrize(
    ("value", "k", "expected"), [(-128, 131071, 2147467264), (127, 133144, 2147479576), (-128, 131072, -(2**31))]
)
def test_fc_098_int8_accumulation(value, k, expected):
    a, b = np.full((1, k), value, np.int8), np.full((k, 1), value, np.int8)
    assert evaluate(matmul, a, b, I32)[0, 0] == expected


def test_fc_098_checked_mode_reports_the_wrap():
    recorder = DirectRecorder()
    b = recorder.builder
    names = {"x": (1, 131072), "y": (131072, 1)}
    storages = {name: b.parameter(name, TensorType(I8, shape)) for name, shape in names.items()}
    out = b.parameter("out", TensorType(I32, (1, 1)))
    with recording(recorder):
        b.store(out, matmul(b.load(storages["x"]), b.load(storages["y"]), I32))
    arrays = {storages[name]: np.full(shape, -128, np.int8) for name, shape in names.items()}
    with pytest.raises(AccumulatorOverflow, match="reaches 2147483648"):
        run(b.finish(), {**arrays, out: np.zeros((1, 1), np.int32)}, checked=True)


def test_special_values_and_operator():
    a = np.array([[np.inf, 1.0], [np.nan, 1.0], [0.0, 1.0]], np.float32)
    b = np.array([[1.0], [2.0]], np.float32)
    got = evaluate(lambda x, y: ops.OPERATIONS["matmul_operator"].function(x, y), a, b)
    assert got[0, 0] == np.inf and np.isnan(got[1, 0]) and got[2, 0] == 2.0 and got.dtype == np.float32
    i = np.eye(2, dtype=np.int8)
    assert ops.OPERATIONS["matmul_operator"].name == "matmul_operator"
    assert evaluate(ops.OPERATIONS["matmul_operator"].function, i, i).dtype == np.int32
    h = np.eye(2, dtype=np.float16)
    assert evaluate(ops.OPERATIONS["matmul_operator"].function, h, h).dtype == F16.numpy
