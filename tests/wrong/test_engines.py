"""What only a run can find wrong stops every engine with the same error at the same line."""

import importlib
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

import pypto
from pypto.diagnostics import PyptoWarning
from pypto.errors.base import UserError
from pypto.errors.runtime import AccumulatorOverflow

PROGRAMS = Path(__file__).parent / "programs"
RUN_TIME = [
    name
    for name, thing in vars(importlib.import_module("pypto.errors.runtime")).items()
    if isinstance(thing, type) and thing.__module__ == "pypto.errors.runtime" and (PROGRAMS / f"{name}.py").exists()
]
ENGINES = ("reference", "cpu")
INFINITY, NAN = float("inf"), float("nan")

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
Matrix = pypto.Tensor([4, 8], FP32)
Table = pypto.Tensor([8], INT32)
Number = pypto.SymbolicScalar
Sum = pypto.Tensor([1, 1], INT32)


def outcome(run):
    """The error's class, line and headline."""
    with warnings.catch_warnings(), pytest.raises(UserError) as caught:
        warnings.simplefilter("ignore")
        run()
    error = caught.value
    return type(error).__name__, error.span and error.span.line, str(error).split("\n")[0]


@pytest.mark.parametrize("name", [*RUN_TIME, "KernelAssertion"])
def test_programs_of_the_catalogue(name):
    def run(engine):
        with pypto.options(run_options={"engine": engine}):
            return outcome(lambda: runpy.run_path(str(PROGRAMS / f"{name}.py")))

    first, second = map(run, ENGINES)
    assert first == second


# -- scalars without a value ---------------------------------------------------------------------------------------------------------


