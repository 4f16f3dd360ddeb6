"""Flash attention for one head: scores (cube), softmax part (vector), weighted values (cube), accumulation (vector).

The running maximum and sum belong to the second stage, the output to the fourth; what the fourth needs of the second (the factor
by which old sums shrink, and the sum itself) is handed over in groups that both stages turn by themselves, on the same addresses.
"""

import numpy as np

import pypto_pro.language as pl

ROWS = 64  # queries per block; each vector core takes half
HALF = ROWS // 2
KEYS = 64  # keys per block
HEAD = 64
FAR = -1.0e30


@pl.pipeline.stage
def scores(qi, ki, keys, q, k, q_tiles, k_tiles, left_tiles, right_tiles, acc_tiles, qk):
    width = pl.min(KEYS, keys - ki * KEYS)
    q_tile = q_tiles.next()
    pl.load(q_tile, q, [qi * ROWS, 0])
    k_tile = k_tiles.next()
    pl.set_validshape(k_tile, [HEAD, width])
    pl.load(k_tile, k, [ki * KEYS, 0], order=[1, 0])
    left = left_tiles.next()
    pl.set_validshape(left, [ROWS, HEAD])
    pl.move(left, q_tile)
    right = right_tiles.next()
    pl.set_validshape(right, [HEAD, width])
    pl.move(right, k_tile)
    acc = acc_tiles.next()
    pl.set_validshape(acc, [ROWS, width])
    pl.matmul(acc, left, right)
    out = qk.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def probabilities(qi, ki, keys, causal, half, factor, mask, qk, work, p_nz, small, state, shrink, total, p):
    width = pl.min(KEYS, keys - ki * KEYS)
    x = qk.next()
    pl.set_validshape(x, [HALF, width])
    y = work.next()
    pl.set_validshape(y, [HALF, width])
    pl.mul(y, x, factor)
    if causal > 0 and ki == qi:
        pl.set_validshape(mask, [HALF, width])
        pl.add(y, y, mask)
    tmp = work.next()
    pl.set_validshape(tmp, [HALF, width])
    highest = state[0]
    sums = state[1]
    if ki == 0:
        pl.expands(highest, FAR)
        pl.expands(sums, 0.0)
    new = small.next()
    pl.maximum(new, y, tmp, dim=0)
    pl.maximum(new, new, highest)
    shrunk = shrink.next()
    pl.sub(shrunk, highest, new)
    pl.exp(shrunk, shrunk)
    pl.mul(highest, new, 1.0)
    pl.expand_sub(y, y, new, dim=0)
    pl.exp(y, y)
    part = small.next()
    pl.sum(part, y, tmp, dim=0)
    pl.mul(sums, sums, shrunk)
    pl.add(sums, sums, part)
    handed = total.next()
    pl.mul(handed, sums, 1.0)
    z = p_nz.next()
    pl.set_validshape(z, [HALF, width])
    pl.move(z, y)
    into = p.next()
    pl.insert(into, z, [half * HALF, 0])


@pl.pipeline.stage
def weighted(ki, keys, v, p, v_tiles, left_tiles, right_tiles, acc_tiles, pv):
    width = pl.min(KEYS, keys - ki * KEYS)
    v_tile = v_tiles.next()
    pl.set_validshape(v_tile, [width, HEAD])
    pl.load(v_tile, v, [ki * KEYS, 0])
    weights = p.next()
    pl.set_validshape(weights, [ROWS, width])
    left = left_tiles.next()
    pl.set_validshape(left, [ROWS, width])
    pl.move(left, weights)
    right = right_tiles.next()
    pl.set_validshape(right, [width, HEAD])
    pl.move(right, v_tile)
    acc = acc_tiles.next()
    pl.set_validshape(acc, [ROWS, HEAD])
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


