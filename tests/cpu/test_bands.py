"""Attention in bands: rows along the lanes, packed operands kept across loops, the same bits for any number of workers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import pypto
from pypto import options
from pypto.cpu.program import ProgramEmitter
from pypto.cpu.target import host

FP32, BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)
NEGATIVE = -1e30


def attention(rows: int, columns: int, causal: bool):
    """A kernel of its own for each test: online softmax over [heads, length, size]."""

    @pypto.frontend.jit
    def kernel(q, k, v, out):
        heads, length, size = q.shape
        pypto.set_vec_tile_shapes(64, 64)
        pypto.set_cube_tile_shapes([64, 64], [64, 64], [64, 64])
        for h in pypto.loop(heads, name="head", idx_name="h"):
            for i in pypto.loop(length // rows, name="query", idx_name="i"):
                first = i * rows
                query = pypto.reshape(q[h : h + 1, first : first + rows, :], [rows, size])
                top = pypto.full([rows, 1], NEGATIVE, pypto.DT_FP32)
                total = pypto.zeros(rows, 1)
                result = pypto.zeros(rows, size)
                blocks = pypto.ceildiv(first + rows, columns) if causal else length // columns
                for j in pypto.loop(blocks, name="key", idx_name="j"):
                    start = j * columns
                    keys = pypto.reshape(k[h : h + 1, start : start + columns, :], [columns, size])
                    values = pypto.reshape(v[h : h + 1, start : start + columns, :], [columns, size])
                    scores = pypto.matmul(query, keys, pypto.DT_FP32, b_trans=True) * 0.3
                    if causal:
                        if start + columns > first:
                            scores = scores + pypto.triu(pypto.full([rows, columns], NEGATIVE, pypto.DT_FP32), first - start + 1)
                    new_top = pypto.maximum(top, pypto.amax(scores, -1, True))
                    weights = pypto.exp(scores - new_top)
                    decay = pypto.exp(top - new_top)
                    total = total * decay + pypto.sum(weights, -1, True)
                    result = result * decay + pypto.matmul(pypto.cast(weights, v.dtype), values, pypto.DT_FP32)
                    top = new_top
                block = pypto.cast(result / total, out.dtype)
                out[h : h + 1, first : first + rows, :] = pypto.reshape(block, [1, rows, size])

    return kernel


def arrays(length: int, size: int, dtype: np.dtype, heads: int = 3) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.standard_normal((heads, length, size)).astype(dtype) for _ in range(3)]


def exact(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    scores = np.einsum("hqd,hkd->hqk", q.astype(np.float64), k.astype(np.float64)) * 0.3
    if causal:
        scores = np.where(np.tri(scores.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,hkd->hqd", weights / weights.sum(-1, keepdims=True), v.astype(np.float64))


SHAPES = [(256, 128, 64, 64), (288, 96, 32, 40), (320, 160, 80, 16), (256, 64, 32, 128)]


@pytest.mark.parametrize("dtype", [FP32, BF16], ids=str)
@pytest.mark.parametrize(("length", "rows", "columns", "size"), SHAPES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_for_any_number_of_workers(dtype, length, rows, columns, size, causal):
    """Whole and partial bands, depths that fill tiles and others, packed by whoever comes first."""
    q, k, v = arrays(length, size, dtype)
    kernel = attention(rows, columns, causal)
    seen = set()
    for workers in (1, 2, 4):
        out = np.full_like(q, np.nan)
        with options.scope("test", {"cpu.threads": workers}):
            kernel(q, k, v, out)
        seen.add(out.tobytes())
    assert len(seen) == 1
    error = np.abs(out.astype(np.float64) - exact(q, k, v, causal)).max()
    assert error <= (0.03 if dtype is BF16 else 2e-5), error  # bf16: weights and result are rounded to 8 digits


@pytest.mark.parametrize("dtype", [FP32, BF16], ids=str)
def test_nan_reaches_its_rows_and_no_others(dtype):
    q, k, v = arrays(256, 64, dtype)
    q[1, 7, 3] = np.nan
    q[2, 130, 0] = np.inf  # inf and -inf in the scores: inf - inf
    out = np.zeros_like(q)
    attention(128, 64, False)(q, k, v, out)
    broken = np.isnan(out.astype(np.float32)).all(-1)
    expected = np.zeros((3, 256), bool)
    expected[1, 7] = expected[2, 130] = True
    assert (broken == expected).all()


def test_the_keys_change_between_calls():
    """What one call keeps is not seen by the next."""
    kernel = attention(128, 64, False)
    for seed in range(3):
        q, k, v = (np.random.default_rng(seed).standard_normal((2, 256, 32)).astype(BF16) for _ in range(3))
        out = np.empty_like(q)
        kernel(q, k, v, out)
        assert np.abs(out.astype(np.float64) - exact(q, k, v, False)).max() <= 0.03


def test_what_is_turned_and_kept(tmp_path):
    """The schedule says so: rows last in the nests of the band, flags cleared before the loops."""
    texts = []
    original = ProgramEmitter.generate

    def generate(self, nests=True):
        made = original(self, True)
        texts.append(made.nests)
        return made

    ProgramEmitter.generate = generate
    try:
        with options.scope("test", {"run.cache": False}):
            q, k, v = arrays(256, 64, BF16)
            attention(128, 64, False)(q, k, v, np.empty_like(q))
    finally:
        ProgramEmitter.generate = original
    assert "over [64, 128], reduces 0" in texts[0]
    assert "nest clear over" in texts[0] and "v_packed_flags" in texts[0] and "q_packed_flags" in texts[0]
    assert host().compiled


@pytest.mark.parametrize("use", ["scores", "weights", "weights in a product", "result in a product", "sums"])
@pytest.mark.parametrize("dtype", [FP32, BF16], ids=str)
def test_what_else_reads_a_band(use, dtype):
    """Values of a band that something outside it, or another product, reads in rows."""
    rows, columns, size = 96, 128, 64

    @pypto.frontend.jit
    def kernel(q, k, v, out, more):
        heads = q.shape[0]
        pypto.set_vec_tile_shapes(64, 64)
        pypto.set_cube_tile_shapes([64, 64], [64, 64], [64, 64])
        for h in pypto.loop(heads, name="head", idx_name="h"):
            query = pypto.reshape(q[h : h + 1, :, :], [rows, size])
            keys = pypto.reshape(k[h : h + 1, :, :], [columns, size])
            values = pypto.reshape(v[h : h + 1, :, :], [columns, size])
            scores = pypto.matmul(query, keys, pypto.DT_FP32, b_trans=True) * 0.3
            weights = pypto.exp(scores - pypto.amax(scores, -1, True))
            total = pypto.sum(weights, -1, True)
            narrow = pypto.cast(weights, v.dtype)
            result = pypto.matmul(narrow, values, pypto.DT_FP32) / total
            out[h : h + 1, :, :] = pypto.reshape(pypto.cast(result, out.dtype), [1, rows, size])
            if use == "scores":
                extra = scores
            elif use == "weights":
                extra = weights + pypto.cast(narrow, pypto.DT_FP32)
            elif use == "weights in a product":
                extra = pypto.matmul(narrow, narrow, pypto.DT_FP32, a_trans=True)[0:96, :]
            elif use == "result in a product":
                extra = pypto.matmul(pypto.cast(result, v.dtype), values, pypto.DT_FP32, b_trans=True)
            else:
                extra = scores + total
            more[h : h + 1, :, :] = pypto.reshape(extra, [1, rows, columns])

    random = np.random.default_rng(8)
    q, k, v = (random.standard_normal((3, n, size)).astype(dtype) for n in (rows, columns, columns))
    out, more = np.empty_like(q), np.full((3, rows, columns), np.nan, np.float32)
    kernel(q, k, v, out, more)
    wide = [x.astype(np.float64) for x in (q, k, v)]
    scores = np.einsum("hqd,hkd->hqk", wide[0], wide[1]) * 0.3
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    result = np.einsum("hqk,hkd->hqd", weights / total, wide[2])
    extra = {
        "scores": scores,
        "weights": 2 * weights,
        "weights in a product": np.einsum("hqi,hqj->hij", weights, weights)[:, :96],
        "result in a product": np.einsum("hqd,hkd->hqk", result, wide[2]),
        "sums": scores + total,
    }[use]
    bound = 2e-2 if dtype is BF16 else 1e-5
    np.testing.assert_allclose(out.astype(np.float64), result, rtol=bound, atol=3 * bound)
    np.testing.assert_allclose(more, extra, rtol=bound, atol=10 * bound)
