"""Numbers of the scalar unit are those of C on 32 and 64 bits."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_language import program, scalar

from pypto.cores import program as p
from pypto.cores.enums import PipeType
from pypto.dtypes import DataType
from pypto.sim import simulate
from pypto.sim.values import converted, quotient, ratio, remainder, wrapped

WORDS = st.integers(-(2**31), 2**31 - 1)


@settings(max_examples=100, derandomize=True)
@given(WORDS, WORDS.filter(bool))
def test_division_truncates(left, right):
    expected = int(np.trunc(np.longdouble(left) / np.longdouble(right)))
    assert quotient(left, right) == expected and remainder(left, right) == left - expected * right


@settings(max_examples=100, derandomize=True)
@given(st.integers(-(2**70), 2**70))
def test_integers_wrap(value):
    assert wrapped(value, 32, True) == ctypes.c_int32(value).value
    assert wrapped(value, 16, False) == ctypes.c_uint16(value).value
    assert converted(value, DataType.DT_UINT8) == ctypes.c_uint8(value).value


def test_conversions():
    assert converted(-3.9, DataType.DT_INT32) == -3 and converted(float("nan"), DataType.DT_INT32) == 0
    assert converted(0.1, DataType.DT_FP32) == float(np.float32(0.1)) and converted(2, DataType.DT_BOOL) is True
    assert ratio(1, 3) == float(np.float32(1) / np.float32(3)) and ratio(1, 0) == float("inf")
    assert quotient(7.5, 2) == 3.0 and remainder(-7.5, 2) == -1.5


CASES = [
    ("+", (2**31 - 1, 1), DataType.DT_INT32, -(2**31)),
    ("*", (2**16, 2**16), DataType.DT_UINT32, 0),
    ("-", (0, 1), DataType.DT_UINT32, 2**32 - 1),
    ("<<", (1, 31), DataType.DT_INT32, -(2**31)),
    ("~", (5,), DataType.DT_INT32, -6),
    ("negate", (5,), DataType.DT_INT32, -5),
    (">>", (-8, 1), DataType.DT_INT32, -4),
    ("&", (12, 10), DataType.DT_INT32, 8),
    ("^", (12, 10), DataType.DT_INT32, 6),
    ("min", (3, -4), DataType.DT_INT32, -4),
    ("max", (3, -4), DataType.DT_INT32, 3),
    ("%", (-7, 3), DataType.DT_INT32, -1),
    ("and", (1, 0), DataType.DT_BOOL, 0),
    ("or", (1, 0), DataType.DT_BOOL, 1),
    ("not", (0,), DataType.DT_BOOL, 1),
    ("choose", (0, 5, 6), DataType.DT_INT32, 6),
    ("convert", (300,), DataType.DT_INT8, 44),
]


@pytest.mark.parametrize("operator, operands, dtype, expected", CASES)
def test_operators(operator, operands, dtype, expected):
    built = program(vector='printf("%d", n)', n=scalar())
    value = p.Operation(operator, tuple(p.Constant(one) for one in operands), dtype)
    body = (p.Assign("n", value), p.Instruction("printf", PipeType.S, ("%d", p.Name("n"))))
    built = p.TileProgram("kernel", (), None, p.CoreProgram(built.vector.core, body))
    assert simulate(built, {}).printed == str(expected)
