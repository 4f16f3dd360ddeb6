"""Real kernels against torch: right in the natural order and under adversarial schedules; pipelined equal to serial, bit for bit.

The simulator raises on a race, a deadlock, an event left over and undefined bytes, so a launch that returns has none of them.
"""

import functools

import pytest
import torch
from kernels import CASES, chains
from kernels.case import check, launch

import pypto_pro.language as pl
from pypto.errors.pipeline import PreloadTooDeep

SEEDS = range(8)
PLAIN = [case for case in CASES if not case.preloads]
PIPELINED = [(case, preload) for case in CASES for preload in case.preloads]


def bits(values):
    return [value.contiguous().view(torch.uint8) for value in values]


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_kernel(case):
    found = launch(case)
    check(case, found)
    for seed in SEEDS if case.mutate else SEEDS[:2]:
        with pl.simulate(seed=seed, timing=False):
            again = launch(case)
        assert all(map(torch.equal, bits(found), bits(again))), f"seed {seed} changes the result"


@functools.cache
def serial_result(case):
    found = launch(case, 0)
    check(case, found)
    return found


@pytest.mark.parametrize("case, preload", PIPELINED, ids=[f"{case}-preload{preload}" for case, preload in PIPELINED])
def test_pipelined_equals_serial(case, preload):
    serial = serial_result(case)
    for seed in (None, *(SEEDS if case.blocks < 4 else SEEDS[:2])):
        with pl.simulate(seed=seed, timing=seed is None or seed < 2):  # the order of steps does not need the time
            found = launch(case, preload)
        assert all(map(torch.equal, bits(serial), bits(found))), f"preload {preload}, seed {seed} differs from the serial kernel"


@pytest.mark.parametrize("kernels, stages", [(chains.FOUR, 4), (chains.SIX, 6)])
@pytest.mark.parametrize("preload", [3, 4])
def test_preload_deeper_than_the_channels_is_refused(kernels, stages, preload):
    arguments, _ = chains.chain_data(33, stages)
    with pytest.raises(PreloadTooDeep, match=f"it has 2 tile.s., it would need {preload}"):
        kernels[2](preload)(*arguments)
