"""Field cases, section C: loops, branches, carried values."""

import numpy as np
import pytest

import pypto
from blackbox import define, integers, mistake, nans, quiet
from pypto.diagnostics import PyptoWarning

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32


@pypto.frontend.jit
def flows_through(x: pypto.Tensor([7, 4], FP32), out: pypto.Tensor([1, 4], FP32), n: pypto.SymbolicScalar):
    acc = pypto.full([1, 4], 3.0, FP32)
    for i in pypto.loop(n):
        acc = acc + x[i : i + 1, :]
    out[:] = acc


def test_fc_052_zero_one_and_seven_trips_of_one_compiled_kernel(engine):
    before = flows_through.compilations
    for n in (0, 1, 7):
        x, out = integers(7, 4), nans(1, 4)
        flows_through(x, out, n)
        assert np.array_equal(out[0], 3 + x[:n].sum(0))
    assert flows_through.compilations <= before + 1


@pypto.frontend.jit
def from_three(x: pypto.Tensor([10, 4], FP32), out: pypto.Tensor([10, 4], FP32)):
    for i in pypto.loop(3, 10, 4):
        out[i : i + 1, :] = x[i : i + 1, :] + 1.0


def test_fc_054_a_loop_from_three_by_four(engine):
    x, out = integers(10, 4), nans(10, 4)
    from_three(x, out)
    assert np.array_equal(out[[3, 7]], x[[3, 7]] + 1)
    assert np.isnan(np.delete(out, [3, 7], 0)).all()


def recorded(tmp_path, header):
    return define(
        tmp_path,
        f"""
@jit
def kernel(log: Tensor([32], DT_INT32), start: SymbolicScalar, stop: SymbolicScalar):
    at = 0
    for i in {header}:
        log[at] = i
        at += 1
    log[31] = at
""",
    )


@pytest.mark.parametrize("n", [7, 0, 1, 3])
def test_fc_055_an_unrolled_loop_visits_each_index_once_in_order(engine, tmp_path, n):
    kernel = recorded(tmp_path, "loop(start, stop, unroll_list=[4, 2, 1])")
    log = np.full(32, -1, np.int32)
    kernel(log, 0, n)
    assert log[:n].tolist() == list(range(n)) and log[31] == n


@pytest.mark.parametrize("factors", [[4, 3, 1], [1, 2, 4], [3, 2]])
def test_fc_057_any_unroll_list(engine, tmp_path, factors):
    kernel = recorded(tmp_path, f"loop(start, stop, unroll_list={factors})")
    for start in (0, 5):
        for n in range(14):
            log = np.full(32, -1, np.int32)
            kernel(log, start, start + n)
            assert log[:n].tolist() == list(range(start, start + n)) and log[31] == n


@pypto.frontend.jit
def before_the_loop(
    a: pypto.Tensor([512, 600], FP32),
    b: pypto.Tensor([512, 600], FP32),
    c: pypto.Tensor([3, 512, 600], FP32),
    n: pypto.SymbolicScalar,
):
    t = a + 1.0
    for i in pypto.loop(n):
        c[i : i + 1, :, :] = (t + b).reshape([1, 512, 600])


@pytest.mark.parametrize("n", [0, 3])
def test_fc_058_a_statement_before_the_loop_used_inside(engine, n):
    a, b, c = integers(512, 600), integers(512, 600, seed=1), nans(3, 512, 600)
    before_the_loop(a, b, c, n)
    assert all(np.array_equal(part, a + 1 + b) for part in c[:n])
    assert np.isnan(c[n:]).all()


def test_fc_059_pure_rebinding_sums(engine):
    x, out = integers(7, 4), nans(1, 4)
    flows_through(x, out, 5)
    assert np.array_equal(out[0], 3 + x[:5].sum(0))


@pytest.mark.parametrize("n", [3, 0])
def test_fc_061_the_index_after_the_loop_is_pythons_or_a_name_error(engine, tmp_path, n):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(log: Tensor([4], DT_INT32), n: SymbolicScalar):
    for i in loop(n):
        log[0] = i
    log[1] = i
