"""``preload="auto"``: the simulator picks, once per shapes, and what it picked is at least as fast as every other preload."""

import numpy as np
import pytest

import pypto_pro.language as pl
from pypto.cores.enums import SyncCoreType

ROWS, HALF = 32, 16
VEC = pl.TileType([HALF, 64], pl.DT_FP32)
WEIGHTS = pl.TileType([64, 64], pl.DT_FP32, pl.MemorySpace.Mat)
MAT = pl.TileType([ROWS, 64], pl.DT_FP32, pl.MemorySpace.Mat)


@pl.pipeline.stage
def multiply(turn, x, ring, left_ring, right, total_ring, halves):
    block = ring.next()
    pl.load(block, x, [turn * ROWS, 0])
    left = left_ring.next()
    pl.move(left, block)
    total = total_ring.next()
    pl.matmul(total, left, right.current())
    half = halves.next()
    pl.move(half, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def write(turn, side, out, halves):
    half = halves.next()
    pl.relu(half, half)
    pl.store(out, half, [turn * ROWS + side * HALF, 0])


def kernel_for(preload, turns=6):
    @pl.jit(pipeline=pl.pipeline.PipelineConfig(preload=preload))
    def kernel(
        x: pl.Tensor[[turns * ROWS, 64], pl.DT_FP32],
        w: pl.Tensor[[64, 64], pl.DT_FP32],
        out: pl.Tensor[[turns * ROWS, 64], pl.DT_FP32],
        again: pl.Tensor[[turns * ROWS, 64], pl.DT_FP32],
    ):
        halves = pl.make_tile_group(
            type=pl.TileType([HALF, 64], pl.DT_FP32, pl.MemorySpace.Vec),
            addrs=0,
            mutex_ids=[10, 11],
            fwd_ids=[0, 1],
            bwd_ids=[2, 3],
        )
        others = pl.make_tile_group(
            type=pl.TileType([HALF, 64], pl.DT_FP32, pl.MemorySpace.Vec),
            addrs=0x8000,
            mutex_ids=[12, 13],
            fwd_ids=[4, 5],
            bwd_ids=[6, 7],
        )
        with pl.section_cube():
            ring = pl.make_tile_group(type=MAT, addrs=0, mutex_ids=[0, 1])
            weights = pl.make_tile_group(type=WEIGHTS, addrs=0x10000, mutex_ids=[2])
            left_ring = pl.make_tile_group(
                type=pl.TileType([ROWS, 64], pl.DT_FP32, pl.MemorySpace.Left), addrs=0, mutex_ids=[3, 4]
            )
            right = pl.make_tile_group(type=pl.TileType([64, 64], pl.DT_FP32, pl.MemorySpace.Right), addrs=0, mutex_ids=[5])
            total_ring = pl.make_tile_group(
                type=pl.TileType([ROWS, 64], pl.DT_FP32, pl.MemorySpace.Acc), addrs=0, mutex_ids=[6, 7]
            )
            weight = weights.current()
            fixed = right.current()
            pl.load(weight, w, [0, 0])
            pl.move(fixed, weight)
        with pl.section_vector():
            side = pl.get_subblock_idx()
        for turn in pl.range(0, turns):
            with pl.section_cube():
                multiply(turn, x, ring, left_ring, right, total_ring, halves)
            with pl.section_vector():
                write(turn, side, out, halves)
        pl.system.sync_all(core_type=SyncCoreType.MIX)
        for turn in pl.range(0, turns):
            with pl.section_cube():
                multiply(turn, x, ring, left_ring, right, total_ring, others)
            with pl.section_vector():
                write(turn, side, again, others)

    return kernel


def arguments(turns=6):
    random = np.random.default_rng(0)
    x, w = random.standard_normal((turns * ROWS, 64), np.float32), random.standard_normal((64, 64), np.float32)
    return x, w, np.full_like(x, np.nan), np.full_like(x, np.nan)


@pytest.mark.parametrize("preload", ["auto", 1, [0, 2]])
def test_two_loops_are_right(preload):
    x, w, out, again = arguments()
    kernel_for(preload)(x, w, out, again)
    for found in (out, again):
        np.testing.assert_allclose(found, np.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)


def test_the_choice_is_the_fastest_and_is_kept():
    kernel = kernel_for("auto")
    kernel(*arguments())
    chosen = kernel.last_report.cycles
    preloads = next(iter(kernel._specialisations.values())).preloads
    assert len(next(iter(preloads.values()))) == 2
    for preload in (0, 1, 2, [0, 1]):
        other = kernel_for(preload)
        other(*arguments())
        assert chosen <= other.last_report.cycles
    first = kernel.last_compiled
    kernel(*arguments())
    assert kernel.last_compiled is first
