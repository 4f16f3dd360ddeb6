"""Field cases, section B: tails, valid shapes, extents that are not multiples of anything."""

import ml_dtypes
import numpy as np
import pytest
import torch

import pypto
from blackbox import define, floats, integers, mistake, nans, quiet
from pypto.errors.base import UserError
from pypto.fuzz.engines import on_engine

FP32 = pypto.DT_FP32


@pypto.frontend.jit
def partial_view(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([4, 8], FP32)):
    part = pypto.view(x, [4, 4], [2, 4], valid_shape=[2, 4])
    pypto.assemble(part + 1.0, [2, 4], out)


def test_fc_021_only_the_real_elements_of_a_partial_view_change(engine):
    x, out = integers(4, 8), nans(4, 8)
    partial_view(x, out)
    assert np.array_equal(out[2:, 4:], x[2:, 4:] + 1)
    assert np.isnan(out[:2]).all() and np.isnan(out[:, :4]).all()


def blocks(valid):
    valid_shape = ", valid_shape=[min(2, 5 - 2 * i), min(2, 5 - 2 * j)]" if valid else ""
    return f"""
@jit
def kernel(x: Tensor([5, 5], DT_FP32), out: Tensor([5, 5], DT_FP32), sums: Tensor([5, 3], DT_FP32)):
    for i in loop(3):
        for j in loop(3):
            part = view(x, [2, 2], [2 * i, 2 * j]{valid_shape}) + full([2, 2], 1.0, DT_FP32)
            assemble(part, [2 * i, 2 * j], out)
            assemble(part.sum(-1, keepdim=True), [2 * i, j], sums)
"""


@pytest.mark.parametrize("valid", [True, False])
def test_fc_022_blocks_of_two_over_five(engine, tmp_path, valid):
    x, out, sums = integers(5, 5), nans(5, 5), nans(5, 3)
    define(tmp_path, blocks(valid))(x, out, sums)
    assert np.array_equal(out, x + 1)
    assert np.array_equal(sums, np.stack([(x + 1)[:, 0:2].sum(1), (x + 1)[:, 2:4].sum(1), (x + 1)[:, 4:].sum(1)], 1))


@pypto.frontend.jit
def empty_last_block(
    x: pypto.Tensor([8, 4], FP32), out: pypto.Tensor([8, 4], FP32), total: pypto.Tensor([1, 4], FP32), n: pypto.SymbolicScalar
):
    acc = pypto.zeros(1, 4)
    for i in pypto.loop(4):
        part = pypto.view(x, [2, 4], [2 * i, 0], valid_shape=[max(0, min(2, n - 2 * i)), 4])
        acc = acc + part.sum(0, keepdim=True)
        pypto.assemble(part, [2 * i, 0], out)
    total[:] = acc


@pytest.mark.parametrize("n", range(9))
def test_fc_024_an_empty_tile_computes_and_stores_nothing(engine, n):
    x, out, total = integers(8, 4), nans(8, 4), nans(1, 4)
    empty_last_block(x, out, total, n)
    assert np.array_equal(out[:n], x[:n]) and np.isnan(out[n:]).all()
    assert np.array_equal(total[0], x[:n].sum(0))


@pypto.frontend.jit
def split_k(
    a: pypto.Tensor([3, 8], FP32), b: pypto.Tensor([8, 5], FP32), out: pypto.Tensor([3, 5], FP32), k: pypto.SymbolicScalar
):
    acc = pypto.zeros(3, 5)
    for i in pypto.loop(2):
        left = max(0, min(4, k - 4 * i))
        x = pypto.view(a, [3, 4], [0, 4 * i], valid_shape=[3, left])
        y = pypto.view(b, [4, 5], [4 * i, 0], valid_shape=[left, 5])
        acc = acc + pypto.matmul(x, y, FP32)
    out[:] = acc


@pytest.mark.parametrize("k", [0, 1, 4, 7, 8])
def test_fc_025_an_empty_k_block_contributes_zero(engine, k):
    a, b, out = integers(3, 8), integers(8, 5), nans(3, 5)
    split_k(a, b, out, k)
    assert np.array_equal(out, a[:, :k] @ b[:k])


@pypto.frontend.jit
def lone_empty_matmul(
    a: pypto.Tensor([3, 4], FP32), b: pypto.Tensor([4, 5], FP32), out: pypto.Tensor([3, 5], FP32), k: pypto.SymbolicScalar
):
    x = pypto.view(a, [3, 4], [0, 0], valid_shape=[3, k])
    y = pypto.view(b, [4, 5], [0, 0], valid_shape=[k, 5])
    out[:] = pypto.matmul(x, y, FP32)


def test_fc_025_a_product_over_nothing_is_zero(engine):
    for k in (0, 3):
        a, b, out = integers(3, 4), integers(4, 5), nans(3, 5)
        lone_empty_matmul(a, b, out, k)
        assert np.array_equal(out, a[:, :k] @ b[:k])


def test_fc_027_a_partial_reshape_is_refused_or_masked(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 8], DT_FP32), out: Tensor([2], DT_FP32)):
    part = view(x, [4, 8], [0, 0], valid_shape=[3, 8])
    out[:] = part.reshape([2, 16]).sum(-1)
