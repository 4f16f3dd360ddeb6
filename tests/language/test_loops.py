"""Loops one property at a time: ranges, unrolling, first and last, carried values, refusals."""

import numpy as np
import pytest

import pypto
from blackbox import define, integers, mistake, nans, quiet

LOG = 64


def log():
    return np.full(LOG, -1, np.int32)


def chunks_of(visited, factors):
    """Chunks as the ruling says: largest factor first, as many whole chunks as remain."""
    position = 0
    for factor in sorted({*factors, 1}, reverse=True):
        while len(visited) - position >= factor:
            yield visited[position], factor
            position += factor


@pypto.frontend.jit
def visits(
    out: pypto.Tensor([LOG], pypto.DT_INT32), start: pypto.SymbolicScalar, stop: pypto.SymbolicScalar, step=1, factors=(1,)
):
    at = 0
    for i in pypto.loop(start, stop, step, unroll_list=list(factors)):
        out[at] = i
        at += 1
    out[LOG - 1] = at


@pytest.mark.parametrize("step", [1, 2, 3, 7, -1, -2, -5])
@pytest.mark.parametrize("factors", [(1,), (4, 2, 1), (3, 2), (1, 2, 4)])
def test_loop_visits_exactly_the_range(engine, step, factors):
    for start, stop in [(0, 0), (0, 9), (5, 5), (-4, 7), (9, -3), (3, 10), (7, 0)]:
        out = log()
        visits(out, start, stop, step=step, factors=factors)
        expected = list(range(start, stop, step))
        assert out[LOG - 1] == len(expected)
        assert list(out[: len(expected)]) == expected


@pypto.frontend.jit
def chunks(out: pypto.Tensor([LOG, 2], pypto.DT_INT32), stop: pypto.SymbolicScalar, start=0, step=1, factors=(4, 2)):
    at = 0
    for i, size in pypto.loop_unroll(start, stop, step, unroll_list=list(factors)):
        out[at, 0] = i
        out[at, 1] = size
        at += 1
    out[LOG - 1, 0] = at


@pytest.mark.parametrize("factors", [(4, 2), (4, 3, 1), (1, 2, 4), (3, 2), (8,)])
@pytest.mark.parametrize("start, step", [(0, 1), (5, 1), (2, 3), (9, -2)])
def test_loop_unroll_hands_over_the_factor_largest_first(engine, factors, start, step):
    for count in range(14):
        out = np.full((LOG, 2), -1, np.int32)
        chunks(out, start + count * step, start=start, step=step, factors=factors)
        expected = list(chunks_of(range(start, start + count * step, step), factors))
        assert [tuple(pair) for pair in out[: out[LOG - 1, 0]].tolist()] == expected


@pypto.frontend.jit
def symbolic_step(out: pypto.Tensor([LOG], pypto.DT_INT32), step: pypto.SymbolicScalar):
    at = 0
    for i in pypto.loop(2, 20, step):
        out[at] = i
        at += 1
    out[LOG - 1] = at


def test_a_run_time_step(engine):
    for step in (1, 5, 40):
        out = log()
        symbolic_step(out, step)
        assert list(out[: out[LOG - 1]]) == list(range(2, 20, step))


@pypto.frontend.jit
def ends(out: pypto.Tensor([LOG, 2], pypto.DT_INT32), n: pypto.SymbolicScalar, step=1, factors=(1,)):
    at = 0
    for i in pypto.loop(0, n * step, step, unroll_list=list(factors)):
        if pypto.is_loop_begin(i):
            out[at, 0] = 1
        if pypto.is_loop_end(i):
            out[at, 1] = 1
        at += 1


@pytest.mark.parametrize("step", [1, 3, -2])
@pytest.mark.parametrize("factors", [(1,), (3, 2)])
def test_first_and_last_index_of_the_whole_loop(engine, step, factors):
    for n in (1, 2, 3, 7):
        out = np.zeros((LOG, 2), np.int32)
        ends(out, n, step=step, factors=factors)
        assert list(np.flatnonzero(out[:, 0])) == [0]
        assert list(np.flatnonzero(out[:, 1])) == [n - 1]


