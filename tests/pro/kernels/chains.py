"""Pipelines of cube and vector stages: a product and softmax (two stages), relu(A·B)·D (four), |relu(A·B)·D|/8·B (six).

The rows of A are divided into tiles, and tiles over blocks; the number of tiles is a run-time value and the last one may be ragged. A
tile that a cube core hands over is split by rows between its two vector cores; of an odd number of rows the first one has one more.
"""

import functools

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

TILE = 32
HALF = TILE // 2
WIDTH = 64
FP32 = pl.DT_FP32
SPLIT = pl.AccToVecMode.DualModeSplitM


# -- what stages have in common -----------------------------------------------------------------------------------------------


def height_of(turn, first, step, rows):
    """Rows of the tile of this turn."""
    return pl.min(TILE, rows - (first + turn * step) * TILE)


def multiply(source, weights, lefts, rights, sums, target, height):
    """A tile in L1 times the weights, to the vector cores."""
    left = lefts.next()
    right = rights.next()
    total = sums.next()
    pl.set_validshape(left, [height, WIDTH])
    pl.set_validshape(total, [height, WIDTH])
    pl.move(left, source)
    pl.move(right, weights.current())
    pl.matmul(total, left, right)
    pl.move(target, total, acc_to_vec_mode=SPLIT)


def part_of(half, height):
    """Rows of this vector core."""
    upper = (height + 1) // 2
    return height - upper if half > 0 else upper


