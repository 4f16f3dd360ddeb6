"""What each op refuses, with the code and the key phrase that searches find (tensor API sections 3.3, 8, 9 and 11)."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from pypto import ops
from pypto.diagnostics import PortabilityWarning
from pypto.dtypes import DataType
from pypto.elements import Element, convert_to_element
from pypto.errors.base import UserError
from pypto.ir import symbols as ir
from pypto.ir.program import TensorType
from pypto.ops.direct import DirectRecorder, recording
from pypto.ops.dtype_sets import B16, BOOL, E4M3, F16, F32, I8, I16, I32, I64, U8
from pypto.reference import evaluate

p = ops.PUBLIC


@pytest.fixture
def recorder():
    with recording(DirectRecorder()) as recorder:
        yield recorder


def tensor(recorder, dtype=F32, *shape):
    storage = recorder.builder.parameter("t", TensorType(dtype, shape or (4, 8)))
    return recorder.builder.load(storage)


def refused(call, code, phrase, kind=Exception):
    with pytest.raises(UserError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
    assert caught.value.code == code, f"{caught.value.code:X}"
    assert isinstance(caught.value, kind)
    assert phrase.lower() in str(caught.value).lower(), str(caught.value)


def test_outside_a_kernel():
    for call in (lambda: p["exp"](1.0), lambda: p["add"](1, 2), lambda: p["full"]([2], 1.0, F32), lambda: p["zeros"](2)):
        refused(call, 0xF00003, "inside a kernel", RuntimeError)


def test_validation_that_needs_no_kernel():
    """Tensor API section 8.1: where and full check their arguments even with no function open."""
    refused(lambda: p["full"]([2], -1, U8), 0xF00002, "negative", ValueError)
    refused(lambda: p["full"]([2], Element(U8, -1), U8), 0xF00002, "negative", ValueError)
    half = type("Host", (), {"dtype": F16, "shape": [2]})()
    refused(lambda: p["where"](half, half, 1.0), 0xF00002, "data type inconsistent", TypeError)
    refused(lambda: p["where"](half, half, Element(F32, 1.0)), 0xF00002, "data type inconsistent")
    byte = type("Host", (), {"dtype": U8, "shape": [2]})()
    refused(lambda: p["where"](byte, -1, byte), 0xF00002, "negative")
    refused(lambda: p["where"](byte, byte, Element(U8, -1)), 0xF00002, "negative")
    refused(lambda: p["where"](byte, byte, byte), 0xF00002, "DT_BOOL", TypeError)


def test_wrong_kinds(recorder):
    x = tensor(recorder)
    refused(lambda: p["exp"](1.0), 0xF00001, "must be a tensor", TypeError)
    refused(lambda: p["add"](x, "a"), 0xF00001, "tensor or a number", TypeError)
    refused(lambda: p["add"](1, 2), 0xF00001, "one of input and other should be Tensor", TypeError)
    refused(lambda: p["maximum"](1, 2.0), 0xF00001, "one of input and other should be Tensor", TypeError)
    refused(lambda: p["sum"](x, "a"), 0xF00001, "'dim'", TypeError)
    refused(lambda: p["sum"](x, True), 0xF00001, "'dim'", TypeError)
    refused(lambda: p["sum"](x, 0, 1), 0xF00001, "'keepdim'", TypeError)
    refused(lambda: p["pow"](x, "a"), 0xF00001, "exponent", TypeError)
    refused(lambda: p["view"](x, 4, [0, 0]), 0xF00001, "list of integers", TypeError)
    refused(lambda: Element(F32, "a"), 0xF00002, "int or a float", ValueError)


def test_dtypes(recorder):
    x, h, i = tensor(recorder), tensor(recorder, F16), tensor(recorder, I32)
    refused(
        lambda: p["add"](x, h),
        0xFC0001,
        "Tensor data type inconsistent, tensor1 dtype: DT_FP32, tensor2 dtype: DT_FP16",
        TypeError,
    )
    refused(lambda: p["exp"](i), 0xFC0001, "Data type DT_INT32 is not in supported types for op: EXP", TypeError)
    refused(lambda: p["bitwise_and"](x, x), 0xFC0001, "op: BITWISE_AND", TypeError)
    refused(lambda: p["maximum"](x, Element(F16, 1.0)), 0xFC0001, "Tensor and Element data type inconsistent", TypeError)
    refused(lambda: p["gather"](x, 0, x), 0xF00001, "index tensor must be of int32 or int64", TypeError)
    refused(lambda: p["pow"](i, tensor(recorder, I16)), 0xFC0001, "Tensor data type inconsistent")
    refused(lambda: p["pow"](tensor(recorder, I8), 0.5), 0xFC0001, "POW", TypeError)
    refused(lambda: p["isnan"](i), 0xFC0001, "op: ISNAN")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "fmod", "remainder", "floor_div"])
def test_floats_do_not_go_into_integers(recorder, name):
    refused(
        lambda: p[name](tensor(recorder, I32), 1.5),
        0xF00001,
        f"{name}(): float scalar incompatible with integer tensor dtype DT_INT32",
        TypeError,
    )


def test_scalars(recorder):
    x, i = tensor(recorder), tensor(recorder, I8)
    refused(lambda: p["fmod"](x, math.nan), 0xF00002, "fmod(): other must not be NaN.", ValueError)
    refused(lambda: p["fmod"](x, math.inf), 0xF00002, "fmod(): other must not be inf.", ValueError)
    refused(lambda: p["lrelu"](x, -0.1), 0xF00002, "must be non-negative, but got -0.1", ValueError)
    refused(lambda: p["lrelu"](x, math.nan), 0xF00002, "negative_slope must not be NaN", ValueError)
    refused(lambda: p["bitwise_or"](i, 1.0), 0xF00001, "Scalar operand for bitwise_or must be an integer", TypeError)
    refused(lambda: p["maximum"](i, 1000), 0xF00002, "value range", ValueError)
    refused(lambda: p["gt"](i, 0.5), 0xF00001, "float scalar incompatible")
    refused(lambda: p["full"]([2], 300, U8), 0xFC0001, "does not fit", OverflowError)


def test_integer_scalars_wrap():
    """FC: tensor API section 8.7, decided explicitly: two's complement."""
    assert evaluate(p["add"], np.array([1], np.int8), 300).tolist() == [45]
    assert evaluate(p["mul"], np.array([1], np.int32), 2**31).tolist() == [-(2**31)]
    assert evaluate(p["sub"], np.array([1], np.uint8), -1).tolist() == [2]
    assert evaluate(p["bitwise_left_shift"], np.array([1], np.int8), 300).tolist() == [0]
    assert evaluate(p["bitwise_right_shift"], np.array([-5], np.int8), 300).tolist() == [-1]


