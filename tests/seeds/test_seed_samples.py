"""The table "The seeds' samples" of the rulings, tensor level: kernels of our own with the same calls."""

import warnings

import numpy as np
import pytest
import torch

import pypto
from blackbox import define, integers, mistake, nans, python
from pypto.diagnostics import PortabilityWarning, PyptoWarning
from pypto.fuzz.engines import on_engine

REBINDS = """
@pypto.frontend.jit
def rebinds(source, result):
    pypto.set_vec_tile_shapes(4, 4)
    result = source + 1
"""


def ones_and_empty():
    return torch.ones(4, 4), torch.full((4, 4), float("nan"))


def test_seed_1_rebinding_the_output_writes_back_with_a_warning(engine, tmp_path):
    kernel = define(tmp_path, REBINDS, "rebinds")
    x, y = ones_and_empty()
    with pytest.warns(PyptoWarning) as caught:
        kernel(pypto.from_torch(x), pypto.from_torch(y))
    assert (y == 2).all()
    text = "\n".join(str(w.message) for w in caught)
    assert "result" in text and "result = source + 1" in text
    assert all(spelling in text for spelling in ("[:]", "move", "assemble")), text


def test_seed_1_rebinding_the_output_is_an_error_in_strict_mode(tmp_path):
    kernel = define(tmp_path, REBINDS, "rebinds")
    x, y = ones_and_empty()
    with on_engine("cpu", strict=True), mistake("result", "[:]", at="result = source + 1"):
        kernel(x, y)


@pytest.mark.parametrize("wrap", [pypto.from_torch, lambda t: t], ids=["from_torch", "direct"])
@pytest.mark.parametrize(
    "spelling",
    [
        "result[:] = source + 1",
        "result.move(source + 1)",
        "result.assemble(source + 1, [0, 0])",
        "pypto.assemble(source + 1, [0, 0], result)",
    ],
)
def test_seed_1_and_2_proper_spellings_write_twos(engine, tmp_path, spelling, wrap):
    kernel = define(
        tmp_path,
        f"""
@pypto.frontend.jit
def writes(source, result):
    pypto.set_vec_tile_shapes(4, 4)
    {spelling}
""",
        "writes",
    )
    x, y = ones_and_empty()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyptoWarning)
        warnings.simplefilter("ignore", PortabilityWarning)
        kernel(wrap(x), wrap(y))
    assert (y == 2).all()


def test_seed_2_device_id_is_a_stand_in(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        """
import os
import pypto
import torch

device = int(os.environ.get("TILE_FWK_DEVICE_ID", 0))
torch.npu.set_device(device)

@pypto.frontend.jit
def add_one(x: pypto.Tensor([4, 4], pypto.DT_FP32), y: pypto.Tensor([4, 4], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(4, 8)
    y[:] = x + 1

x, y = torch.ones(4, 4, device=f"npu:{device}"), torch.empty(4, 4).npu()
add_one(x, y)
print("sum", float(y.cpu().sum()))
"""
    )
    done = python("-c", "import sys; from pypto.cli import main; sys.exit(main(sys.argv[1:]))", "run", script)
    assert done.returncode == 0, done.stderr
    assert "sum 32.0" in done.stdout


@pypto.frontend.jit
def flat_tile(x: pypto.Tensor([8, 8], pypto.DT_FP32), y: pypto.Tensor([8, 8], pypto.DT_FP32)):
    for _ in pypto.loop(2, name="b_loop", idx_name="b"):
        pypto.set_vec_tile_shapes(8)
        y[:] = x + 1.0


def test_seed_2_tile_rank_one_on_a_rank_two_op_is_an_error():
    with mistake("set_vec_tile_shapes", "rank", at="x + 1.0"):
        flat_tile(integers(8, 8), nans(8, 8))


