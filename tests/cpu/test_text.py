"""The text builder: control flow runs as Python's would, constants are exact and shared."""

import ctypes
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_harness import load

from pypto.cpu.target import host
from pypto.cpu.text import Module, double_bits, float_bits


def compiled(build, arguments=1):
    """``build(f, *names)`` returns an i64; the result is a Python function of as many integers."""
    module = Module()
    f = module.function("i64", "kernel", [("i64", f"a{number}") for number in range(arguments)])
    f.ret("i64", build(f, *f.arguments))
    library = load(module, host())
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(library["kernel"])
    function.library = library
    return function


def polynomial(f, low, high, step):
    with f.loop(low, high, step, carried=[("i64", 1), ("i64", 0)]) as loop:
        total = f.op("add", "i64", f.op("mul", "i64", loop.carried[0], 3), loop.index)
        loop.next = [total, f.op("add", "i64", loop.carried[1], 1)]
    return f.op("add", "i64", f.op("mul", "i64", loop.results[0], 1000), loop.results[1])


LOOP = compiled(polynomial, 3)


def expected(low, high, step):
    total, count = 1, 0
    for index in range(low, high, step):
        total, count = total * 3 + index, count + 1
    return ctypes.c_int64(total * 1000 + count).value  # wraps


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.integers(-9, 9), st.integers(-9, 20), st.integers(1, 7))
def test_loop_is_range(low, high, step):
    assert LOOP(low, high, step) == expected(low, high, step)


@pytest.mark.parametrize("low, high, step", [(0, 4, 1), (3, 3, 1), (5, 2, 1), (0, 10, 4)])
def test_loop_between_numbers(low, high, step):
    assert compiled(lambda f, _: polynomial(f, low, high, step))(0) == expected(low, high, step)


def test_nested_loops_and_branches():
    def build(f, n):
        with f.loop(0, n, carried=[("i64", 0)]) as outer:
            with f.loop(0, outer.index, carried=[("i64", outer.carried[0])]) as inner:
                odd = f.icmp("ne", "i64", f.op("and", "i64", inner.index, 1), 0)
                (part,) = f.either(odd, lambda: [f.op("mul", "i64", inner.index, 10)], lambda: [inner.index], ["i64"])
                inner.next = [f.op("add", "i64", inner.carried[0], part)]
            outer.next = inner.results
        return outer.results[0]

    function = compiled(build)
    for n in (0, 1, 2, 7):
        assert function(n) == sum(j * 10 if j % 2 else j for i in range(n) for j in range(i))


def test_when_and_scratch():
    def build(f, n):
        memory = f.scratch("i64")
        f.store("i64", 7, memory)
        with f.when(f.icmp("sgt", "i64", n, 5)):
            f.store("i64", n, memory)
        return f.load("i64", memory)

    function = compiled(build)
    assert [function(n) for n in (1, 5, 6)] == [7, 7, 6]


def test_repeat_runs_at_least_once():
    def build(f, n):
        with f.repeat([("i64", n)]) as loop:
            half = f.op("sdiv", "i64", loop.carried[0], 2)
            loop.next, loop.again = [half], f.icmp("sgt", "i64", half, 10)
        return loop.results[0]

    function = compiled(build)
    assert [function(n) for n in (4, 100, 23)] == [2, 6, 5]


def test_a_loop_must_carry_what_it_announced():
    f = Module().function("void", "kernel", [("i64", "n")])
    with pytest.raises(ValueError, match="carries 1"), f.loop(0, "%n", carried=[("i64", 0)]):
        pass


def test_module_shares_and_refuses():
    module = Module()
    assert module.constant("[1 x i8]", "[i8 1]") == module.constant("[1 x i8]", "[i8 1]") != module.constant("[1 x i8]", "[i8 2]")
    made = []
    for _ in range(2):
        assert module.require("helper", lambda m: made.append(m.function("void", "helper").ret())) == "@helper"
    assert len(made) == 1
    module.declare("double", "exp", "double")
    module.declare("double", "exp", "double")
    assert module.externals == ["exp"] and module.text().count("declare double @exp") == 1
    with pytest.raises(ValueError, match="twice"):
        module.function("void", "helper")


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 1e-45, 3.4e38, math.inf, -math.inf, math.nan, 1e300, -1e300])
def test_constants_are_the_nearest_number(value):
    def bits(text):
        return np.array([int(text, 16)], np.uint64).view(np.float64)[0]

    with np.errstate(over="ignore"):
        assert np.array_equal(bits(double_bits(value)), value, equal_nan=True)
        assert np.array_equal(np.float32(bits(float_bits(value))), np.float32(value), equal_nan=True)
        assert math.copysign(1, bits(float_bits(value))) == math.copysign(1, value)