def test_ranks_shapes_axes(recorder):
    x, flat = tensor(recorder), tensor(recorder, F32, 8)
    refused(
        lambda: p["add"](x, tensor(recorder, F32, 3, 8)),
        0xFC0000,
        "Tensor shape must be consistent or broadcast compatible",
        ValueError,
    )
    refused(lambda: p["gt"](x, flat), 0xFC0002, "Tensor dim inconsistent, tensor[0] dim: 2", RuntimeError)
    refused(
        lambda: p["exp"](tensor(recorder, F32, 1, 1, 1, 1, 1)),
        0xFC0002,
        "The dims of tensor is out of range [1, 4], actual dims: 5",
    )
    refused(lambda: p["full"]([1] * 5, 1.0, F32), 0xFC0002, "The dims of dst shape is out of range")
    refused(lambda: p["sum"](x, -3), 0xFC0000, "Axis is not in the reasonable range!", IndexError)
    refused(lambda: p["unsqueeze"](x, 3), 0xFC0000, "Axis is not in the reasonable range!", IndexError)
    refused(lambda: p["permute"](x, [0, 0]), 0xFC0000, "each axis")
    refused(
        lambda: p["eq"](tensor(recorder, F32, 0, 4), tensor(recorder, F32, 0, 4)),
        0xFC0000,
        "Empty tensor is not supported for op: EQ, dimension[0]",
    )
    refused(lambda: p["expand_clone"](x, [4, 9]), 0xFC0000, "axis 1")
    refused(lambda: p["concat"]([x, tensor(recorder, F32, 4, 9)]), 0xFC0000, "equal except at axis")
    refused(lambda: p["concat"]([x]), 0xFC0003, "2 to 128")
    refused(lambda: p["topk"](x, 3, 0), 0xFC0000, "TopK only support last axis")
    refused(lambda: p["topk"](x, 9), 0xFC0000, "k must be")
    refused(lambda: p["gather"](x, 0, tensor(recorder, I32, 2, 9)), 0xFC0000, "index size 9")
    refused(lambda: p["scatter_update"](x, -1, tensor(recorder, I32, 1, 2), x), 0xF00002, "dim must be -2")
    refused(
        lambda: p["scatter_update"](tensor(recorder, F32, 2, 2, 2), -2, tensor(recorder, I32, 1, 2), x),
        0xF00002,
        "dim must be 2 or 4",
    )
    refused(lambda: p["squeeze"](x, 0), 0xFC0000, "size 4, not 1")
    refused(lambda: p["full"]([65536, 65536], 0.0, F32), 0xFC0000, "INT32_MAX(2,147,483,647")
    refused(lambda: p["full"]([-1, 2], 0.0, F32), 0xF00002, "negative")