""",
    )
    log = np.full(4, -1, np.int32)
    try:
        kernel(log, n)
    except pypto.error.PyptoError as error:
        assert "i" in str(error) and "log[1] = i" in str(error)
        return
    assert n > 0 and log[1] == n - 1


@pypto.frontend.jit
def counts(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32), log: pypto.Tensor([4], INT32)):
    count = 0
    for i in pypto.loop(20):
        print("visiting", i)
        count = count + 1
        out[:] = x + 1.0
    log[0] = count


def test_fc_062_python_print_gets_a_note_and_a_counter_counts(engine, capfd):
    log = np.zeros(4, np.int32)
    with pytest.warns(PyptoWarning, match="pypto.print"):
        counts(integers(4, 4), nans(4, 4), log)
    assert capfd.readouterr().out.count("visiting") == 1
    assert log[0] == 20


def mark_first(out, index):
    if pypto.is_loop_begin(index):
        out[index] = 7


@pypto.frontend.jit
def first_in_a_helper(out: pypto.Tensor([4], INT32)):
    for i in pypto.loop(4):
        mark_first(out, i)


def test_fc_064_is_loop_begin_in_a_helper(engine):
    out = np.zeros(4, np.int32)
    first_in_a_helper(out)
    assert out.tolist() == [7, 0, 0, 0]


@pypto.frontend.jit
def condition_in_a_chunk(out: pypto.Tensor([8], INT32), k: pypto.SymbolicScalar):
    for i in pypto.loop(8, unroll_list=[4]):
        if pypto.cond(i < k):
            out[i] = 1
        else:
            out[i] = 2


@pytest.mark.parametrize("k", range(9))
def test_fc_065_a_condition_is_evaluated_per_iteration_of_a_chunk(engine, k):
    out = np.zeros(8, np.int32)
    condition_in_a_chunk(out, k)
    assert out.tolist() == [1] * k + [2] * (8 - k)


@pypto.frontend.jit
def tiles_in_one_arm(a: pypto.Tensor([16, 16], FP32), out: pypto.Tensor([16, 16], FP32), n: pypto.SymbolicScalar):
    pypto.set_cube_tile_shapes([16, 16], [16, 16], [16, 16])
    y = a
    if n > 0:
        pypto.set_vec_tile_shapes(8, 8)
        pypto.set_cube_tile_shapes([32, 32], [32, 32], [32, 32])
        y = a + 1.0
    assert pypto.get_vec_tile_shapes() == []
    assert list(pypto.get_cube_tile_shapes()[0]) == [16, 16]
    out[:] = pypto.matmul(y, a, FP32)


def test_fc_067_tile_shapes_do_not_leak_out_of_an_arm(engine):
    for n in (0, 1):
        a, out = integers(16, 16), nans(16, 16)
        tiles_in_one_arm(a, out, n)
        assert np.array_equal(out, (a + n) @ a)


@pypto.frontend.jit
def extents_per_arm(
    x: pypto.Tensor([8, 4], FP32), out: pypto.Tensor([8, 4], FP32), total: pypto.Tensor([1, 4], FP32), n: pypto.SymbolicScalar
):
    part = pypto.view(x, [8, 4], [0, 0], valid_shape=[n, 4])
    if n > 3:
        part = pypto.view(x, [8, 4], [0, 0], valid_shape=[n - 2, 4]) * 2.0
    out[:] = part + 1.0
    total[:] = part.sum(0, keepdim=True)


@pytest.mark.parametrize("n", [1, 3, 4, 8])
def test_fc_068_each_arm_keeps_its_own_valid_shape(engine, n):
    x, out, total = integers(8, 4), nans(8, 4), nans(1, 4)
    extents_per_arm(x, out, total, n)
    rows, factor = (n - 2, 2) if n > 3 else (n, 1)
    assert np.array_equal(out[:rows], x[:rows] * factor + 1) and np.isnan(out[rows:]).all()
    assert np.array_equal(total[0], (x[:rows] * factor).sum(0))


@pypto.frontend.jit
def skips(
    x: pypto.Tensor([9, 4], FP32), table: pypto.Tensor([9], INT32), out: pypto.Tensor([9, 4], FP32), log: pypto.Tensor([2], INT32)
):
    kept, seen = 0, 0
    for i in pypto.loop(9):
        seen += 1
        if table[i] > 0:
            out[kept : kept + 1, :] = x[i : i + 1, :]
            kept = kept + 1
    log[0] = kept
    log[1] = seen


def test_fc_069_a_skip_that_updates_a_carried_scalar(engine):
    x, out, log = integers(9, 4), nans(9, 4), np.zeros(2, np.int32)
    table = np.array([0, 1, 1, -1, 0, 2, 0, 0, 3], np.int32)
    skips(x, table, out, log)
    assert log.tolist() == [4, 9]
    assert np.array_equal(out[:4], x[table > 0]) and np.isnan(out[4:]).all()


@pytest.mark.parametrize("condition", ["1 < 5 < 3", "1 < n < 3", "n in (1, 2)", "n not in (1, 2)", "n == 1 != 2"])
def test_fc_071_chains_and_membership_are_pythons_or_refused(engine, tmp_path, condition):
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(log: Tensor([1], DT_INT32), n: SymbolicScalar):
    log[0] = 0
    if {condition}:
        log[0] = 1
""",
    )
    for n in range(5):
        log = np.full(1, -1, np.int32)
        try:
            kernel(log, n)
        except pypto.error.PyptoError as error:
            assert "in" in condition and condition in str(error)
            return
        assert log[0] == int(eval(condition, {"n": n}))


def test_fc_072_return_under_a_dynamic_condition_is_refused_with_its_line(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32), n: SymbolicScalar):
    out[:] = x
    if n > 0:
        return
    out[:] = x + 1.0
""",
    )
    with mistake("return", at="return"):
        kernel(integers(4, 4), nans(4, 4), 1)


def test_fc_072_different_types_per_path_of_a_helper(tmp_path):
    kernel = define(
        tmp_path,
        """
def pick(x, n):
    if n > 0:
        return x
    return 3


@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32), n: SymbolicScalar):
    out[:] = x + pick(x, n)
""",
    )
    with mistake():
        kernel(integers(4, 4), nans(4, 4), 1)


def test_fc_074_a_name_defined_only_inside_a_dynamic_if(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32), n: SymbolicScalar):
    if n > 0:
        extra = x + 1.0
    out[:] = extra
""",
    )
    with quiet(), mistake("extra", at="out[:] = extra") as caught:
        kernel(integers(4, 4), nans(4, 4), 1)
    assert ":9" in str(caught.value) or "line 9" in str(caught.value), str(caught.value)