@pypto.frontend.jit
def outer_ends(out: pypto.Tensor([3, 3], pypto.DT_INT32)):
    for i in pypto.loop(3):
        for j in pypto.loop(3):
            if pypto.is_loop_begin(i) and pypto.is_loop_end(j):
                out[i, j] = 1


def test_first_and_last_ask_about_the_index_given(engine):
    out = np.zeros((3, 3), np.int32)
    outer_ends(out)
    assert out.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


@pypto.frontend.jit
def chunk_ends(out: pypto.Tensor([LOG, 2], pypto.DT_INT32), n: pypto.SymbolicScalar):
    at = 0
    for i, _size in pypto.loop_unroll(n, unroll_list=[3]):
        if pypto.is_loop_begin(i):
            out[at, 0] = 1
        if pypto.is_loop_end(i):
            out[at, 1] = 1
        at += 1


def test_a_chunk_is_first_or_last_when_it_contains_that_index(engine):
    for n, number in [(1, 1), (3, 1), (4, 2), (7, 3)]:
        out = np.zeros((LOG, 2), np.int32)
        chunk_ends(out, n)
        assert list(np.flatnonzero(out[:, 0])) == [0]
        assert list(np.flatnonzero(out[:, 1])) == [number - 1]


@pypto.frontend.jit
def carried(
    x: pypto.Tensor([7, 4], pypto.DT_FP32),
    out: pypto.Tensor([3, 4], pypto.DT_FP32),
    log: pypto.Tensor([4], pypto.DT_INT32),
    n: pypto.SymbolicScalar,
):
    total = pypto.zeros(1, 4)
    before, now = x[0:1, :], x[1:2, :]
    count, weight = 0, 1
    for i in pypto.loop(n):
        total = total + x[i : i + 1, :]
        before, now = now, before
        count += 1
        weight = weight * 2 + i
    out[0:1, :] = total
    out[1:2, :] = before
    out[2:3, :] = now
    log[0] = count
    log[1] = weight


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_tensors_and_numbers_rebound_in_a_loop_are_carried(engine, n):
    x, out, numbers = integers(7, 4), nans(3, 4), np.zeros(4, np.int32)
    carried(x, out, numbers, n)
    weight = 1
    for i in range(n):
        weight = weight * 2 + i
    assert np.array_equal(out[0], x[:n].sum(0))
    assert np.array_equal(out[1:], x[[0, 1]] if n % 2 == 0 else x[[1, 0]])
    assert list(numbers[:2]) == [n, weight]


def test_a_carried_shape_that_changes_is_an_error_with_both(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    acc = x[0:1, :]
    for i in loop(3):
        acc = concat([acc, acc], 0)
    out[0:1, :] = acc
""",
    )
    with mistake("acc", "1", "2"):
        kernel(integers(4, 4), nans(4, 4))


def test_a_carried_dtype_that_changes_is_an_error_with_both(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    acc = x + 0.0
    for i in loop(3):
        acc = cast(acc, DT_BF16)
    out[:] = cast(acc, DT_FP32)
""",
    )
    with mistake("acc", "fp32", "bf16"):
        kernel(integers(4, 4), nans(4, 4))


@pytest.mark.parametrize("word", ["break", "continue", "return"])
def test_leaving_a_device_loop_is_refused(tmp_path, word):
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    for i in loop(3):
        out[:] = x + 1.0
        {word}
""",
    )
    with mistake(f"{word} is not supported in pypto.loop", at=word):
        kernel(integers(4, 4), nans(4, 4))


def test_leaving_a_python_loop_inside_a_device_loop_is_fine(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(out: Tensor([8], DT_INT32)):
    for i in loop(2):
        for j in range(4):
            if j == 1:
                continue
            if j == 3:
                break
            out[i * 4 + j] = j + 1
""",
    )
    out = np.zeros(8, np.int32)
    kernel(out)
    assert out.tolist() == [1, 0, 3, 0, 1, 0, 3, 0]


