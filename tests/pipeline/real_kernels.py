"""Kernels that run: chains of products and elementwise work with any number of tiles per channel, and products with softmax.

Every ``make_…`` takes the number of tiles per channel and a decorator, so that one source serves all configurations.
"""

import numpy as np

import pypto_pro.language as pl

TILE = 64
HALF = TILE // 2


def nothing(function):
    return function


# -- stages -----------------------------------------------------------------------------------------------------------------


@pl.pipeline.stage
def first_product(k, a, weights, tiles, left_tiles, right_tiles, acc_tiles, out):
    a_tile = tiles.next()
    pl.load(a_tile, a, [k * TILE, 0])
    product(a_tile, weights, left_tiles, right_tiles, acc_tiles, out)


@pl.pipeline.stage
def next_product(weights, channel, left_tiles, right_tiles, acc_tiles, out):
    tile = channel.next()
    product(tile, weights, left_tiles, right_tiles, acc_tiles, out)


@pl.pipeline.stage
def last_product(weights, channel, left_tiles, right_tiles, acc_tiles, out):
    tile = channel.next()
    product(tile, weights, left_tiles, right_tiles, acc_tiles, out)


def product(a_tile, weights, left_tiles, right_tiles, acc_tiles, out):
    left = left_tiles.next()
    right = right_tiles.next()
    acc = acc_tiles.next()
    weight = weights.current()
    pl.move(left, a_tile)
    pl.move(right, weight)
    pl.matmul(acc, left, right)
    target = out.next()
    pl.move(target, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def positive(half, channel, work, fractal, out):
    x = channel.next()
    y = work.next()
    pl.relu(y, x)
    hand_on(half, y, fractal, out)


@pl.pipeline.stage
def magnitude(half, channel, work, fractal, out):
    x = channel.next()
    y = work.next()
    pl.abs(y, x)
    pl.mul(y, y, 0.125)
    hand_on(half, y, fractal, out)


def hand_on(half, tile, fractal, out):
    z = fractal.next()
    pl.move(z, tile)
    target = out.next()
    pl.insert(target, z, [half * HALF, 0])


@pl.pipeline.stage
def write_rows(k, half, out, channel):
    x = channel.next()
    pl.store(out, x, [k * TILE + half * HALF, 0])


@pl.pipeline.stage
def softmax_rows(k, half, out, channel, work, columns):
    x = channel.next()
    y = work.next()
    tmp = work.next()
    column = columns.next()
    pl.maximum(column, x, tmp, dim=0)
    pl.expand_sub(x, x, column, dim=0)
    pl.exp(y, x)
    pl.sum(column, y, tmp, dim=0)
    pl.expand_div(y, y, column, dim=0)
    pl.store(out, y, [k * TILE + half * HALF, 0])


# -- kernels ----------------------------------------------------------------------------------------------------------------


class Events:
    """Hands out ids: ``slots`` per direction, or one where all do not fit into 16."""

    def __init__(self, slots, channels):
        self.count = slots if slots * channels * 2 <= 16 else 1
        self.used = 0

    def take(self):
        self.used += self.count
        return list(range(self.used - self.count, self.used))


def make_softmax(slots=2, decorate=nothing):
    """softmax(A·B) row by row: two stages; the trip count is a run-time value."""
    tokens = list(range(12, 12 + slots))
    forward, backward = list(range(slots)), list(range(slots, 2 * slots))

    def softmax_kernel(
        a: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        b: pl.Tensor[[TILE, TILE], pl.DT_FP32],
        out: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        n: pl.DT_INT32,
    ):
        half_tile = pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        column = pl.TileType(shape=[HALF, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        l1 = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        l0a = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ)
        l0b = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN)
        l0c = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024)
        channel = pl.make_tile_group(type=half_tile, addrs=0x0, mutex_ids=tokens, fwd_ids=forward, bwd_ids=backward)
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
                first_product(k, a, weights, tiles, left_tiles, right_tiles, acc_tiles, channel)
            with pl.section_vector():
                softmax_rows(k, half, out, channel, work, columns)

    return decorate(softmax_kernel)


