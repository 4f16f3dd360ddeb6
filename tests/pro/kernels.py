"""Kernels that the tests of the tile level share; our own, with the calls of the demo."""

import pypto_pro.language as pl

ROWS = 64
HALF = ROWS // 2
TURNS = 4


def project(turn, left_source, weights, left_ring, l0a_ring, l0b_ring, sums, halves):
    """Cube: one block of rows times the first weights, split over the two vector cores."""
    block = left_ring.next()
    pl.load(block, left_source, [turn * ROWS, 0])
    weight = weights.current()
    left = l0a_ring.next()
    right = l0b_ring.next()
    total = sums.next()
    pl.move(left, block)
    pl.move(right, weight)
    pl.matmul(total, left, right)
    half = halves.next()
    pl.move(half, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


def rectify(turn, side, halves, plain_ring, fractal_ring, hidden_ring):
    """Vector: relu of this core's half, back to L1 as fractals."""
    half = halves.next()
    plain = plain_ring.next()
    pl.relu(plain, half)
    fractal = fractal_ring.next()
    pl.move(fractal, plain)
    hidden = hidden_ring.next()
    pl.insert(hidden, fractal, [side * HALF, 0])


def finish(turn, weights, hidden_ring, l0a_ring, l0b_ring, sums, results):
    """Cube: the hidden block times the second weights."""
    weight = weights.current()
    hidden = hidden_ring.next()
    left = l0a_ring.next()
    right = l0b_ring.next()
    total = sums.next()
    pl.move(left, hidden)
    pl.move(right, weight)
    pl.matmul(total, left, right)
    result = results.next()
    pl.move(result, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


def write(turn, side, target, results):
    """Vector: this core's half of the result."""
    result = results.next()
    pl.store(target, result, [turn * ROWS + side * HALF, 0])


def vector_add(
    x: pl.Tensor[[128, 64], pl.DT_FP32],
    y: pl.Tensor[[128, 64], pl.DT_FP32],
    out: pl.Tensor[[128, 64], pl.DT_FP32],
):
    with pl.section_vector():
        type = pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        left = pl.make_tile_group(type=type, addrs=0, mutex_ids=[0, 1])
        right = pl.make_tile_group(type=type, addrs=0x4000, mutex_ids=[2, 3])
        total = pl.make_tile_group(type=type, addrs=0x8000, mutex_ids=[4, 5])
        for row in pl.range(0, 128, 32):
            a = left.next()
            b = right.next()
            c = total.next()
            pl.load(a, x, [row, 0])
            pl.load(b, y, [row, 0])
            pl.add(c, a, b)
            pl.store(out, c, [row, 0])
