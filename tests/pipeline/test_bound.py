"""Pipelined loops with long stages come close to what their slower core can do; the other core's work disappears behind it."""

import numpy as np
import pytest
from bench.pipeline_kernels import CASES

import pypto_pro.language as pl
from pypto_pro.pipeline.bound import bound, without_events

GLOBAL_LATENCY = 1400  # cycles of a load's latency in the chip file of the 950
ITERATIONS = 16


@pytest.mark.parametrize("name", CASES)
def test_at_least_nine_tenths_of_the_bound(name):
    make, case = CASES[name]
    kernel = make(pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=1)))
    arguments, expected = case(ITERATIONS)
    kernel[None, 1](*arguments.values())
    np.testing.assert_allclose(arguments["out"], expected, rtol=2e-2, atol=2e-3)
    limit = bound(kernel.last_compiled.program, arguments)
    if "matmul" in name:
        assert limit.cycles / ITERATIONS > 10 * GLOBAL_LATENCY, "the stages are long"
    assert limit.cycles / kernel.last_report.cycles >= 0.9
    assert limit.cycles <= kernel.last_report.cycles


def test_nothing_waits_for_the_other_core_in_the_bound():
    make, _ = CASES["flash attention"]
    program = make(pl.jit(pipeline=pl.pipeline.PipelineConfig(preload=1))).compile({}).program
    text = str(without_events(program))
    assert "cross_core" in str(program) and "cross_core" not in text