def give_back(half, height, tile, fractals, target):
    """This core's rows into the tile in L1, as fractals."""
    part = part_of(half, height)
    fractal = fractals.next()
    pl.set_validshape(fractal, [part, WIDTH])
    pl.move(fractal, tile)
    pl.set_validshape(target, [height, WIDTH])
    pl.insert(target, fractal, [half * ((height + 1) // 2), 0])


# -- stages -------------------------------------------------------------------------------------------------------------------


@pl.pipeline.stage
def first_product(turn, first, step, rows, a, tiles, weights, lefts, rights, sums, channel):
    height = height_of(turn, first, step, rows)
    tile = tiles.next()
    pl.set_validshape(tile, [height, WIDTH])
    pl.load(tile, a, [(first + turn * step) * TILE, 0])
    target = channel.next()
    multiply(tile, weights, lefts, rights, sums, target, height)


@pl.pipeline.stage
def rectify(turn, first, step, rows, half, channel, work, fractals, into):
    height = height_of(turn, first, step, rows)
    part = part_of(half, height)
    x = channel.next()
    y = work.next()
    pl.set_validshape(x, [part, WIDTH])
    pl.set_validshape(y, [part, WIDTH])
    pl.relu(y, x)
    target = into.next()
    give_back(half, height, y, fractals, target)


@pl.pipeline.stage
def second_product(turn, first, step, rows, weights, channel, lefts, rights, sums, into):
    height = height_of(turn, first, step, rows)
    tile = channel.next()
    pl.set_validshape(tile, [height, WIDTH])
    target = into.next()
    multiply(tile, weights, lefts, rights, sums, target, height)


@pl.pipeline.stage
def magnitude(turn, first, step, rows, half, channel, work, fractals, into):
    height = height_of(turn, first, step, rows)
    part = part_of(half, height)
    x = channel.next()
    y = work.next()
    pl.set_validshape(x, [part, WIDTH])
    pl.set_validshape(y, [part, WIDTH])
    pl.abs(y, x)
    pl.mul(y, y, 0.125)
    target = into.next()
    give_back(half, height, y, fractals, target)


@pl.pipeline.stage
def third_product(turn, first, step, rows, weights, channel, lefts, rights, sums, into):
    height = height_of(turn, first, step, rows)
    tile = channel.next()
    pl.set_validshape(tile, [height, WIDTH])
    target = into.next()
    multiply(tile, weights, lefts, rights, sums, target, height)


@pl.pipeline.stage
def write(turn, first, step, rows, half, out, channel):
    height = height_of(turn, first, step, rows)
    x = channel.next()
    pl.set_validshape(x, [part_of(half, height), WIDTH])
    pl.store(out, x, [(first + turn * step) * TILE + half * ((height + 1) // 2), 0])


@pl.pipeline.stage
def write_softmax(turn, first, step, rows, half, out, channel, work, scratch, columns):
    height = height_of(turn, first, step, rows)
    part = part_of(half, height)
    x = channel.next()
    y = work.next()
    tmp = scratch.next()
    column = columns.next()
    pl.set_validshape(x, [part, WIDTH])
    pl.set_validshape(y, [part, WIDTH])
    pl.set_validshape(tmp, [part, WIDTH])
    pl.set_validshape(column, [part, 1])
    pl.maximum(column, x, tmp, dim=0)
    pl.expand_sub(y, x, column, dim=0)
    pl.exp(y, y)
    pl.sum(column, y, tmp, dim=0)
    pl.expand_div(y, y, column, dim=0)
    pl.store(out, y, [(first + turn * step) * TILE + half * ((height + 1) // 2), 0])


# -- kernels ------------------------------------------------------------------------------------------------------------------

HALF_TILE = pl.TileType(shape=[HALF, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Vec)
HALF_FRACTAL = pl.TileType(shape=[HALF, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Vec, layout=pl.NZ)
COLUMN = pl.TileType(shape=[HALF, 1], dtype=FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
TILE_L1 = pl.TileType(shape=[TILE, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
WEIGHTS_L1 = pl.TileType(shape=[WIDTH, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
LEFT = pl.TileType(shape=[TILE, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ)
RIGHT = pl.TileType(shape=[WIDTH, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN)
SUM = pl.TileType(shape=[TILE, WIDTH], dtype=FP32, target_memory=pl.MemorySpace.Acc, fractal=1024)


class Ids:
    """Numbers one after another: events of the channels, tokens of the groups."""

    def __init__(self, next_one=0):
        self.next_one = next_one

    def take(self, count):
        self.next_one += count
        return list(range(self.next_one - count, self.next_one))


def make_softmax(slots):
    def make(preload):
        tokens, events = Ids(10), Ids()
        channel_tokens, forward, backward = tokens.take(slots), events.take(slots), events.take(slots)

        @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload))
        def product_softmax(
            a: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
            b: pl.Tensor[[WIDTH, WIDTH], FP32],
            out: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
            rows: pl.DT_INT32,
        ):
            channel = pl.make_tile_group(
                type=HALF_TILE, addrs=0x0000, mutex_ids=channel_tokens, fwd_ids=forward, bwd_ids=backward
            )
            with pl.section_cube():
                tiles = pl.make_tile_group(type=TILE_L1, addrs=0x0000, mutex_ids=[0, 1])
                weights = pl.make_tile_group(type=WEIGHTS_L1, addrs=0x10000, mutex_ids=[2])
                lefts = pl.make_tile_group(type=LEFT, addrs=0x0000, mutex_ids=[3, 4])
                rights = pl.make_tile_group(type=RIGHT, addrs=0x0000, mutex_ids=[5, 6])
                sums = pl.make_tile_group(type=SUM, addrs=0x0000, mutex_ids=[7, 8])
                weight = weights.current()
                pl.load(weight, b, [0, 0])
            with pl.section_vector():
                half = pl.get_subblock_idx()
                work = pl.make_tile_group(type=HALF_TILE, addrs=0x10000, mutex_ids=[0, 1])
                scratch = pl.make_tile_group(type=HALF_TILE, addrs=0x14000, mutex_ids=[2])
                columns = pl.make_tile_group(type=COLUMN, addrs=0x18000, mutex_ids=[3])
            step = pl.get_block_num()
            first = pl.get_block_idx() // pl.get_subblock_num()
            count = ((rows + TILE - 1) // TILE - first + step - 1) // step
            for turn in pl.range(0, count):
                with pl.section_cube():
                    first_product(turn, first, step, rows, a, tiles, weights, lefts, rights, sums, channel)
                with pl.section_vector():
                    write_softmax(turn, first, step, rows, half, out, channel, work, scratch, columns)

        return product_softmax

    return make


def make_chain(slots, stages=4):
    """Channels of ``slots`` tiles, between four or six ``stages``; where 16 events do not suffice, one serves all tiles of a direction."""
    channels = stages - 1
    apart = slots if channels * (slots + 1) <= 16 else 1
    back = slots if channels * 2 * slots <= 16 else 1

    def make(preload):
        tokens, events = Ids(10), Ids()
        first_tokens, first_forward, first_backward = tokens.take(slots), events.take(apart), events.take(back)
        second_tokens, second_forward, second_backward = tokens.take(slots), events.take(apart), events.take(back)
        third_tokens, third_forward, third_backward = tokens.take(slots), events.take(apart), events.take(back)
        more = slots if stages == 6 else 0
        fourth_tokens, fourth_forward, fourth_backward = (
            tokens.take(more),
            events.take(min(more, apart)),
            events.take(min(more, back)),
        )
        fifth_tokens, fifth_forward, fifth_backward = (
            tokens.take(more),
            events.take(min(more, apart)),
            events.take(min(more, back)),
        )

        @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload))
        def chain(
            a: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
            b: pl.Tensor[[WIDTH, WIDTH], FP32],
            d: pl.Tensor[[WIDTH, WIDTH], FP32],
            out: pl.Tensor[[pl.DYNAMIC, WIDTH], FP32],
            rows: pl.DT_INT32,
        ):
            product = pl.make_tile_group(
                type=HALF_TILE, addrs=0x0000, mutex_ids=first_tokens, fwd_ids=first_forward, bwd_ids=first_backward
            )
            hidden = pl.make_tile_group(
                type=TILE_L1, addrs=0x0000, mutex_ids=second_tokens, fwd_ids=second_forward, bwd_ids=second_backward
            )
            result = pl.make_tile_group(
                type=HALF_TILE, addrs=0x8000, mutex_ids=third_tokens, fwd_ids=third_forward, bwd_ids=third_backward
            )
            if stages == 6:
                again = pl.make_tile_group(
                    type=TILE_L1, addrs=0x10000, mutex_ids=fourth_tokens, fwd_ids=fourth_forward, bwd_ids=fourth_backward
                )
                last = pl.make_tile_group(
                    type=HALF_TILE, addrs=0x10000, mutex_ids=fifth_tokens, fwd_ids=fifth_forward, bwd_ids=fifth_backward
                )
            with pl.section_cube():
                tiles = pl.make_tile_group(type=TILE_L1, addrs=0x20000, mutex_ids=[0, 1])
                b_weights = pl.make_tile_group(type=WEIGHTS_L1, addrs=0x30000, mutex_ids=[2])
                d_weights = pl.make_tile_group(type=WEIGHTS_L1, addrs=0x34000, mutex_ids=[3])
                lefts = pl.make_tile_group(type=LEFT, addrs=0x0000, mutex_ids=[4, 5])
                rights = pl.make_tile_group(type=RIGHT, addrs=0x0000, mutex_ids=[6, 7])
                sums = pl.make_tile_group(type=SUM, addrs=0x0000, mutex_ids=[8, 9])
                b_weight = b_weights.current()
                d_weight = d_weights.current()
                pl.load(b_weight, b, [0, 0])
                pl.load(d_weight, d, [0, 0])
            with pl.section_vector():
                half = pl.get_subblock_idx()
                work = pl.make_tile_group(type=HALF_TILE, addrs=0x20000, mutex_ids=[0, 1])
                fractals = pl.make_tile_group(type=HALF_FRACTAL, addrs=0x28000, mutex_ids=[2, 3])
            step = pl.get_block_num()
            first = pl.get_block_idx() // pl.get_subblock_num()
            count = ((rows + TILE - 1) // TILE - first + step - 1) // step
            for turn in pl.range(0, count):
                with pl.section_cube():
                    first_product(turn, first, step, rows, a, tiles, b_weights, lefts, rights, sums, product)
                with pl.section_vector():
                    rectify(turn, first, step, rows, half, product, work, fractals, hidden)
                with pl.section_cube():
                    second_product(turn, first, step, rows, d_weights, hidden, lefts, rights, sums, result)
                if stages == 6:
                    with pl.section_vector():
                        magnitude(turn, first, step, rows, half, result, work, fractals, again)
                    with pl.section_cube():
                        third_product(turn, first, step, rows, b_weights, again, lefts, rights, sums, last)
                    with pl.section_vector():
                        write(turn, first, step, rows, half, out, last)
                else:
                    with pl.section_vector():
                        write(turn, first, step, rows, half, out, result)

        return chain

    return make


SOFTMAX = {slots: functools.cache(make_softmax(slots)) for slots in (2, 4)}
FOUR = {slots: functools.cache(make_chain(slots)) for slots in (2, 4)}
SIX = {slots: functools.cache(make_chain(slots, stages=6)) for slots in (2, 4)}


# -- what they compute --------------------------------------------------------------------------------------------------------


def softmax_data(rows):
    a, b = random(max(rows, 1), WIDTH), random(WIDTH, WIDTH, seed=1, scale=0.25)
    expected = unwritten(max(rows, 1), WIDTH)
    expected[:rows] = torch.softmax(a.double() @ b.double(), 1)[:rows].float()
    return [a, b, unwritten(max(rows, 1), WIDTH), rows], {2: expected}


def chain_data(rows, stages):
    a, b, d = random(max(rows, 1), WIDTH), random(WIDTH, WIDTH, seed=1, scale=0.2), random(WIDTH, WIDTH, seed=2, scale=0.2)
    exact = torch.relu(a.double() @ b.double()) @ d.double()
    if stages == 6:
        exact = exact.abs() / 8 @ b.double()
    expected = unwritten(max(rows, 1), WIDTH)
    expected[:rows] = exact[:rows].float()
    return [a, b, d, unwritten(max(rows, 1), WIDTH), rows], {3: expected}


def cases():
    for slots, rows, mutate in [(2, 0, False), (2, 1, False), (2, 70, False), (4, 330, True)]:
        preloads = tuple(range(5)) if slots == 4 else (0, 1, 2)
        yield Case(
            f"product_softmax-{slots}-{rows}", SOFTMAX[slots], lambda rows=rows: softmax_data(rows), 1, 1e-5, preloads, mutate
        )
    for stages, made in ((4, FOUR), (6, SIX)):
        for slots, rows, mutate in [(2, 0, False), (2, 1, False), (2, 65, False), (2, 33 * 7, True), (4, 33 * 8, stages == 4)]:
            preloads = tuple(range(slots + 1))
            yield Case(
                f"chain{stages}-{slots}-{rows}",
                made[slots],
                lambda rows=rows, stages=stages: chain_data(rows, stages),
                1,
                1e-4,
                preloads,
                mutate,
            )
    for blocks in (2, 5, 24):
        yield Case(f"chain4-{blocks}-blocks", FOUR[4], lambda: chain_data(33 * 26, 4), blocks, 1e-4, (0, 2))