def make_attention(slots=2, stats=3, decorate=lambda function: function):
    """The kernel with ``slots`` tiles per channel and ``stats`` per hand-over on the vector core."""
    one = slots > 2
    tokens = [list(range(12 + i * slots, 12 + (i + 1) * slots)) for i in range(3)]
    forward = [list(range(i * slots, (i + 1) * slots)) for i in range(3)]
    back = 3 * slots
    backward = [[back + i] if one else list(range(back + i * slots, back + (i + 1) * slots)) for i in range(3)]
    qk_tokens, p_tokens, pv_tokens = tokens
    qk_forward, p_forward, pv_forward = forward
    qk_backward, p_backward, pv_backward = backward
    shrink_tokens = [2] * stats
    total_tokens = [3] * stats

    def attention(
        q: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP32],
        k: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP32],
        v: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP32],
        triangle: pl.Tensor[[ROWS, KEYS], pl.DT_FP32],
        out: pl.Tensor[[pl.DYNAMIC, HEAD], pl.DT_FP32],
        causal: pl.DT_INT32,
    ):
        scores_half = pl.TileType(shape=[HALF, KEYS], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        output_half = pl.TileType(shape=[HALF, HEAD], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        column = pl.TileType(shape=[HALF, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        l1 = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        qk = pl.make_tile_group(type=scores_half, addrs=0x0, mutex_ids=qk_tokens, fwd_ids=qk_forward, bwd_ids=qk_backward)
        p = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=p_tokens, fwd_ids=p_forward, bwd_ids=p_backward)
        pv = pl.make_tile_group(type=output_half, addrs=0x8000, mutex_ids=pv_tokens, fwd_ids=pv_forward, bwd_ids=pv_backward)
        with pl.section_cube():
            l1_turned = pl.TileType(shape=[HEAD, KEYS], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.ZN)
            q_tiles = pl.make_tile_group(type=l1, addrs=0x20000, mutex_ids=[0, 1])
            k_tiles = pl.make_tile_group(type=l1_turned, addrs=0x28000, mutex_ids=[2, 3])
            v_tiles = pl.make_tile_group(type=l1, addrs=0x30000, mutex_ids=[4, 5])
            left_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
                addrs=0x0,
                mutex_ids=[6, 7],
            )
            right_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
                addrs=0x0,
                mutex_ids=[8, 9],
            )
            acc_tiles = pl.make_tile_group(
                type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024),
                addrs=0x0,
                mutex_ids=[10, 11],
            )
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=scores_half, addrs=0x18000, mutex_ids=[4, 5])
            p_nz = pl.make_tile_group(
                type=pl.TileType(shape=[HALF, KEYS], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.NZ),
                addrs=0x1C000,
                mutex_ids=[6, 7],
            )
            small = pl.make_tile_group(type=column, addrs=0x20000, mutex_ids=[8, 9])
            state = pl.make_tile_group(type=column, addrs=0x20400, mutex_ids=[10, 11])
            shrink_in = pl.make_tile_group(type=column, addrs=0x20800, mutex_ids=shrink_tokens)
            shrink_out = pl.make_tile_group(type=column, addrs=0x20800, mutex_ids=shrink_tokens)
            total_in = pl.make_tile_group(type=column, addrs=0x21000, mutex_ids=total_tokens)
            total_out = pl.make_tile_group(type=column, addrs=0x21000, mutex_ids=total_tokens)
            result = pl.make_tile_group(type=output_half, addrs=0x22000, mutex_ids=[0])
            masks = pl.make_tile_group(type=scores_half, addrs=0x26000, mutex_ids=[1])
            mask = masks.current()
            pl.load(mask, triangle, [half * HALF, 0])
        keys = k.shape[0]
        blocks = (keys + KEYS - 1) // KEYS
        factor = 0.125
        for qi in pl.range(0, q.shape[0] // ROWS):
            count = blocks
            if causal > 0:
                count = pl.min(blocks, qi + 1)
            for ki in pl.range(0, count):
                with pl.section_cube():
                    scores(qi, ki, keys, q, k, q_tiles, k_tiles, left_tiles, right_tiles, acc_tiles, qk)
                with pl.section_vector():
                    probabilities(qi, ki, keys, causal, half, factor, mask, qk, work, p_nz, small, state, shrink_in, total_in, p)
                with pl.section_cube():
                    weighted(ki, keys, v, p, v_tiles, left_tiles, right_tiles, acc_tiles, pv)
                with pl.section_vector():
                    accumulate(qi, ki, count, half, out, pv, shrink_out, total_out, result)

    return decorate(attention)


def triangle():
    """Additive mask of a block on the diagonal."""
    return np.where(np.arange(ROWS)[:, None] >= np.arange(KEYS)[None, :], 0.0, FAR).astype(np.float32)


def expected(q, k, v, causal):
    """Attention in double precision."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.T * 0.125
    if causal:
        s = np.where(np.arange(len(q))[:, None] >= np.arange(len(k))[None, :], s, -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ v
