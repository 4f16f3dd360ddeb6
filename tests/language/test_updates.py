"""``scatter_update`` takes effect through its result only; moved back over its input it happens in place."""

import numpy as np
import pytest

import pypto
from blackbox import engine  # noqa: F401  the fixture
from pypto.compiler import Log, compile_program
from pypto.frontend.entry import TensorArgument, trace_kernel

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
Cache = pypto.Tensor([4, 8], FP32)
Index = pypto.Tensor([1, 2], INT32)
Rows = pypto.Tensor([2, 8], FP32)


def run(kernel, out=None):
    cache = np.arange(32, dtype=np.float32).reshape(4, 8)
    rows = -np.ones((2, 8), np.float32)
    out = cache if out is cache or isinstance(out, str) else np.zeros((4, 8), np.float32)
    pypto.jit(kernel)(cache, np.array([[1, 3]], np.int32), rows, out)
    return cache, out


BEFORE = np.arange(32, dtype=np.float32).reshape(4, 8)
AFTER = BEFORE.copy()
AFTER[[1, 3]] = -1


def other(cache: Cache, index: Index, rows: Rows, out: Cache):
    out.move(pypto.scatter_update(cache, -2, index, rows))


def both_states(cache: Cache, index: Index, rows: Rows, out: Cache):
    after = cache.scatter_update(-2, index, rows)
    out[:] = after - cache


def of_a_local(cache: Cache, index: Index, rows: Rows, out: Cache):
    local = pypto.tensor([4, 8], FP32)
    local[:] = cache
    after = pypto.scatter_update(local, -2, index, rows)
    out[:] = after - local


def back(cache: Cache, index: Index, rows: Rows, out: Cache):
    cache.move(pypto.scatter_update(cache, -2, index, rows))
    out[:] = cache


@pytest.mark.parametrize(
    ("kernel", "cache", "out"),
    [(other, BEFORE, AFTER), (both_states, BEFORE, AFTER - BEFORE), (of_a_local, BEFORE, AFTER - BEFORE), (back, AFTER, AFTER)],
)
def test_the_input_stays_as_it_is(engine, kernel, cache, out):  # noqa: F811
    found = run(kernel)
    np.testing.assert_array_equal(found[0], cache)
    np.testing.assert_array_equal(found[1], out)


def test_one_tensor_for_both(engine):  # noqa: F811
    cache, _ = run(other, "the same")
    np.testing.assert_array_equal(cache, AFTER)


def test_a_dropped_result_is_noticed(engine):  # noqa: F811
    def dropped(cache: Cache, index: Index, rows: Rows, out: Cache):
        cache.scatter_update(-2, index, rows)
        out[:] = cache

    with pytest.warns(UserWarning, match="the result is dropped"):
        cache, out = run(dropped)
    np.testing.assert_array_equal(out, BEFORE)


def test_moved_back_it_copies_nothing():
    arguments = {
        "cache": TensorArgument(FP32, (4, 8)),
        "index": TensorArgument(INT32, (1, 2)),
        "rows": TensorArgument(FP32, (2, 8)),
        "out": TensorArgument(FP32, (4, 8)),
    }
    log = Log(keep=True)
    compile_program(trace_kernel(back, arguments, "back").program, "reference", log)
    text = next(step.text for step in log.steps if step.name == "storage")
    assert text.count("in_place=True") == 2, text