""",
    )
    x, out = integers(4, 8), nans(2)
    try:
        kernel(x, out)
    except UserError as error:
        assert "reshape" in str(error)
        return
    assert np.array_equal(out, [x[:2].sum(), x[2].sum()])


def test_fc_028_a_reshape_near_the_end_stays_inside_the_destination(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([8, 4], DT_FP32), out: Tensor([7, 4], DT_FP32)):
    part = view(x, [2, 4], [5, 0], valid_shape=[2, 4])
    assemble(reshape(part, [8]).reshape([2, 4]), [5, 0], out)
    tail = view(x, [4, 4], [6, 0])
    assemble(reshape(tail, [4, 4], valid_shape=[1, 4]), [6, 0], out)
""",
    )
    x, guarded = integers(8, 4), nans(21, 4)
    kernel(x, guarded[7:14])
    assert np.isnan(guarded[:12]).all() and np.isnan(guarded[14:]).all()
    assert np.array_equal(guarded[12:14], x[5:7])


@pypto.frontend.jit
def reshaped_view(x: pypto.Tensor([9, 4], FP32), out: pypto.Tensor([2, 8], FP32), at: pypto.SymbolicScalar):
    out[:] = pypto.view(x, [4, 4], [at, 0]).reshape([2, 8]) + 1.0


def test_fc_029_a_view_at_a_run_time_offset_then_reshape(engine):
    x = integers(9, 4)
    for at in range(6):
        out = nans(2, 8)
        reshaped_view(x, out, at)
        assert np.array_equal(out, x[at : at + 4].reshape(2, 8) + 1)
    with mistake():
        reshaped_view(x, nans(2, 8), 6)


@pypto.frontend.jit
def tail_softmax(x: pypto.Tensor([3, 13], FP32), out: pypto.Tensor([3, 13], FP32), n: pypto.SymbolicScalar):
    part = pypto.view(x, [3, 13], [0, 0], valid_shape=[3, n])
    out[:] = pypto.exp(part - part.amax(-1, keepdim=True))


def test_fc_031_a_broadcast_operand_keeps_its_own_extent(engine):
    for n in (1, 5, 13):
        x, out = floats(3, 13), nans(3, 13)
        tail_softmax(x, out, n)
        part = x[:, :n].astype(np.float64)
        assert np.allclose(out[:, :n], np.exp(part - part.max(1, keepdims=True)), rtol=1e-5)
        assert np.isnan(out[:, n:]).all()


@pytest.mark.parametrize("dtype", ["FP16", "BF16"])
def test_fc_038_tanh_with_narrow_tails(engine, tmp_path, dtype):
    kernel = define(tmp_path, "@jit\ndef kernel(x: Tensor(), out: Tensor()):\n    out[:] = tanh(x)\n")
    numpy_type = {"FP16": np.float16, "BF16": ml_dtypes.bfloat16}[dtype]
    for width in range(1, 16):
        x = (floats(3, 16 + width) * 3).astype(numpy_type)
        out = np.zeros_like(x)
        with quiet():
            kernel(x, out)
        exact = np.tanh(x.astype(np.float64))
        step = np.spacing(np.abs(exact).astype(np.float32)) * (2**13 if dtype == "FP16" else 2**16)
        assert (np.abs(out.astype(np.float64) - exact) <= step).all()


MATRICES = {"FP16": torch.float16, "BF16": torch.bfloat16, "FP32": torch.float32, "INT8": torch.int8}


@pytest.mark.parametrize("dtype", MATRICES)
@pytest.mark.parametrize("a_trans", [False, True])
@pytest.mark.parametrize("b_trans", [False, True])
def test_fc_044_matmul_of_any_size_and_transposition(tmp_path, dtype, a_trans, b_trans):
    out_type = "INT32" if dtype == "INT8" else "FP32"
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(a: Tensor([], DT_{dtype}), b: Tensor([], DT_{dtype}), out: Tensor([], DT_{out_type})):
    out[:] = matmul(a, b, DT_{out_type}, a_trans={a_trans}, b_trans={b_trans})
""",
    )
    generator = torch.Generator().manual_seed(4)
    for m in (1, 5, 8, 17):
        for n in (5, 100):
            for k in (1, 100, 127):
                a = torch.randint(-4, 5, (k, m) if a_trans else (m, k), generator=generator).to(MATRICES[dtype])
                b = torch.randint(-4, 5, (n, k) if b_trans else (k, n), generator=generator).to(MATRICES[dtype])
                exact = (a.double().T if a_trans else a.double()) @ (b.double().T if b_trans else b.double())
                for engine in ("cpu",) if (m, n) != (5, 5) else ("cpu", "reference"):
                    out = torch.zeros(m, n, dtype=torch.int32 if dtype == "INT8" else torch.float32)
                    with quiet(), on_engine(engine):
                        kernel(a, b, out)
                    assert torch.equal(out.double(), exact), (m, n, k, engine)


def test_fc_045_a_very_long_product(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(a: Tensor([256, 131072], DT_BF16), b: Tensor([131072, 256], DT_BF16), out: Tensor([256, 256], DT_FP32)):
    out[:] = matmul(a, b, DT_FP32)
""",
    )
    generator = torch.Generator().manual_seed(4)
    a = torch.randint(-1, 2, (256, 131072), generator=generator).bfloat16()
    b = torch.randint(-1, 2, (131072, 256), generator=generator).bfloat16()
    out = torch.zeros(256, 256)
    kernel(a, b, out)
    assert torch.equal(out, a.float() @ b.float())


@pytest.mark.parametrize("form", ["x.sum(-1)", "pypto.sum(x, -1)", "x.sum(dim=-1)"])
def test_fc_051_sums_of_any_width(engine, tmp_path, form):
    kernel = define(
        tmp_path,
        f"@jit\ndef kernel(x: Tensor([3, STATIC], DT_FP32), out: Tensor([3], DT_FP32)):\n    out[:] = {form}\n",
    )
    for width in (4, 5, 8, 9, 127):
        x, out = integers(3, width), nans(3)
        with quiet():
            kernel(x, out)
        assert np.array_equal(out, x.sum(-1))