def test_reshape_needs_integers(recorder):
    n = ir.Symbol("n")
    refused(
        lambda: p["reshape"](tensor(recorder), [n, 8]),
        0xF00001,
        "reshape() requires integer shape when using non-inplace reshape",
        TypeError,
    )
    refused(lambda: p["reshape"](tensor(recorder), [5, 7]), 0xF00002, "elements")
    refused(lambda: p["reshape"](tensor(recorder), [-1, -1]), 0xF00002, "elements")


def test_arange(recorder):
    refused(lambda: p["arange"](), 0xF00002, "1 to 3", ValueError)
    refused(lambda: p["arange"](1, 2, 3, 4), 0xF00002, "1 to 3", ValueError)
    for bounds in ((0,), (3, 1), (1, 3, -1), (1, 3, 0), (1.0, 3.0, 1e-9)):
        refused(lambda b=bounds: p["arange"](*b), 0xFC0000, "nothing between")
    refused(lambda: p["arange"](2**31), 0xFC0001, "does not fit", OverflowError)


def test_matmul(recorder):
    a, b = tensor(recorder, F16, 4, 8), tensor(recorder, F16, 8, 3)
    refused(lambda: p["matmul"](a, b, "fp16"), 0xF00001, "Argument 'out_dtype' must be of type DataType", TypeError)
    refused(lambda: p["matmul"](a, b, F16, a_trans=1), 0xF00001, "Argument 'a_trans' must be of type bool", TypeError)
    refused(
        lambda: p["matmul"](a, b, F16, extend_params=[1]), 0xF00001, "Argument 'extend_params' must be of type dict", TypeError
    )
    refused(lambda: p["matmul"](a, b, F16, extend_params={"bias": 1}), 0xF00001, "unknown key 'bias'", TypeError)
    refused(lambda: p["matmul"](a, tensor(recorder, F16, 1, 8, 3), F16), 0xF00003, "Tensor dimension mismatch.", RuntimeError)
    refused(lambda: p["matmul"](tensor(recorder, F16, 8), tensor(recorder, F16, 8), F16), 0xF00003, "Tensor dimension mismatch.")
    refused(lambda: p["matmul"](a, a, F16), 0xF00003, "K-dimension valid shape mismatch.", RuntimeError)
    refused(lambda: p["matmul"](a, b, F16, c_matrix_nz=True), 0xF00002, "Output tensor do not support NZ currently.", ValueError)
    refused(
        lambda: p["matmul"](a, tensor(recorder, B16, 8, 3), F16), 0xF00002, "Non-FP8 inputs require identical dtypes.", ValueError
    )
    refused(lambda: p["matmul"](a, b, B16), 0xF00001, "gives")
    params = {"trans_mode": __import__("pypto.enums", fromlist=["x"]).TransMode.CAST_RINT}
    refused(lambda: p["matmul"](a, b, F16, extend_params=params), 0xF00003, "trans_mode", RuntimeError)
    i, j = tensor(recorder, I8, 4, 8), tensor(recorder, I8, 8, 3)
    refused(lambda: p["matmul"](i, j, F16), 0xF00007, "scale")
    refused(lambda: p["matmul"](a, b, I8), 0xF00007, "scale")
    refused(lambda: p["matmul"](a, b, F16, extend_params={"bias_tensor": tensor(recorder, F16, 1, 4)}), 0xFC3001, "bias_tensor")
    refused(lambda: p["matmul"](a, b, F16, extend_params={"bias_tensor": tensor(recorder, I32, 1, 3)}), 0xFC3001, "dtype must be")
    big = [tensor(recorder, F16, 2, 4, 8), tensor(recorder, F16, 3, 8, 3)]
    refused(lambda: p["matmul"](*big, F16), 0xF00003, "batch axes")
    refused(lambda: p["matmul"](tensor(recorder, F16, 0, 8), b, F16), 0xFC0000, "Empty tensor")


