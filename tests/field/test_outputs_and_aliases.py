"""Field cases, section A: outputs, initialisation, aliasing and buffer reuse."""

import numpy as np
import pytest

import pypto
from blackbox import define, floats, integers, mistake, nans, quiet
from pypto.diagnostics import PyptoWarning
from pypto.fuzz.engines import on_engine

FP32, BF16 = pypto.DT_FP32, pypto.DT_BF16


@pypto.frontend.jit
def rebinds_only(x: pypto.Tensor([8, 8], FP32), out: pypto.Tensor([8, 8], FP32)):
    out = x + 1.0  # noqa: F841


def test_fc_001_rebinding_the_output_never_leaves_old_bytes_silently(engine):
    x, out = integers(8, 8), nans(8, 8)
    with pytest.warns(PyptoWarning, match="out"):
        rebinds_only(x, out)
    assert np.array_equal(out, x + 1)


@pypto.frontend.jit
def half_written(out: pypto.Tensor([8, 16], FP32)):
    t = pypto.tensor([8, 16], FP32, "t")
    pypto.assemble(pypto.full([4, 16], 1.0, FP32), [0, 0], t)
    out[:] = t + 1.0


def test_fc_002_reading_the_part_nobody_wrote_is_an_error(engine):
    with mistake("'t'", "[4, 0]", "is made at", 't = pypto.tensor([8, 16], FP32, "t")', at="t + 1.0"):
        half_written(nans(8, 16))


def test_fc_002_checked_mode_names_the_first_undefined_element(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(out: Tensor([8, 16], DT_FP32), n: SymbolicScalar):
    t = tensor([8, 16], DT_FP32, "t")
    for i in loop(n):
        t[i : i + 1, :] = full([1, 16], 1.0, DT_FP32)
    out[:] = t + 1.0
""",
    )
    with on_engine("reference", checked=True), mistake("t", "4", at="t + 1.0"):
        kernel(nans(8, 16), 4)
    out = nans(8, 16)
    with on_engine("reference", checked=True):
        kernel(out, 8)
    assert (out == 2).all()


def test_fc_002_a_local_written_by_a_run_time_loop_is_checked_at_run_time(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(out: Tensor([8, 16], DT_FP32), n: SymbolicScalar):
    t = tensor([8, 16], DT_FP32, "t")
    for i in loop(n):
        t[i : i + 1, :] = full([1, 16], 1.0, DT_FP32)
    out[:] = t + 1.0
""",
    )
    out = nans(8, 16)
    kernel(out, 8)
    assert (out == 2).all()
    with mistake("t"):
        kernel(nans(8, 16), 4)


@pypto.frontend.jit
def reads_and_writes_one_tensor(out: pypto.Tensor([32, 32], FP32)):
    a = pypto.tensor([32, 32], FP32, "a")
    a[:] = pypto.zeros(32, 32)
    v = a[0:16, 0:16]
    a[16:, 16:] = pypto.exp(v)
    a[0:1, 0:1] = a[16:17, 16:17] + 1.0
    out[:] = a


def test_fc_004_reading_and_writing_the_same_tensor_follows_program_order(engine):
    out = nans(32, 32)
    reads_and_writes_one_tensor(out)
    expected = np.zeros((32, 32), np.float32)
    expected[16:, 16:] = 1
    expected[0, 0] = 2
    assert np.array_equal(out, expected)


@pypto.frontend.jit
def reshaped_output(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([8, 4], FP32)):
    r = pypto.reshape(out, [4, 8], inplace=True)
    for i in pypto.loop(4):
        pypto.assemble(x[i : i + 1, :] * 2.0, [i, 0], r)


def test_fc_005_an_inplace_reshape_of_the_output_reaches_the_caller(engine):
    x, out = integers(4, 8), nans(8, 4)
    reshaped_output(x, out)
    assert np.array_equal(out.reshape(4, 8), x * 2)


@pypto.frontend.jit
def overlapping(out: pypto.Tensor([12, 8], FP32), factors=(1,)):
    for i in pypto.loop(5, unroll_list=list(factors)):
        pypto.assemble(pypto.full([4, 8], i, FP32), [i * 2, 0], out)


@pytest.mark.parametrize("factors", [(1,), (2,), (4,)])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_fc_007_later_iterations_win(engine, factors, threads):
    from pypto.options.scopes import scope

    out = nans(12, 8)
    with scope("threads", {"cpu.threads": threads}):
        overlapping(out, factors=factors)
    assert out[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4]
    assert (out == out[:, :1]).all()


@pypto.frontend.jit
def overlapping_in_parallel(out: pypto.Tensor([12, 8], FP32)):
    for i in pypto.loop(5, parallel=True):
        pypto.assemble(pypto.full([4, 8], i, FP32), [i * 2, 0], out)


def test_fc_008_overlapping_writes_of_a_parallel_loop_are_diagnosed():
    with mistake("parallel", "'out'", "iterations 0 and 1", "bytes 64 to 127"):
        overlapping_in_parallel(nans(12, 8))


def test_fc_009_assembling_another_dtype_is_a_type_error(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 8], DT_FP32), out: Tensor([8, 8], DT_BF16)):
    assemble(x + 1.0, [0, 0], out)
""",
    )
    import torch

    with mistake("fp32", "bf16", "cast", at="assemble(x + 1.0, [0, 0], out)"):
        kernel(floats(4, 8), torch.zeros(8, 8, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    "form", ["pypto.sin(x)", "pypto.cos(x)", "pypto.cosh(x)", "pypto.floor_div(x, 2.0)", "pypto.floor_div(x, x + 9.5)"]
)
def test_fc_011_operands_stay_what_they_were(engine, tmp_path, form):
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor([5, 9], DT_FP32), y: Tensor([5, 9], DT_FP32), again: Tensor([5, 9], DT_FP32)):
    y[:] = {form}
    again[:] = x
""",
    )
    x, y, again = floats(5, 9), nans(5, 9), nans(5, 9)
    before = x.tobytes()
    kernel(x, y, again)
    assert x.tobytes() == before == again.tobytes()
    assert not np.isnan(y).any()


def test_fc_001_a_kernel_that_mentions_no_output_is_an_error(tmp_path):
    kernel = define(tmp_path, "@jit\ndef kernel(x: Tensor([4], DT_FP32), out: Tensor([4], DT_FP32)):\n    y = x + 1.0\n")
    with quiet(), mistake("kernel"):
        kernel(nans(4), nans(4))
