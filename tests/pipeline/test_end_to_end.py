"""Pipelined kernels through ``pl.jit`` on the simulator: equal to numpy, bit for bit equal to the serial form, whatever the schedule."""

import attention
import numpy as np
import pytest
import real_kernels as kernels

import pypto_pro.language as pl
from pypto.errors.pipeline import LocalDataTooDeep, PreloadTooDeep
from pypto_pro.pipeline import PipelineConfig

SEEDS = range(8)  # adversarial schedules
SLOTS = [2, 4]


def jit(preload):
    return pl.jit(auto_mutex=True, pipeline=PipelineConfig(preload=preload))


def outputs(launch, seeds=SEEDS):
    """What ``launch`` computes, in the natural order and under every adversarial schedule (races are errors)."""
    found = []
    for seed in (None, *seeds):
        with pl.simulate(seed=seed):
            found.append(launch())
    return found


def assert_same(serial, found):
    for one in found:
        np.testing.assert_array_equal(one, serial)


# -- chains -----------------------------------------------------------------------------------------------------------------


def run_softmax(kernel, blocks):
    a, b, _, out = kernels.operands(blocks)
    kernel[None, 1](a, b, out, blocks)
    return out


def run_chain(kernel, blocks):
    a, b, d, out = kernels.operands(blocks)
    kernel[None, 1](a, b, d, out, blocks)
    return out


@pytest.mark.parametrize("preload", range(5))
@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 9])
def test_product_and_softmax(blocks, preload):
    serial = run_softmax(kernels.make_softmax(2, jit(0)), blocks)
    if blocks:
        a, b, _, _ = kernels.operands(blocks)
        np.testing.assert_allclose(serial, kernels.softmax_expected(a, b), rtol=1e-4, atol=1e-6)
    kernel = kernels.make_softmax(2, jit(preload))
    assert_same(serial, outputs(lambda: run_softmax(kernel, blocks), SEEDS if blocks == 9 else [0]))


@pytest.mark.parametrize("preload", range(5))
@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("long", [False, True])
def test_chains(long, slots, preload):
    slots = min(slots, 4 if not long else 4)
    kernel = kernels.make_chain(slots, jit(preload), long)
    if preload > slots:
        with pytest.raises(PreloadTooDeep, match=f"it has {slots} tile.s., it would need {preload}"):
            run_chain(kernel, 1)
        return
    plain = kernels.make_chain(slots, jit(0), long)
    for blocks in (0, 1, 2, 3, 4, 9):
        serial = run_chain(plain, blocks)
        if blocks:
            a, b, d, _ = kernels.operands(blocks)
            np.testing.assert_allclose(serial, kernels.chain_expected(a, b, d, long), rtol=1e-3, atol=1e-4)
        assert_same(serial, outputs(lambda: run_chain(kernel, blocks), SEEDS if blocks == 9 else [0]))


def test_three_tiles_run_preload_three():
    """The variant that the seed's demo needs for preload 3."""
    serial = run_chain(kernels.make_chain(3, jit(0)), 7)
    assert_same(serial, outputs(lambda: run_chain(kernels.make_chain(3, jit(3)), 7)))


# -- flash attention ----------------------------------------------------------------------------------------------------------


def run_attention(kernel, queries, keys, causal):
    random = np.random.default_rng(queries + keys)
    q, k, v = (random.standard_normal((n, attention.HEAD)).astype(np.float32) for n in (queries, keys, keys))
    out = np.full((queries, attention.HEAD), np.nan, np.float32)
    kernel[None, 1](q, k, v, attention.triangle(), out, causal)
    np.testing.assert_allclose(out, attention.expected(q, k, v, causal), rtol=1e-4, atol=1e-5)
    return out


@pytest.mark.parametrize("preload", range(5))
@pytest.mark.parametrize("queries, keys, causal", [(128, 200, 0), (192, 192, 1), (64, 40, 0)])
def test_flash_attention(queries, keys, causal, preload):
    """Ragged keys and causal masks; the pipeline stays full from one block of queries to the next."""
    serial = run_attention(attention.make_attention(4, 5, jit(0)), queries, keys, causal)
    kernel = attention.make_attention(4, 5, jit(preload))
    assert_same(serial, outputs(lambda: run_attention(kernel, queries, keys, causal), SEEDS if causal else SEEDS[:2]))


def test_too_few_tiles_between_stages_of_one_core():
    """With preload 2 the sums of three iterations are in flight."""
    kernel = attention.make_attention(2, 2, jit(2))
    with pytest.raises(LocalDataTooDeep, match="2 tile.s., it would need 3"):
        run_attention(kernel, 64, 64, 0)
