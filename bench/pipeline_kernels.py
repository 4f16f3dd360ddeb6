"""Kernels of ``python -m bench.pipeline``: stages of a useful size, half-precision inputs, two to five tiles per channel.

``SLOTS`` tiles per channel allow preloads up to that number; every pair of ids serves one direction of one channel.
"""

import numpy as np

import pypto_pro.language as pl

ROWS = 128  # rows per iteration; each vector core takes half
HALF = ROWS // 2
HEAD = 128
KEYS = 128
DEPTH = 1536  # inner dimension of the long products
CHUNK = 64
FAR = -1.0e30
SHRINK = 0.08838834764831845  # 1 / sqrt(HEAD)


# -- product and softmax ----------------------------------------------------------------------------------------------------


@pl.pipeline.stage
def long_product(i, a, b, a_tiles, b_tiles, left_tiles, right_tiles, acc_tiles, channel):
    acc = acc_tiles.next()
    for c in pl.range(0, DEPTH // CHUNK):
        a_tile = a_tiles.next()
        pl.load(a_tile, a, [i * ROWS, c * CHUNK])
        b_tile = b_tiles.next()
        pl.load(b_tile, b, [c * CHUNK, 0])
        left = left_tiles.next()
        pl.move(left, a_tile)
        right = right_tiles.next()
        pl.move(right, b_tile)
        if c == 0:
            pl.matmul(acc, left, right)
        else:
            pl.matmul_acc(acc, acc, left, right)
    out = channel.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def softmax(i, half, channel, work, columns, out):
    x = channel.next()
    tmp = work.current()
    column = columns.next()
    pl.maximum(column, x, tmp, dim=0)
    pl.expand_sub(x, x, column, dim=0)
    pl.exp(x, x)
    pl.sum(column, x, tmp, dim=0)
    pl.expand_div(x, x, column, dim=0)
    pl.store(out, x, [i * ROWS + half * HALF, 0])


def make_softmax(decorate):
    """softmax(A·B): one long product, 256 columns."""

    def product_softmax(
        a: pl.Tensor[[pl.DYNAMIC, DEPTH], pl.DT_FP16],
        b: pl.Tensor[[DEPTH, 256], pl.DT_FP16],
        out: pl.Tensor[[pl.DYNAMIC, 256], pl.DT_FP32],
    ):
        wide = pl.TileType(shape=[HALF, 256], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        channel = pl.make_tile_group(type=wide, addrs=0x0, mutex_ids=[12, 13], fwd_ids=[0, 1], bwd_ids=[2, 3])
        with pl.section_cube():
            a_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[ROWS, CHUNK], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
                addrs=0x0,
                mutex_ids=[0, 1],
            )
            b_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[CHUNK, 256], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
                addrs=0x10000,
                mutex_ids=[2, 3],
            )
            left_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[ROWS, CHUNK], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
                addrs=0x0,
                mutex_ids=[4, 5],
            )
            right_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[CHUNK, 256], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
                addrs=0x0,
                mutex_ids=[6, 7],
            )
            acc_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[ROWS, 256], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
                addrs=0x0,
                mutex_ids=[8, 9],
            )
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=wide, addrs=0x20000, mutex_ids=[0])
            columns = pl.make_tile_group(
                type=pl.TileType(shape=[HALF, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN),
                addrs=0x30000,
                mutex_ids=[2, 3],
            )
        for i in pl.range(0, a.shape[0] // ROWS):
            with pl.section_cube():
                long_product(i, a, b, a_tiles, b_tiles, left_tiles, right_tiles, acc_tiles, channel)
            with pl.section_vector():
                softmax(i, half, channel, work, columns, out)

    return decorate(product_softmax)


# -- product, activation, product -------------------------------------------------------------------------------------------


@pl.pipeline.stage
def activate(half, channel, work, cast_tiles, fractal, into):
    x = channel.next()
    y = work.next()
    pl.mul(y, x, -1.0)  # x / (1 + exp(-x)) in steps
    pl.exp(y, y)
    pl.add(y, y, 1.0)
    pl.div(y, x, y)
    narrow = cast_tiles.next()
    pl.cast(narrow, y)
    z = fractal.next()
    pl.move(z, narrow)
    target = into.next()
    pl.insert(target, z, [half * HALF, 0])


@pl.pipeline.stage
def short_product(weights, into, left_tiles, right_tiles, acc_tiles, channel):
    x = into.next()
    weight = weights.current()
    left = left_tiles.next()
    pl.move(left, x)
    right = right_tiles.next()
    pl.move(right, weight)
    acc = acc_tiles.next()
    pl.matmul(acc, left, right)
    out = channel.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def write_rows(i, half, out, channel):
    x = channel.next()
    pl.store(out, x, [i * ROWS + half * HALF, 0])


def make_activation(decorate):
    """silu(A·B)·D: a long and a short product; three tiles per channel."""

    def two_products(
        a: pl.Tensor[[pl.DYNAMIC, DEPTH], pl.DT_FP16],
        b: pl.Tensor[[DEPTH, 128], pl.DT_FP16],
        d: pl.Tensor[[128, 128], pl.DT_FP16],
        out: pl.Tensor[[pl.DYNAMIC, 128], pl.DT_FP32],
    ):
        half_tile = pl.TileType(shape=[HALF, 128], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        l1 = pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        first = pl.make_tile_group(type=half_tile, addrs=0x0, mutex_ids=[12, 13], fwd_ids=[0, 1], bwd_ids=[2, 3])
        into = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=[14, 15, 18], fwd_ids=[4, 5, 6], bwd_ids=[7, 8, 9])
        last = pl.make_tile_group(type=half_tile, addrs=0x10000, mutex_ids=[16, 17], fwd_ids=[10, 11], bwd_ids=[12, 13])
        with pl.section_cube():
            a_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[ROWS, CHUNK], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
                addrs=0x20000,
                mutex_ids=[0, 1],
            )
            b_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[CHUNK, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
                addrs=0x28000,
                mutex_ids=[2, 3],
            )
            weights = pl.make_tile_group(type=l1, addrs=0x30000, mutex_ids=[20])
            left_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[ROWS, CHUNK], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
                addrs=0x0,
                mutex_ids=[4, 5],
            )
            right_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[CHUNK, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
                addrs=0x0,
                mutex_ids=[6, 7],
            )
            left_square = pl.make_tile_group(
                type=pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
                addrs=0x8000,
                mutex_ids=[22],
            )
            right_square = pl.make_tile_group(
                type=pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
                addrs=0x8000,
                mutex_ids=[23],
            )
            acc_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[ROWS, 128], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
                addrs=0x0,
                mutex_ids=[8, 9, 10, 11],
            )
            weight = weights.current()
            pl.load(weight, d, [0, 0])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_tile, addrs=0x20000, mutex_ids=[0, 1])
            cast_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[HALF, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Vec),
                addrs=0x30000,
                mutex_ids=[2],
            )
            fractal = pl.make_tile_group(
                type=pl.TileType(shape=[HALF, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Vec, layout=pl.NZ),
                addrs=0x34000,
                mutex_ids=[4, 5],
            )
        for i in pl.range(0, a.shape[0] // ROWS):
            with pl.section_cube():
                long_product(i, a, b, a_tiles, b_tiles, left_tiles, right_tiles, acc_tiles, first)
            with pl.section_vector():
                activate(half, first, work, cast_tiles, fractal, into)
            with pl.section_cube():
                short_product(weights, into, left_square, right_square, acc_tiles, last)
            with pl.section_vector():
                write_rows(i, half, out, last)

    return decorate(two_products)


# -- flash attention --------------------------------------------------------------------------------------------------------


@pl.pipeline.stage
def scores(qi, ki, q, k, q_tiles, k_tiles, left_tiles, right_tiles, acc_tiles, qk):
    q_tile = q_tiles.next()
    pl.load(q_tile, q, [qi * ROWS, 0])
    k_tile = k_tiles.next()
    pl.load(k_tile, k, [ki * KEYS, 0], order=[1, 0])
    left = left_tiles.next()
    pl.move(left, q_tile)
    right = right_tiles.next()
    pl.move(right, k_tile)
    acc = acc_tiles.next()
    pl.matmul(acc, left, right)
    out = qk.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def probabilities(ki, half, qk, work, narrow_tiles, fractal, small, state, shrink, total, p):
    x = qk.next()
    pl.mul(x, x, SHRINK)
    tmp = work.current()
    highest = state[0]
    sums = state[1]
    if ki == 0:
        pl.expands(highest, FAR)
        pl.expands(sums, 0.0)
    new = small.next()
    pl.maximum(new, x, tmp, dim=0)
    pl.maximum(new, new, highest)
    shrunk = shrink.next()
    pl.sub(shrunk, highest, new)
    pl.exp(shrunk, shrunk)
    pl.mul(highest, new, 1.0)
    pl.expand_sub(x, x, new, dim=0)
    pl.exp(x, x)
    narrow = narrow_tiles.next()
    pl.cast(narrow, x)
    z = fractal.next()
    pl.move(z, narrow)
    into = p.next()
    pl.insert(into, z, [half * HALF, 0])
    part = small.next()
    pl.sum(part, x, tmp, dim=0)
    pl.mul(sums, sums, shrunk)
    pl.add(sums, sums, part)
    handed = total.next()
    pl.mul(handed, sums, 1.0)


@pl.pipeline.stage
def weighted(ki, v, p, v_tiles, left_tiles, right_tiles, acc_tiles, pv):
    v_tile = v_tiles.next()
    pl.load(v_tile, v, [ki * KEYS, 0])
    weights = p.next()
    left = left_tiles.next()
    pl.move(left, weights)
    right = right_tiles.next()
    pl.move(right, v_tile)
    acc = acc_tiles.next()
    pl.matmul(acc, left, right)
    out = pv.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def accumulate(qi, ki, count, half, out, pv, shrink, total, result):
    part = pv.next()
    old = shrink.next()
    sums = total.next()
    o = result.current()
    if ki == 0:
        pl.mul(o, part, 1.0)
    else:
        pl.expand_mul(o, o, old, dim=0)
        pl.add(o, o, part)
    if ki == count - 1:
        pl.expand_div(o, o, sums, dim=0)
        pl.store(out, o, [qi * ROWS + half * HALF, 0])


def make_attention(decorate):
    """Flash attention of one head of 128: two channels of two tiles, three for the probabilities."""

    def attention(
        q: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP16],
        k: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP16],
        v: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP16],
        out: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP32],
    ):
        half_tile = pl.TileType(shape=[HALF, 128], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        half_narrow = pl.TileType(shape=[HALF, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Vec)
        half_nz = pl.TileType(shape=[HALF, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Vec, layout=pl.NZ)
        column = pl.TileType(shape=[HALF, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        l1 = pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        qk = pl.make_tile_group(type=half_tile, addrs=0x0, mutex_ids=[12, 13], fwd_ids=[0, 1], bwd_ids=[2, 3])
        p = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=[14, 15, 18], fwd_ids=[4, 5, 6], bwd_ids=[7, 8, 9])
        pv = pl.make_tile_group(type=half_tile, addrs=0x10000, mutex_ids=[16, 17], fwd_ids=[10, 11], bwd_ids=[12, 13])
        with pl.section_cube():
            l1_turned = pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Mat, layout=pl.ZN)
            q_tiles = pl.make_tile_group(type=l1, addrs=0x20000, mutex_ids=[0, 1])
            k_tiles = pl.make_tile_group(type=l1_turned, addrs=0x30000, mutex_ids=[2, 3])
            v_tiles = pl.make_tile_group(type=l1, addrs=0x40000, mutex_ids=[4, 5])
            left_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
                addrs=0x0,
                mutex_ids=[6, 7],
            )
            right_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[128, 128], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
                addrs=0x0,
                mutex_ids=[8, 9],
            )
            acc_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[128, 128], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
                addrs=0x0,
                mutex_ids=[10, 11],
            )
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_tile, addrs=0x20000, mutex_ids=[4])
            result = pl.make_tile_group(type=half_tile, addrs=0x28000, mutex_ids=[0])
            narrow_tiles = pl.make_tile_group(type=half_narrow, addrs=0x30000, mutex_ids=[5])
            fractal = pl.make_tile_group(type=half_nz, addrs=0x34000, mutex_ids=[6, 7])
            small = pl.make_tile_group(type=column, addrs=0x3C000, mutex_ids=[8, 9])
            state = pl.make_tile_group(type=column, addrs=0x3C400, mutex_ids=[10, 11])
            shrink_in = pl.make_tile_group(type=column, addrs=0x3C800, mutex_ids=[2, 2, 2, 2])
            shrink_out = pl.make_tile_group(type=column, addrs=0x3C800, mutex_ids=[2, 2, 2, 2])
            total_in = pl.make_tile_group(type=column, addrs=0x3D000, mutex_ids=[3, 3, 3, 3])
            total_out = pl.make_tile_group(type=column, addrs=0x3D000, mutex_ids=[3, 3, 3, 3])
        count = k.shape[0] // KEYS
        for qi in pl.range(0, q.shape[0] // ROWS):
            for ki in pl.range(0, count):
                with pl.section_cube():
                    scores(qi, ki, q, k, q_tiles, k_tiles, left_tiles, right_tiles, acc_tiles, qk)
                with pl.section_vector():
                    probabilities(ki, half, qk, work, narrow_tiles, fractal, small, state, shrink_in, total_in, p)
                with pl.section_cube():
                    weighted(ki, v, p, v_tiles, left_tiles, right_tiles, acc_tiles, pv)
                with pl.section_vector():
                    accumulate(qi, ki, count, half, out, pv, shrink_out, total_out, result)

    return decorate(attention)


# -- cases ------------------------------------------------------------------------------------------------------------------


def _random(*shape: int) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / 8).astype(np.float16)


