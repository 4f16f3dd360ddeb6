"""Two pipelined loops in one kernel on the simulator: channels of their own or the same ones again, any pair of preloads."""

import numpy as np
import pytest
from real_kernels import HALF, TILE, first_product, operands, softmax_expected, softmax_rows, write_rows

import pypto_pro.language as pl


def make_two_loops(preload, shared):
    """out = softmax(A·B) block by block, then again = A·B; ``shared``: the second loop uses the channel of the first."""

    @pl.jit(pipeline=pl.pipeline.PipelineConfig(preload=preload))
    def two_loops(
        a: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        b: pl.Tensor[[TILE, TILE], pl.DT_FP32],
        out: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        again: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        n: pl.DT_INT32,
        m: pl.DT_INT32,
    ):
        half_tile = pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        column = pl.TileType(shape=[HALF, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        l1 = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        l0a = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ)
        l0b = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN)
        l0c = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024)
        first = pl.make_tile_group(type=half_tile, addrs=0x0, mutex_ids=[12, 13], fwd_ids=[0, 1], bwd_ids=[2, 3])
        if not shared:
            second = pl.make_tile_group(
                type=half_tile, addrs=0x8000, mutex_ids=[14, 15, 16], fwd_ids=[4, 5, 6], bwd_ids=[7, 8, 9]
            )
        with pl.section_cube():
            tiles = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=[0, 1])
            weights = pl.make_tile_group(type=l1, addrs=0x10000, mutex_ids=[2])
            left_tiles = pl.make_tile_group(type=l0a, addrs=0x0, mutex_ids=[4, 5])
            right_tiles = pl.make_tile_group(type=l0b, addrs=0x0, mutex_ids=[6, 7])
            acc_tiles = pl.make_tile_group(type=l0c, addrs=0x0, mutex_ids=[8, 9])
            weight = weights.current()
            pl.load(weight, b, [0, 0])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_tile, addrs=0x10000, mutex_ids=[0, 1])
            columns = pl.make_tile_group(type=column, addrs=0x18000, mutex_ids=[2, 3])
        for k in pl.range(0, n):
            with pl.section_cube():
                first_product(k, a, weights, tiles, left_tiles, right_tiles, acc_tiles, first)
            with pl.section_vector():
                softmax_rows(k, half, out, first, work, columns)
        pl.system.sync_all(core_type=pl.SyncCoreType.MIX)
        for j in pl.range(0, m):
            if shared:
                with pl.section_cube():
                    first_product(j, a, weights, tiles, left_tiles, right_tiles, acc_tiles, first)
                with pl.section_vector():
                    write_rows(j, half, again, first)
            else:
                with pl.section_cube():
                    first_product(j, a, weights, tiles, left_tiles, right_tiles, acc_tiles, second)
                with pl.section_vector():
                    write_rows(j, half, again, second)

    return two_loops


def results(kernel, n, m):
    a, b, _, out = operands(5)
    again = np.full_like(out, np.nan)
    kernel[None, 1](a, b, out, again, n, m)
    return a, b, out, again


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("preload", [[1, 2], [0, 2], [2, 0], 1])
def test_two_loops(preload, shared):
    kernel = make_two_loops(preload, shared)
    for n, m in ((3, 5), (5, 2), (0, 1), (1, 0)):
        for seed in (None, 0, 1):
            with pl.simulate(seed=seed):
                a, b, out, again = results(kernel, n, m)
            np.testing.assert_allclose(out[: n * TILE], softmax_expected(a, b)[: n * TILE], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(again[: m * TILE], (a @ b)[: m * TILE], rtol=1e-4, atol=1e-5)
            assert np.isnan(out[n * TILE :]).all() and np.isnan(again[m * TILE :]).all()