def warned(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in seen if issubclass(w.category, PortabilityWarning)]


def test_what_an_npu_would_refuse_gives_a_warning(recorder):
    half, x, b, i = tensor(recorder, F16), tensor(recorder), tensor(recorder, B16), tensor(recorder, I32)
    assert "DT_FP16" in warned(lambda: p["sum"](half, 0))[0]
    assert warned(lambda: p["gt"](b, 1.0)) and warned(lambda: p["gt"](i, 1)) and warned(lambda: p["gt"](x, 1))
    assert "cast from DT_FP32 to DT_FP8E4M3" in warned(lambda: p["cast"](x, E4M3))[0]
    assert warned(lambda: p["transpose"](tensor(recorder, F32, 2, 3, 4, 5), 0, 1))
    assert not warned(lambda: p["sum"](x, 0)) and not warned(lambda: p["gt"](x, 1.0)) and not warned(lambda: p["add"](half, half))
    assert not warned(lambda: p["cast"](x, B16)) and not warned(lambda: p["transpose"](tensor(recorder, F32, 2, 3, 4, 5), 1, 2))


def test_elements():
    assert Element(F32, 1).value == 1.0 and isinstance(Element(F32, 1).value, float)
    assert Element(I32, 1.0).value == 1 and isinstance(Element(I32, 1).value, int)
    assert convert_to_element(2, I64).dtype is I64 and convert_to_element(Element(F16, 1.0), F32).dtype is F16
    assert evaluate(p["maximum"], [1.0, 5.0], Element(F32, 2.0)).tolist() == [2.0, 5.0]
    assert evaluate(p["full"], [2], Element(I32, 3), I32).tolist() == [3, 3]
    found = evaluate(p["where"], np.array([True, False]), np.array([1, 2], np.float16), Element(F16, -1.5))
    assert found.tolist() == [1.0, -1.5] and found.dtype == np.float16


def test_result_types():
    """Section 14, trap 10."""
    i = np.array([[7, 2]], np.int32)
    assert evaluate(p["div"], i, 2).dtype == np.float32 and evaluate(p["div"], i, 2).tolist() == [[3.5, 1.0]]
    assert evaluate(p["cumsum"], i, 1).dtype == np.int64
    assert evaluate(p["argmax"], [[1.0, 2.0]]).dtype == np.int32
    assert evaluate(p["pow"], i, 0.0).dtype == np.int32 and evaluate(p["pow"], i, 0.5).dtype == np.float32
    assert evaluate(p["pow"], np.array([2], np.int8), 7).tolist() == [-128]
    assert evaluate(p["where"], np.array([True]), 1, 2).dtype == np.float32
    assert evaluate(p["isfinite"], i).tolist() == [[True, True]]
    mixed = evaluate(p["pow"], np.array([2], np.float16), np.array([3], np.float32))
    assert mixed.dtype == np.float32 and mixed.tolist() == [8.0]
    assert BOOL.numpy == np.bool_ and DataType.DT_INT8 is I8