def softmax_case(iterations: int):
    """Arguments, and what the last of them must hold."""
    a, b = _random(iterations * ROWS, DEPTH), _random(DEPTH, 256)
    s = a.astype(np.float64) @ b.astype(np.float64)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return {"a": a, "b": b, "out": np.full(s.shape, np.nan, np.float32)}, e / e.sum(axis=1, keepdims=True)


def activation_case(iterations: int):
    a, b, d = _random(iterations * ROWS, DEPTH), _random(DEPTH, 128), _random(128, 128)
    x = a.astype(np.float64) @ b.astype(np.float64)
    expected = (x / (1 + np.exp(-x))) @ d.astype(np.float64)
    return {"a": a, "b": b, "d": d, "out": np.full(expected.shape, np.nan, np.float32)}, expected


def attention_case(iterations: int):
    """``iterations`` blocks of keys for two blocks of queries."""
    q, k, v = (_random(n, HEAD) for n in (2 * ROWS, iterations // 2 * KEYS, iterations // 2 * KEYS))
    s = q.astype(np.float64) @ k.astype(np.float64).T * SHRINK
    e = np.exp(s - s.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    return {"q": q, "k": k, "v": v, "out": np.full(expected.shape, np.nan, np.float32)}, expected


CASES = {
    "flash attention": (make_attention, attention_case),
    "matmul + activation + matmul": (make_activation, activation_case),
    "matmul + softmax": (make_softmax, softmax_case),
}