def test_the_same_index_name_in_nested_loops_is_an_error(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    for i in loop(3, idx_name="same"):
        for j in loop(3, idx_name="same"):
            out[:] = x + 1.0
""",
    )
    with mistake("same", at='for j in loop(3, idx_name="same")'):
        kernel(integers(4, 4), nans(4, 4))


def test_the_same_index_name_one_after_the_other_is_fine(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(out: Tensor([8], DT_INT32)):
    for i in loop(4, idx_name="same"):
        out[i] = i
    for i in loop(4, idx_name="same"):
        out[i + 4] = i
""",
    )
    out = np.zeros(8, np.int32)
    kernel(out)
    assert out.tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize(
    "call, fragments",
    [
        ("loop()", ["loop"]),
        ("loop(1, 2, 3, 4)", ["loop"]),
        ("loop(0, 4, 0)", ["step"]),
        ("loop(4, unroll_list=[0])", ["unroll_list"]),
        ("loop(4, unroll_list=[2, -1])", ["unroll_list"]),
        ("loop(4, unroll_list='ab')", ["unroll_list"]),
        ("loop(1.5)", ["loop"]),
        ("loop('3')", ["loop"]),
        ("loop(x)", ["loop"]),
        ("loop(4, nmae='a')", ["nmae", "name"]),
    ],
)
def test_wrong_loop_arguments(tmp_path, call, fragments):
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    for i in {call}:
        out[:] = x + 1.0
""",
    )
    with mistake(*fragments, at=f"for i in {call}"):
        kernel(integers(4, 4), nans(4, 4))


def test_loop_unroll_needs_two_names(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    for i in loop_unroll(4):
        out[:] = x + 1.0
""",
    )
    with mistake("loop_unroll", at="for i in loop_unroll(4)"):
        kernel(integers(4, 4), nans(4, 4))


@pytest.mark.parametrize("index", ["n", "3", "i + 1"])
def test_is_loop_begin_of_something_else_is_an_error(tmp_path, index):
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32), n: SymbolicScalar):
    for i in loop(4):
        if is_loop_begin({index}):
            out[:] = x + 1.0
""",
    )
    with mistake("loop index", at=f"is_loop_begin({index})"):
        kernel(integers(4, 4), nans(4, 4), 3)


def test_parallel_inside_parallel_is_refused(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    for i in loop(2, parallel=True):
        for j in loop(2, parallel=True):
            out[2 * i + j : 2 * i + j + 1, :] = x[0:1, :]
""",
    )
    with mistake("nest"):
        kernel(integers(4, 4), nans(4, 4))


@pypto.frontend.jit
def parallel(x: pypto.Tensor([8, 4], pypto.DT_FP32), out: pypto.Tensor([8, 4], pypto.DT_FP32)):
    for i in pypto.loop(8, parallel=True):
        out[i : i + 1, :] = x[i : i + 1, :] * 2.0


def test_a_parallel_loop_with_independent_iterations(engine):
    x, out = integers(8, 4), nans(8, 4)
    parallel(x, out)
    assert np.array_equal(out, 2 * x)


@pypto.frontend.jit
def triangular(out: pypto.Tensor([8, 8], pypto.DT_INT32), n: pypto.SymbolicScalar):
    for i in pypto.loop(n):
        for j in pypto.loop(i, n):
            for k in pypto.loop(j - i):
                out[i, j] = k + 1


def test_inner_bounds_may_depend_on_outer_indices(engine):
    for n in (0, 1, 8):
        out = np.zeros((8, 8), np.int32)
        triangular(out, n)
        assert np.array_equal(out, [[max(0, j - i) if i < n and j < n else 0 for j in range(8)] for i in range(8)])


def test_python_counters_and_lists_cannot_follow_a_device_loop(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    weights = [1.0, 2.0, 3.0, 4.0]
    for i in loop(4):
        out[i : i + 1, :] = x[i : i + 1, :] * weights[i]
""",
    )
    with mistake("index", at="weights[i]"):
        kernel(integers(4, 4), nans(4, 4))


def test_range_over_a_symbol_is_refused(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([DYNAMIC, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    for i in range(x.shape[0]):
        out[:] = x[0:4, :] + 1.0
""",
    )
    with mistake("pypto.loop", at="range(x.shape[0])"):
        kernel(integers(4, 4), nans(4, 4))


def test_eight_run_time_lengths_one_compilation():
    with quiet():
        for n in range(8):
            visits(log(), 0, n)
    before = visits.compilations
    visits(log(), 3, 30)
    assert visits.compilations == before
