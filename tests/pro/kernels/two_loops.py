"""Two pipelines in one kernel: relu(A·B) into global memory, then, behind a barrier of all cores, that times D.

In the second loop every block works on tiles that another block has made in the first.
"""

import functools

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten
from kernels.chains import HALF, HALF_TILE, LEFT, RIGHT, SUM, TILE, TILE_L1, WEIGHTS_L1, WIDTH

FP32 = pl.DT_FP32


@pl.pipeline.stage
def product(turn, first, step, source, weights, tiles, lefts, rights, sums, channel):
    tile = tiles.next()
    left = lefts.next()
    right = rights.next()
    total = sums.next()
    pl.load(tile, source, [(first + turn * step) * TILE, 0])
    pl.move(left, tile)
    pl.move(right, weights.current())
    pl.matmul(total, left, right)
    target = channel.next()
    pl.move(target, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def rectify(turn, first, step, half, middle, channel, work):
    x = channel.next()
    y = work.next()
    pl.relu(y, x)
    pl.store(middle, y, [(first + turn * step) * TILE + half * HALF, 0])


@pl.pipeline.stage
def product_again(turn, first, step, source, weights, tiles, lefts, rights, sums, channel):
    tile = tiles.next()
    left = lefts.next()
    right = rights.next()
    total = sums.next()
    pl.load(tile, source, [(first + turn * step) * TILE, 0])
    pl.move(left, tile)
    pl.move(right, weights.current())
    pl.matmul(total, left, right)
    target = channel.next()
    pl.move(target, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def write(turn, first, step, half, out, channel):
    x = channel.next()
    pl.store(out, x, [(first + turn * step) * TILE + half * HALF, 0])


@functools.cache
def make(preload):
    preload = list(preload) if isinstance(preload, tuple) else preload

    @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload))
    def two_loops(
        a: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
        b: pl.Tensor[[WIDTH, WIDTH], FP32],
        d: pl.Tensor[[WIDTH, WIDTH], FP32],
        middle: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
        out: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
        count: pl.DT_INT32,
        again: pl.DT_INT32,
    ):
        """``count`` tiles are made and ``again`` of them, counted from the last block on, are multiplied once more."""
        one = pl.make_tile_group(type=HALF_TILE, addrs=0x0000, mutex_ids=[10, 11], fwd_ids=[0, 1], bwd_ids=[2, 3])
        other = pl.make_tile_group(type=HALF_TILE, addrs=0x4000, mutex_ids=[12, 13, 14], fwd_ids=[4, 5, 6], bwd_ids=[7, 8, 9])
        with pl.section_cube():
            tiles = pl.make_tile_group(type=TILE_L1, addrs=0x0000, mutex_ids=[0, 1])
            b_weights = pl.make_tile_group(type=WEIGHTS_L1, addrs=0x10000, mutex_ids=[2])
            d_weights = pl.make_tile_group(type=WEIGHTS_L1, addrs=0x14000, mutex_ids=[3])
            lefts = pl.make_tile_group(type=LEFT, addrs=0x0000, mutex_ids=[4, 5])
            rights = pl.make_tile_group(type=RIGHT, addrs=0x0000, mutex_ids=[6, 7])
            sums = pl.make_tile_group(type=SUM, addrs=0x0000, mutex_ids=[8, 9])
            b_weight = b_weights.current()
            d_weight = d_weights.current()
            pl.load(b_weight, b, [0, 0])
            pl.load(d_weight, d, [0, 0])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=HALF_TILE, addrs=0x10000, mutex_ids=[0, 1])
        step = pl.get_block_num()
        first = pl.get_block_idx() // pl.get_subblock_num()
        opposite = step - 1 - first
        turns = (count - first + step - 1) // step
        for turn in pl.range(0, turns):
            with pl.section_cube():
                product(turn, first, step, a, b_weights, tiles, lefts, rights, sums, one)
            with pl.section_vector():
                rectify(turn, first, step, half, middle, one, work)
        pl.system.sync_all(core_type=pl.SyncCoreType.MIX)
        more = (again - opposite + step - 1) // step
        for turn in pl.range(0, more):
            with pl.section_cube():
                product_again(turn, opposite, step, middle, d_weights, tiles, lefts, rights, sums, other)
            with pl.section_vector():
                write(turn, opposite, step, half, out, other)

    return two_loops


def data(count, again):
    rows = max(count, 1) * TILE
    a, b, d = random(rows, WIDTH), random(WIDTH, WIDTH, seed=1, scale=0.2), random(WIDTH, WIDTH, seed=2, scale=0.2)
    middle = torch.relu(a.double() @ b.double())
    expected = unwritten(rows, WIDTH)
    expected[: again * TILE] = (middle @ d.double())[: again * TILE].float()
    return [a, b, d, unwritten(rows, WIDTH), unwritten(rows, WIDTH), count, again], {4: expected}


PRELOADS = (0, 1, 2, (0, 2), (2, 3), (1, 0))


def cases():
    for count, again, blocks in [(0, 0, 1), (1, 0, 1), (3, 1, 1), (8, 7, 1), (9, 9, 3), (25, 20, 24)]:
        mutate = (count, blocks) in ((8, 1), (9, 3))
        yield Case(
            f"two_loops-{count}-{again}-{blocks}",
            make,
            lambda count=count, again=again: data(count, again),
            blocks,
            1e-4,
            PRELOADS if blocks < 24 else (0, (2, 3)),
            mutate,
        )
