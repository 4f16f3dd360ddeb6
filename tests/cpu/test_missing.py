"""Locals that are written at places known only to a run: every engine stops at the first element that is missing."""

import numpy as np
import pytest

import pypto
from pypto.compiler import Log, compile_program
from pypto.errors.runtime import ReadUnwritten
from pypto.frontend.entry import trace_kernel

ENGINES = ("reference", "cpu")
FP32, INT32, BF16, INT8 = pypto.DT_FP32, pypto.DT_INT32, pypto.DT_BF16, pypto.DT_INT8


def run(kernel, places, number=0, dtype=np.float32, shape=(4, 100)):
    """Per engine: what the kernel wrote, or the message of its error."""
    found = []
    for engine in ENGINES:
        x = (np.arange(np.prod(shape)).reshape(shape) % 100).astype(dtype)
        out = np.zeros(shape, dtype)
        try:
            pypto.frontend.jit(run_options={"engine": engine})(kernel)(x, np.array(places, np.int32), out, number)
            found.append((x, out))
        except ReadUnwritten as error:
            found.append((error.span.line, str(error).split("\n")[0]))
    return found


def agreed(found):
    (one, two) = found
    if isinstance(one[0], int):
        assert one == two
        return one[1]
    assert not isinstance(two[0], int), two
    np.testing.assert_array_equal(one[1], two[1])
    return one


Matrix = pypto.Tensor([4, 100], FP32)
Table = pypto.Tensor([4], INT32)
Number = pypto.SymbolicScalar


def rows(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([4, 100], FP32, "local")
    for i in pypto.loop(4):
        local[places[i]] = x[i]
    out[:] = local + 1.0


def test_rows_in_any_order_are_complete():
    x, out = agreed(run(rows, [2, 0, 3, 1]))
    np.testing.assert_array_equal(out, x[[1, 3, 0, 2]] + 1)


@pytest.mark.parametrize(("places", "position"), [([0, 1, 2, 2], "[3, 0]"), ([1, 2, 3, 1], "[0, 0]"), ([0, 0, 0, 0], "[1, 0]")])
def test_a_missing_row_is_named(places, position):
    assert f"'local' is read at {position} before" in agreed(run(rows, places))


def test_the_next_call_starts_afresh():
    """Memory of an earlier run is no excuse."""
    agreed(run(rows, [0, 1, 2, 3]))
    assert "[1, 0]" in agreed(run(rows, [0, 0, 2, 3]))


def elements(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([100], FP32, "local")
    for i in pypto.loop(100):
        if i != n:
            local[i] = x[1, i]
    out[0:1, :] = pypto.unsqueeze(local * 2.0, 0)


@pytest.mark.parametrize("number", [0, 63, 64, 70, 99])
def test_single_elements(number):
    assert f"read at [{number}]" in agreed(run(elements, [0] * 4, number))


def test_single_elements_all_written():
    x, out = agreed(run(elements, [0] * 4, 100))
    np.testing.assert_array_equal(out[0], x[1] * 2)


def columns(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([4, 100], FP32, "local")
    for i in pypto.loop(4):
        if places[i] > 0:
            local[:, 25 * i :] = pypto.view(x, [4, 25], [0, 25 * i])
    out[:, 10:] = pypto.view(local, [4, 90], [0, 10], valid_shape=[4, n])


@pytest.mark.parametrize(
    ("places", "number", "position"),
    [
        ([1, 1, 1, 1], 90, ""),
        ([1, 1, 0, 1], 90, "[0, 50]"),
        ([1, 1, 0, 0], 40, ""),
        ([1, 1, 0, 0], 41, "[0, 50]"),
        ([0] * 4, 0, ""),
    ],
)
def test_only_what_is_valid_of_a_view_counts(places, number, position):
    found = agreed(run(columns, places, number))
    assert position in found if position else not isinstance(found, str)


def reshaped(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([4, 100], FP32, "local")
    flat = pypto.reshape(local, [400], inplace=True)
    for i in pypto.loop(4):
        flat[100 * places[i] :] = x[i]
    out[:] = local


def test_an_alias_writes_the_same_memory():
    x, out = agreed(run(reshaped, [3, 2, 1, 0]))
    np.testing.assert_array_equal(out, x[::-1])
    assert "[2, 0]" in agreed(run(reshaped, [3, 1, 1, 0]))


def inside(x: Matrix, places: Table, out: Matrix, n: Number):
    for i in pypto.loop(4, parallel=True):
        local = pypto.tensor([2, 100], FP32, "local")
        local[places[i]] = x[i]
        local[1 - places[i] * n] = x[i] + 1.0
        total = pypto.sum(local, 0)
        out[i] = total


def test_locals_of_iterations():
    x, out = agreed(run(inside, [0, 0, 1, 1], 1))
    np.testing.assert_array_equal(out, 2 * x + 1)
    assert "[0, 0]" in agreed(run(inside, [0, 1, 1, 0], 0)), "the first iteration that fails counts"


def accumulated(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([4, 100], FP32, "local")
    for i in pypto.loop(4):
        local[places[i]] = x[i]
    for i in pypto.loop(n):
        local[:] = local + x
    out[:] = local


def test_read_and_written_again():
    x, out = agreed(run(accumulated, [0, 1, 2, 3], 3))
    np.testing.assert_array_equal(out, 4 * x)
    assert "[2, 0]" in agreed(run(accumulated, [0, 1, 3, 3], 3))


@pytest.mark.parametrize(
    ("type", "dtype"), [(INT32, np.int32), (INT8, np.int8), (pypto.DT_DOUBLE, np.float64), (pypto.DT_BOOL, np.bool_)]
)
def test_every_type(type, dtype):
    def of_type(x: pypto.Tensor([4, 100], type), places: Table, out: pypto.Tensor([4, 100], type), n: Number):
        local = pypto.tensor([4, 100], type, "local")
        for i in pypto.loop(4):
            local[places[i]] = x[i]
        out[:] = local

    x, out = agreed(run(of_type, [3, 2, 1, 0], dtype=dtype))
    np.testing.assert_array_equal(out, x[::-1])
    assert "[2, 0]" in agreed(run(of_type, [3, 1, 1, 0], dtype=dtype))


def printed(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([4], INT32, "local")
    for i in pypto.loop(4):
        local[places[i]] = i
    pypto.print("local", local)
    out[:] = x


def test_printing_is_reading(capsys):
    assert "[2]" in agreed(run(printed, [0, 1, 3, 3]))
    assert "local" not in capsys.readouterr().out
    agreed(run(printed, [0, 2, 1, 3]))
    assert capsys.readouterr().out.count("[0 2 1 3]") == 2


def steady(x: Matrix, places: Table, out: Matrix, n: Number):
    local = pypto.tensor([4, 100], FP32, "local")
    for i in pypto.loop(4):
        local[i] = x[i]
    out[:] = local


def test_what_is_proven_is_not_tracked():
    log = Log(keep=True)
    compile_program(trace_kernel(steady, _arguments(steady), "steady").program, "cpu", log)
    assert not any("missing" in step.text for step in log.steps)


def _arguments(kernel):
    from pypto.frontend.entry import ScalarArgument, TensorArgument

    shapes = {"x": (FP32, (4, 100)), "places": (INT32, (4,)), "out": (FP32, (4, 100))}
    return {**{name: TensorArgument(*given) for name, given in shapes.items()}, "n": ScalarArgument("int")}