def full(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    t[:] = pypto.full([8], n, INT32)


def converted(x: Matrix, t: Table, out: Matrix, n: Number):
    whole = int(n)
    out[:] = x * 2.0
    t[0] = whole


def loop_bound(x: Matrix, t: Table, out: Matrix, n: Number):
    for i in pypto.loop(int(n)):
        out[i] = x[i]


def condition(x: Matrix, t: Table, out: Matrix, n: Number):
    if int(n) > 3:
        out[:] = x


def quotient(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    t[:] = pypto.full([8], 7 // (n - 5), INT32)


def factor(x: Matrix, t: Table, out: Matrix, n: Number):
    y = x + 1.0
    z = y * (7 / (n - 5))
    out[:] = z


def in_condition(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    if n > 3 and 7 // (n - 5) > 1:
        out[:] = x + 1.0


def in_one_iteration(x: Matrix, t: Table, out: Matrix, n: Number):
    for i in pypto.loop(4):
        out[i] = x[i] * 2.0
        t[i] = 7 // (i - n + 3)


def carried(x: Matrix, t: Table, out: Matrix, n: Number):
    k = 1
    for i in pypto.loop(4):
        k = k + 7 // (i - n + 3)
    t[0] = k


def printed(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    pypto.print("quotient", 7 // (n - 5))


def offset(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    out[0:1, :] = pypto.view(x, [1, 8], [4 // (n - 5), 0])


def chosen(x: Matrix, t: Table, out: Matrix, n: Number):
    t[1] = 3
    t[0] = 7 // (n - 5) if n == 5 else 3


def square(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    t[0] = n * n


def deep_product(x: Matrix, t: Table, out: Matrix, n: Number):
    if n * n * n > 5:
        out[:] = x


def negated(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    t[0] = -n


def least_by_minus_one(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = x
    t[0] = n // (n + 2**62 + (2**62 - 1))


def sum_in_a_loop(x: Matrix, t: Table, out: Matrix, n: Number):
    total = n
    for i in pypto.loop(4):
        total = total + i
    t[0] = total


@pytest.mark.parametrize(
    ("kernel", "number", "error"),
    [
        (full, NAN, "ScalarNotFiniteInRun"),
        (full, INFINITY, "ScalarNotFiniteInRun"),
        (full, 1e30, "ScalarTooLargeInRun"),
        (converted, NAN, "ScalarNotFiniteInRun"),
        (converted, -9.3e18, "ScalarTooLargeInRun"),
        (loop_bound, -INFINITY, "ScalarNotFiniteInRun"),
        (condition, NAN, "ScalarNotFiniteInRun"),
        (quotient, 5, "DivisionByZeroInRun"),
        (factor, 5, "DivisionByZeroInRun"),
        (factor, 5.0, "DivisionByZeroInRun"),
        (in_condition, 5, "DivisionByZeroInRun"),
        (in_one_iteration, 5, "DivisionByZeroInRun"),
        (carried, 5, "DivisionByZeroInRun"),
        (printed, 5, "DivisionByZeroInRun"),
        (offset, 5, "DivisionByZeroInRun"),
        (chosen, 5, "DivisionByZeroInRun"),
        (square, 2**40, "ScalarTooLargeInRun"),
        (deep_product, 2**22, "ScalarTooLargeInRun"),
        (negated, -(2**63), "ScalarTooLargeInRun"),
        (least_by_minus_one, -(2**63), "ScalarTooLargeInRun"),
        (sum_in_a_loop, 2**63 - 3, "ScalarTooLargeInRun"),
    ],
)
def test_scalars_without_a_value(kernel, number, error):
    def run(engine):
        arrays = np.ones((4, 8), np.float32), np.zeros(8, np.int32), np.zeros((4, 8), np.float32)
        compiled = pypto.frontend.jit(run_options={"engine": engine})(kernel)
        return outcome(lambda: compiled(*arrays, number))

    first, second = map(run, ENGINES)
    assert first == second
    assert first[0] == error


def results(kernel, number):
    """What both engines leave in the tensors."""
    found = []
    for engine in ENGINES:
        arrays = np.ones((4, 8), np.float32), np.zeros(8, np.int32), np.zeros((4, 8), np.float32)
        pypto.frontend.jit(run_options={"engine": engine})(kernel)(*arrays, number)
        found.append(arrays)
    return found


def arms(x: Matrix, t: Table, out: Matrix, n: Number):
    y = x + 1.0
    if n != 5:
        y = x * (7 / (n - 5))
    out[:] = y
    t[0] = 7 // (n - 5) if n != 5 else 3
    t[1] = 1 if n != 5 and 7 // (n - 5) > 1 else 2


@pytest.mark.parametrize("number", [5, 7, -2])
def test_an_arm_that_is_not_taken_needs_no_value(number):
    first, second = results(arms, number)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert first[1][0] == (3 if number == 5 else 7 // (number - 5))


def filled(x: Matrix, t: Table, out: Matrix, n: Number):
    t[:] = pypto.full([8], n, INT32)


@pytest.mark.parametrize("number", [1e12, -1e12, 2.0**31, 3.99, -3.99, 2.0**62])
def test_floats_become_integers_as_in_the_reference(number):
    first, second = results(filled, number)
    np.testing.assert_array_equal(first[1], second[1])
    assert first[1][0] == np.int64(int(number)).astype(np.int32)


def divisions(x: Matrix, t: Table, out: Matrix, n: Number):
    out[0, 0] = n % 2.0
    out[0, 1] = 7.0 % n
    out[0, 2] = -7.0 % n
    out[0, 3] = n // 2.0
    out[0, 4] = 7.0 // n
    out[0, 5] = -7.0 // n
    out[0, 6] = 0.9 % n
    out[0, 7] = 1.0 // n


@pytest.mark.parametrize(
    "number", [0.1, -0.1, 0.3, -0.3, 5e-324, -1e-310, 1e308, -1.7e308, INFINITY, -INFINITY, NAN, 7.0, -3.5, 6.0]
)
def test_float_division_floors_as_python_does(number):
    first, second = results(divisions, number)
    np.testing.assert_array_equal(first[2], second[2])
    with np.errstate(over="ignore"):
        expected = np.array([number % 2.0, 7.0 % number, -7.0 % number, number // 2.0, 7.0 // number, -7.0 // number])
        expected = np.array([*expected, 0.9 % number, 1.0 // number]).astype(np.float32)
    np.testing.assert_array_equal(second[2][0], expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(second[2][0])[number], np.signbit(expected)[number])


# -- extents -----------------------------------------------------------------------------------------------------------------------


def given(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = pypto.view(x, [4, 8], [0, 0], valid_shape=[n - 9, 8]) + 1.0


def given_in_a_loop(x: Matrix, t: Table, out: Matrix, n: Number):
    for i in pypto.loop(4):
        out[i:, :] = pypto.view(x, [1, 8], [i, 0], valid_shape=[n - i - 4, 8])


def larger_than_the_view(x: Matrix, t: Table, out: Matrix, n: Number):
    for i in pypto.loop(3):
        out[i:, :] = pypto.view(x, [1, 8], [i, 0], valid_shape=[n - i - 3, 8])


def of_a_value(x: Matrix, t: Table, out: Matrix, n: Number):
    y = x + 1.0
    out[:] = pypto.view(y, [4, 8], [0, 0], valid_shape=[n - 9, 8])


def of_numbers(x: Matrix, t: Table, out: Matrix, n: Number):
    out[:] = pypto.full([4, 8], 1.0, FP32, valid_shape=[n - 9, 8])


@pytest.mark.parametrize("kernel", [given, given_in_a_loop, larger_than_the_view, of_a_value, of_numbers])
def test_extents_that_cannot_be(kernel):
    def run(engine):
        arrays = np.ones((4, 8), np.float32), np.zeros(8, np.int32), np.zeros((4, 8), np.float32)
        return outcome(lambda: pypto.frontend.jit(run_options={"engine": engine})(kernel)(*arrays, 5))

    first, second = map(run, ENGINES)
    assert first == second
    assert first[0] in ("NegativeExtent", "ValidShapeOutOfBounds")


def test_a_slice_of_a_short_dynamic_axis():
    def rows(x: pypto.Tensor([pypto.DYNAMIC, 8], FP32), out: Matrix):
        out[0:1, :] = pypto.sum(x[9:] * 2.0, 0, keepdim=True)

    def run(engine):
        compiled = pypto.frontend.jit(run_options={"engine": engine})(rows)
        return outcome(lambda: compiled(np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32)))

    first, second = map(run, ENGINES)
    assert first == second
    assert first[0] == "NegativeExtent"


# -- checked mode ------------------------------------------------------------------------------------------------------------------


def test_checked_mode_runs_where_every_element_is_looked_at():
    def wraps(a: pypto.Tensor([1, 131072], pypto.DT_INT8), b: pypto.Tensor([131072, 1], pypto.DT_INT8), out: Sum):
        out[:] = pypto.matmul(a, b, INT32)

    kernel = pypto.frontend.jit(wraps)
    arrays = np.full((1, 131072), -128, np.int8), np.full((131072, 1), -128, np.int8), np.zeros((1, 1), np.int32)
    kernel(*arrays)
    assert arrays[2] == -(2**31)
    with pypto.options(run_options={"checked": True}), pytest.warns(PyptoWarning, match="checked mode"):
        with pytest.raises(AccumulatorOverflow):
            kernel(*arrays)
    kernel(*arrays)