def make_chain(slots=2, decorate=nothing, long=False):
    """relu(A·B)·D, or with ``long`` abs(relu(A·B)·D)/8·B: four or six stages; the trip count is a run-time value."""
    events = Events(slots, 5 if long else 3)
    first_forward, first_backward = events.take(), events.take()
    second_forward, second_backward = events.take(), events.take()
    third_forward, third_backward = events.take(), events.take()
    fourth_forward, fourth_backward = (events.take(), events.take()) if long else (None, None)
    fifth_forward, fifth_backward = (events.take(), events.take()) if long else (None, None)
    tokens = [[10 + i * slots + j for j in range(slots)] for i in range(5)]
    first_tokens, second_tokens, third_tokens, fourth_tokens, fifth_tokens = tokens

    def chain_kernel(
        a: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        b: pl.Tensor[[TILE, TILE], pl.DT_FP32],
        d: pl.Tensor[[TILE, TILE], pl.DT_FP32],
        out: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],
        n: pl.DT_INT32,
    ):
        half_tile = pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        half_nz = pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.NZ)
        l1 = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        l0a = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ)
        l0b = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN)
        l0c = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024)
        first = pl.make_tile_group(
            type=half_tile, addrs=0x0, mutex_ids=first_tokens, fwd_ids=first_forward, bwd_ids=first_backward
        )
        second = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=second_tokens, fwd_ids=second_forward, bwd_ids=second_backward)
        third = pl.make_tile_group(
            type=half_tile, addrs=0x8000, mutex_ids=third_tokens, fwd_ids=third_forward, bwd_ids=third_backward
        )
        if long:
            fourth = pl.make_tile_group(
                type=l1, addrs=0x10000, mutex_ids=fourth_tokens, fwd_ids=fourth_forward, bwd_ids=fourth_backward
            )
            fifth = pl.make_tile_group(
                type=half_tile, addrs=0x10000, mutex_ids=fifth_tokens, fwd_ids=fifth_forward, bwd_ids=fifth_backward
            )
        with pl.section_cube():
            tiles = pl.make_tile_group(type=l1, addrs=0x20000, mutex_ids=[0, 1])
            b_weights = pl.make_tile_group(type=l1, addrs=0x30000, mutex_ids=[2])
            d_weights = pl.make_tile_group(type=l1, addrs=0x34000, mutex_ids=[3])
            left_tiles = pl.make_tile_group(type=l0a, addrs=0x0, mutex_ids=[4, 5])
            right_tiles = pl.make_tile_group(type=l0b, addrs=0x0, mutex_ids=[6, 7])
            acc_tiles = pl.make_tile_group(type=l0c, addrs=0x0, mutex_ids=[8, 9])
            b_tile = b_weights.current()
            pl.load(b_tile, b, [0, 0])
            d_tile = d_weights.current()
            pl.load(d_tile, d, [0, 0])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_tile, addrs=0x20000, mutex_ids=[0, 1])
            fractal = pl.make_tile_group(type=half_nz, addrs=0x28000, mutex_ids=[2, 3])
        for k in pl.range(0, n):
            with pl.section_cube():
                first_product(k, a, b_weights, tiles, left_tiles, right_tiles, acc_tiles, first)
            with pl.section_vector():
                positive(half, first, work, fractal, second)
            with pl.section_cube():
                next_product(d_weights, second, left_tiles, right_tiles, acc_tiles, third)
            if long:
                with pl.section_vector():
                    magnitude(half, third, work, fractal, fourth)
                with pl.section_cube():
                    last_product(b_weights, fourth, left_tiles, right_tiles, acc_tiles, fifth)
                with pl.section_vector():
                    write_rows(k, half, out, fifth)
            else:
                with pl.section_vector():
                    write_rows(k, half, out, third)

    return decorate(chain_kernel)


# -- what they compute ------------------------------------------------------------------------------------------------------


def operands(blocks, seed=0):
    """A, B, D and an output full of NaN."""
    random = np.random.default_rng(seed)
    a = random.standard_normal((max(blocks, 1) * TILE, TILE)).astype(np.float32)
    b, d = (random.standard_normal((TILE, TILE)).astype(np.float32) / 8 for _ in range(2))
    return a, b, d, np.full_like(a, np.nan)


def softmax_expected(a, b):
    s = a.astype(np.float64) @ b
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def chain_expected(a, b, d, long):
    x = np.maximum(a.astype(np.float64) @ b, 0) @ d
    return np.abs(x) / 8 @ b if long else x