@pypto.frontend.jit
def with_lengths(
    source: pypto.Tensor([3, 5, 8], pypto.DT_FP32),
    lengths: pypto.Tensor([3], pypto.DT_INT32),
    out: pypto.Tensor([3, 5, 8], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, 8, 8)
    for b in pypto.loop(3, name="b_loop", idx_name="b"):
        length = lengths[b]
        part = pypto.view(source, [1, 5, 8], [b, 0, 0], valid_shape=[1, length, 8])
        out[b:, :, :] = part + 1.0


def test_seed_2_view_with_a_valid_shape_leaves_the_rows_past_the_length_alone(engine):
    source, out = integers(3, 5, 8), nans(3, 5, 8)
    lengths = np.array([0, 5, 2], np.int32)
    with_lengths(source, lengths, out)
    for b, length in enumerate(lengths):
        assert np.array_equal(out[b, :length], source[b, :length] + 1)
        assert np.isnan(out[b, length:]).all()


@pypto.frontend.jit
def without_lengths(
    source: pypto.Tensor([3, 5, 8], pypto.DT_FP32),
    lengths: pypto.Tensor([3], pypto.DT_INT32),
    out: pypto.Tensor([3, 5, 8], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, 8, 8)
    for b in pypto.loop(3, name="b_loop", idx_name="b"):
        length = lengths[b]
        part = pypto.view(source, [1, 5, 8], [b, 0, 0])
        if length > 0:
            out[b:, :, :] = part + 1.0


@pytest.mark.parametrize(
    ("kernel", "says"), [(without_lengths, "[1, 5, 8] = load(source"), (with_lengths, "valid 1, lengths_1, 8] = load(source")]
)
def test_seed_2_the_printed_program_says_what_is_valid(tmp_path, kernel, says):
    with pypto.options(run_options={"dump": str(tmp_path)}):
        kernel(integers(3, 5, 8), np.array([1, 5, 0], np.int32), nans(3, 5, 8))
    printed = "\n".join(file.read_text() for file in sorted(tmp_path.rglob("*")) if file.is_file())
    assert says in printed, printed[:2000]


def test_seed_2_view_without_a_valid_shape_is_full(engine):
    source, out = integers(3, 5, 8), nans(3, 5, 8)
    without_lengths(source, np.array([1, 5, 0], np.int32), out)
    assert np.array_equal(out[:2], source[:2] + 1)
    assert np.isnan(out[2]).all()


def sum_block(tile):
    """The sample's graph: sum in one ``pypto.function`` block with the last tile entry ``tile``."""
    x, res = pypto.tensor([4, 8], pypto.DT_FP32, "x"), pypto.tensor([4], pypto.DT_FP32, "res")
    with pypto.function("TENSOR_SUM_FP32", x, res):
        for _ in pypto.loop(1, name="LOOP_L0", idx_name="a_idx"):
            pypto.set_vec_tile_shapes(4, tile)
            res.move(x.sum(-1))
    a, b = torch.from_numpy(integers(4, 8)), torch.full((4,), float("nan"))
    pypto.runtime._device_run_once_data_from_host(pypto.from_torch(a), pypto.from_torch(b))
    return a, b


def test_seed_2_sum_with_an_aligned_tile_runs(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PortabilityWarning)
        a, b = sum_block(8)
    assert torch.equal(b, a.sum(-1))


def test_seed_2_sum_with_a_four_element_tile_warns_on_the_cpu(engine):
    with pytest.warns(PortabilityWarning, match="32"):
        a, b = sum_block(4)
    assert torch.equal(b, a.sum(-1))


@pypto.frontend.jit
def prints_one_path(
    a: pypto.Tensor([4, 8], pypto.DT_FP32), b: pypto.Tensor([4, 8], pypto.DT_FP32), c: pypto.Tensor([4, 8], pypto.DT_FP32)
):
    for i in pypto.loop(20):
        print("i is", i)
        c[:] = a + b


@pypto.frontend.jit
def prints_values(a: pypto.Tensor([4, 8], pypto.DT_FP32), c: pypto.Tensor([4, 8], pypto.DT_FP32)):
    for i in pypto.loop(5):
        pypto.print("i is", i)
        c[:] = a + 1.0


def test_seed_2_python_print_runs_once_per_traced_body_with_a_note(capfd):
    out = nans(4, 8)
    with pytest.warns(PyptoWarning, match="pypto.print"):
        prints_one_path(integers(4, 8), integers(4, 8), out)
    assert capfd.readouterr().out.count("i is") == 1
    assert np.array_equal(out, 2 * integers(4, 8))


def test_seed_2_pypto_print_runs_per_iteration(engine, capfd):
    prints_values(integers(4, 8), nans(4, 8))
    lines = [line for line in capfd.readouterr().out.splitlines() if "i is" in line]
    assert [line.split()[-1] for line in lines] == ["0", "1", "2", "3", "4"]


@pypto.frontend.jit
def reads_before_writing(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32)):
    scratch = pypto.tensor([4, 8], pypto.DT_FP32, "scratch")
    for _ in pypto.loop(3):
        out[:] = scratch + x


def test_seed_2_local_tensor_read_before_it_is_written_is_an_error():
    with mistake("scratch", at="scratch + x"):
        reads_before_writing(integers(4, 8), nans(4, 8))


@pypto.frontend.jit
def unrolled(log: pypto.Tensor([64], pypto.DT_INT32), start: pypto.SymbolicScalar, stop: pypto.SymbolicScalar):
    at = 0
    for i in pypto.loop(start, stop, unroll_list=[2]):
        log[at] = i
        at = at + 1
    log[63] = at


@pypto.frontend.jit
def chunked(log: pypto.Tensor([64], pypto.DT_INT32), start: pypto.SymbolicScalar, stop: pypto.SymbolicScalar):
    at = 0
    for i, size in pypto.loop_unroll(start, stop, unroll_list=[4, 3]):
        for j in range(size):
            log[at] = i + j
            at = at + 1
    log[63] = at


@pytest.mark.parametrize("kernel", [unrolled, chunked], ids=["loop", "loop_unroll"])
def test_seed_2_loop_pseudo_code_visits_every_index_once(engine, kernel):
    for start in (0, 5):
        for count in range(14):
            log = np.full(64, -1, np.int32)
            kernel(log, start, start + count)
            assert log[63] == count
            assert list(log[:count]) == list(range(start, start + count))
    assert kernel.compilations <= 2  # one per engine


@pypto.frontend.jit
def hidden_loops(
    a: pypto.Tensor([4, 8], pypto.DT_FP32), b: pypto.Tensor([4, 8], pypto.DT_FP32), c: pypto.Tensor([4, 8], pypto.DT_FP32)
):
    t = a + 1
    for _ in pypto.loop(1):
        c[:] = t + b


def test_seed_2_statements_before_a_loop_need_no_loop_of_their_own(engine):
    a, b, c = integers(4, 8), integers(4, 8, seed=1), nans(4, 8)
    hidden_loops(a, b, c)
    assert np.array_equal(c, a + 1 + b)


@pypto.frontend.jit
def operators(
    a: pypto.Tensor([8, 5], pypto.DT_FP32),
    b: pypto.Tensor([8, 5], pypto.DT_FP32),
    plain: pypto.Tensor([8, 5], pypto.DT_FP32),
    norm: pypto.Tensor([8, 5], pypto.DT_FP32),
    turned: pypto.Tensor([5, 8], pypto.DT_FP32),
    total: pypto.Tensor([8], pypto.DT_FP32),
):
    plain[:] = a * b * (a + b) - 2 * a
    norm[:] = a * ((a * a).sum(-1, keepdim=True) + 1e-6).rsqrt()
    turned[:] = (a - b).exp().T
    total[:] = (a.pow(2).sum(-1, keepdim=True).sqrt() + a.abs().neg().mean(-1, keepdim=True)).reshape([8])


def test_seed_3_operators_methods_sums_of_any_width_and_transposes(engine):
    a, b = integers(8, 5), integers(8, 5, seed=2)
    out = [nans(8, 5), nans(8, 5), nans(5, 8), nans(8)]
    operators(a, b, *out)
    a64 = a.astype(np.float64)
    assert np.array_equal(out[0], a * b * (a + b) - 2 * a)
    assert np.allclose(out[1], a64 / np.sqrt((a64 * a64).sum(-1, keepdims=True) + 1e-6), rtol=1e-5)
    assert np.allclose(out[2], np.exp(a64 - b).T, rtol=1e-5)
    assert np.allclose(out[3], np.sqrt((a64**2).sum(-1)) - np.abs(a64).mean(-1), rtol=1e-4, atol=1e-5)


@pypto.frontend.jit
def method_forms(
    a: pypto.Tensor([4, 4], pypto.DT_BF16),
    product: pypto.Tensor([4, 4], pypto.DT_FP32),
    wide: pypto.Tensor([4, 4], pypto.DT_FP32),
):
    x = a.float()
    product[:] = pypto.matmul(x, x, pypto.DT_FP32, a_trans=False, b_trans=True) - pypto.matmul(x, x.T, pypto.DT_FP32)
    wide[:] = x.transpose(0, 1).reshape([2, 8]).reshape([4, 4]).sqrt() * 1


def test_seed_3_float_transpose_and_matmul_flags(engine):
    a = torch.arange(16).reshape(4, 4).to(torch.bfloat16)
    product, wide = torch.full((4, 4), float("nan")), torch.full((4, 4), float("nan"))
    method_forms(a, product, wide)
    assert (product == 0).all()
    assert torch.allclose(wide, a.float().T.sqrt())
