"""Flash attention of one head in half precision: scores (cube), softmax so far (vector), weighted values (cube), sum so far (vector).

Queries and keys may have any length, and keys after their query may be masked (causal). Blocks share the queries. What the fourth stage
needs of the second, the factor by which earlier sums shrink and the sum of weights, is handed over in rings on the same addresses.
"""

import functools

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

FAR = -1.0e30  # a score that never counts
FP16, FP32 = pl.DT_FP16, pl.DT_FP32
VEC, MAT, LEFT, RIGHT, ACC = (
    pl.MemorySpace.Vec,
    pl.MemorySpace.Mat,
    pl.MemorySpace.Left,
    pl.MemorySpace.Right,
    pl.MemorySpace.Acc,
)
SPLIT = pl.AccToVecMode.DualModeSplitM


def make(side, slots, states):
    """Square blocks of ``side``; ``slots`` tiles a channel; ``states`` iterations between second and fourth."""
    half_side, head = side // 2, side

    def part_of(half, height):
        """Rows of this vector core; of an odd number the first core has one more."""
        upper = (height + 1) // 2
        return height - upper if half > 0 else upper

    @pl.pipeline.stage
    def scores(qi, ki, queries, keys, q, k, q_tiles, k_tiles, lefts, rights, sums, qk):
        height = pl.min(side, queries - qi * side)
        width = pl.min(side, keys - ki * side)
        q_tile = q_tiles.next()
        k_tile = k_tiles.next()
        left = lefts.next()
        right = rights.next()
        total = sums.next()
        pl.set_validshape(q_tile, [height, head])
        pl.set_validshape(k_tile, [head, width])
        pl.set_validshape(left, [height, head])
        pl.set_validshape(right, [head, width])
        pl.set_validshape(total, [height, width])
        pl.load(q_tile, q, [qi * side, 0])
        pl.load(k_tile, k, [ki * side, 0], order=[1, 0])
        pl.move(left, q_tile)
        pl.move(right, k_tile)
        pl.matmul(total, left, right)
        target = qk.next()
        pl.move(target, total, acc_to_vec_mode=SPLIT)

    @pl.pipeline.stage
    def weights(
        qi,
        ki,
        queries,
        keys,
        causal,
        half,
        factor,
        triangle,
        masks,
        qk,
        scratch,
        halves,
        fractals,
        columns,
        state,
        shrinks,
        totals,
        p,
    ):
        height = pl.min(side, queries - qi * side)
        width = pl.min(side, keys - ki * side)
        part = part_of(half, height)
        x = qk.next()
        tmp = scratch.current()
        pl.set_validshape(x, [part, width])
        pl.set_validshape(tmp, [part, width])
        pl.set_validshape(columns, [part, 1])
        pl.set_validshape(state, [part, 1])
        pl.mul(x, x, factor)
        if causal > 0 and ki == qi:
            mask = masks.current()
            pl.set_validshape(mask, [part, width])
            pl.load(mask, triangle, [half * ((height + 1) // 2), 0])
            pl.add(x, x, mask)
        highest = state[0]
        sums = state[1]
        if ki == 0:
            pl.expands(highest, FAR)
            pl.expands(sums, 0.0)
        new = columns.next()
        pl.maximum(new, x, tmp, dim=0)
        pl.maximum(new, new, highest)
        shrink = shrinks.next()
        pl.set_validshape(shrink, [part, 1])
        pl.sub(shrink, highest, new)
        pl.exp(shrink, shrink)
        pl.mul(highest, new, 1.0)
        pl.expand_sub(x, x, new, dim=0)
        pl.exp(x, x)
        now = columns.next()
        pl.sum(now, x, tmp, dim=0)
        pl.mul(sums, sums, shrink)
        pl.add(sums, sums, now)
        total = totals.next()
        pl.set_validshape(total, [part, 1])
        pl.mul(total, sums, 1.0)
        narrow = halves.next()
        fractal = fractals.next()
        pl.set_validshape(narrow, [part, width])
        pl.set_validshape(fractal, [part, width])
        pl.cast(narrow, x)
        pl.move(fractal, narrow)
        target = p.next()
        pl.set_validshape(target, [height, width])
        pl.insert(target, fractal, [half * ((height + 1) // 2), 0])

    @pl.pipeline.stage
    def values(qi, ki, queries, keys, v, p, v_tiles, lefts, rights, sums, pv):
        height = pl.min(side, queries - qi * side)
        width = pl.min(side, keys - ki * side)
        v_tile = v_tiles.next()
        weight = p.next()
        left = lefts.next()
        right = rights.next()
        total = sums.next()
        pl.set_validshape(v_tile, [width, head])
        pl.set_validshape(weight, [height, width])
        pl.set_validshape(left, [height, width])
        pl.set_validshape(right, [width, head])
        pl.set_validshape(total, [height, head])
        pl.load(v_tile, v, [ki * side, 0])
        pl.move(left, weight)
        pl.move(right, v_tile)
        pl.matmul(total, left, right)
        target = pv.next()
        pl.move(target, total, acc_to_vec_mode=SPLIT)

    @pl.pipeline.stage
    def accumulate(qi, ki, queries, count, half, out, pv, shrinks, totals, outputs, results):
        height = pl.min(side, queries - qi * side)
        part = part_of(half, height)
        x = pv.next()
        shrink = shrinks.next()
        total = totals.next()
        output = outputs.current()
        pl.set_validshape(x, [part, head])
        pl.set_validshape(shrink, [part, 1])
        pl.set_validshape(total, [part, 1])
        pl.set_validshape(output, [part, head])
        if ki == 0:
            pl.mul(output, x, 1.0)
        else:
            pl.expand_mul(output, output, shrink, dim=0)
            pl.add(output, output, x)
        if ki == count - 1:
            result = results.current()
            pl.set_validshape(result, [part, head])
            pl.expand_div(output, output, total, dim=0)
            pl.cast(result, output)
            pl.store(out, result, [qi * side + half * ((height + 1) // 2), 0])

    ids = iter(range(32))
    tokens = [[next(ids) for _ in range(slots)] for _ in range(3)]
    qk_tokens, p_tokens, pv_tokens = tokens
    free = 3 * slots  # tokens from here on are those of one kind of core
    back = slots if slots <= 2 else 1
    qk_forward, p_forward, pv_forward = [[channel * slots + slot for slot in range(slots)] for channel in range(3)]
    qk_backward, p_backward, pv_backward = [[3 * slots + channel * back + slot for slot in range(back)] for channel in range(3)]

    @functools.cache
    def kernel(preload):
        @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload))
        def attention(
            q: pl.Tensor[[pl.DYNAMIC, head], FP16],
            k: pl.Tensor[[pl.DYNAMIC, head], FP16],
            v: pl.Tensor[[pl.DYNAMIC, head], FP16],
            triangle: pl.Tensor[[side, side], FP32],
            out: pl.Tensor[[pl.DYNAMIC, head], FP16],
            causal: pl.DT_INT32,
            factor: pl.DT_FP32,
        ):
            score_type = pl.TileType(shape=[half_side, side], dtype=FP32, target_memory=VEC)
            half_type = pl.TileType(shape=[half_side, side], dtype=FP16, target_memory=VEC)
            fractal_type = pl.TileType(shape=[half_side, side], dtype=FP16, target_memory=VEC, layout=pl.NZ)
            output_type = pl.TileType(shape=[half_side, head], dtype=FP32, target_memory=VEC)
            result_type = pl.TileType(shape=[half_side, head], dtype=FP16, target_memory=VEC)
            column_type = pl.TileType(shape=[half_side, 1], dtype=FP32, target_memory=VEC, layout=pl.DN)
            p_type = pl.TileType(shape=[side, side], dtype=FP16, target_memory=MAT, layout=pl.NZ)
            at_qk = 0
            at_pv = at_qk + slots * half_side * side * 4
            at_scratch = at_pv + slots * half_side * head * 4
            at_halves = at_scratch + half_side * side * 4
            at_fractals = at_halves + half_side * side * 2
            at_output = at_fractals + half_side * side * 2
            at_columns = at_output + half_side * head * 4
            at_state = at_columns + 2 * half_side * 4
            at_shrinks = at_state + 2 * half_side * 4
            at_totals = at_shrinks + states * half_side * 4
            qk = pl.make_tile_group(type=score_type, addrs=at_qk, mutex_ids=qk_tokens, fwd_ids=qk_forward, bwd_ids=qk_backward)
            p = pl.make_tile_group(type=p_type, addrs=0x0, mutex_ids=p_tokens, fwd_ids=p_forward, bwd_ids=p_backward)
            pv = pl.make_tile_group(type=output_type, addrs=at_pv, mutex_ids=pv_tokens, fwd_ids=pv_forward, bwd_ids=pv_backward)
            with pl.section_cube():
                at_tiles = slots * side * side * 2
                tile_bytes = side * head * 2
                q_type = pl.TileType(shape=[side, head], dtype=FP16, target_memory=MAT, layout=pl.NZ)
                k_type = pl.TileType(shape=[head, side], dtype=FP16, target_memory=MAT, layout=pl.ZN)
                left_type = pl.TileType(shape=[side, side], dtype=FP16, target_memory=LEFT, layout=pl.NZ)
                right_type = pl.TileType(shape=[side, side], dtype=FP16, target_memory=RIGHT, layout=pl.ZN)
                sum_type = pl.TileType(shape=[side, side], dtype=FP32, target_memory=ACC, fractal=1024)
                q_tiles = pl.make_tile_group(type=q_type, addrs=at_tiles, mutex_ids=[free, free + 1])
                k_tiles = pl.make_tile_group(type=k_type, addrs=at_tiles + 2 * tile_bytes, mutex_ids=[free + 2, free + 3])
                v_tiles = pl.make_tile_group(type=q_type, addrs=at_tiles + 4 * tile_bytes, mutex_ids=[free + 4, free + 5])
                lefts = pl.make_tile_group(type=left_type, addrs=0x0, mutex_ids=[free + 6, free + 7])
                rights = pl.make_tile_group(type=right_type, addrs=0x0, mutex_ids=[free + 8, free + 9])
                sums = pl.make_tile_group(type=sum_type, addrs=0x0, mutex_ids=[free + 10, free + 11])
            with pl.section_vector():
                half = pl.get_subblock_idx()
                scratch = pl.make_tile_group(type=score_type, addrs=at_scratch, mutex_ids=[free])
                halves = pl.make_tile_group(type=half_type, addrs=at_halves, mutex_ids=[free + 2])
                fractals = pl.make_tile_group(type=fractal_type, addrs=at_fractals, mutex_ids=[free + 3])
                outputs = pl.make_tile_group(type=output_type, addrs=at_output, mutex_ids=[free + 4])
                masks = pl.make_tile_group(type=score_type, addrs=at_scratch, mutex_ids=[free])
                results = pl.make_tile_group(type=result_type, addrs=at_halves, mutex_ids=[free + 2])
                columns = pl.make_tile_group(type=column_type, addrs=at_columns, mutex_ids=[free + 5, free + 6])
                state = pl.make_tile_group(type=column_type, addrs=at_state, mutex_ids=[free + 7, free + 8])
                shrinks_in = pl.make_tile_group(type=column_type, addrs=at_shrinks, mutex_ids=[free + 9] * states)
                shrinks_out = pl.make_tile_group(type=column_type, addrs=at_shrinks, mutex_ids=[free + 9] * states)
                totals_in = pl.make_tile_group(type=column_type, addrs=at_totals, mutex_ids=[free + 10] * states)
                totals_out = pl.make_tile_group(type=column_type, addrs=at_totals, mutex_ids=[free + 10] * states)
            queries = q.shape[0]
            keys = k.shape[0]
            all_keys = (keys + side - 1) // side
            first = pl.get_block_idx() // pl.get_subblock_num()
            for qi in pl.range(first, (queries + side - 1) // side, pl.get_block_num()):
                count = all_keys
                if causal > 0:
                    count = pl.min(all_keys, qi + 1)
                for ki in pl.range(0, count):
                    with pl.section_cube():
                        scores(qi, ki, queries, keys, q, k, q_tiles, k_tiles, lefts, rights, sums, qk)
                    with pl.section_vector():
                        weights(
                            qi,
                            ki,
                            queries,
                            keys,
                            causal,
                            half,
                            factor,
                            triangle,
                            masks,
                            qk,
                            scratch,
                            halves,
                            fractals,
                            columns,
                            state,
                            shrinks_in,
                            totals_in,
                            p,
                        )
                    with pl.section_cube():
                        values(qi, ki, queries, keys, v, p, v_tiles, lefts, rights, sums, pv)
                    with pl.section_vector():
                        accumulate(qi, ki, queries, count, half, out, pv, shrinks_out, totals_out, outputs, results)

        return attention

    return kernel


SMALL = make(side=32, slots=4, states=5)
LARGE = make(side=128, slots=2, states=3)


def data(side, queries, keys, causal):
    q, k, v = (random(n, side, dtype=torch.float16, seed=seed) for seed, n in enumerate((queries, keys, keys)))
    triangle = torch.full((side, side), FAR).triu(1)
    factor = side**-0.5
    scores = q.double() @ k.double().T * factor
    if causal:
        scores = scores.masked_fill(torch.ones(queries, keys, dtype=torch.bool).triu(1), float("-inf"))
    expected = (torch.softmax(scores, 1) @ v.double()).half()
    return [q, k, v, triangle, unwritten(queries, side, dtype=torch.float16), causal, factor], {4: expected}


def cases():
    for queries, keys, causal, mutate in [
        (1, 1, 0, False),
        (33, 50, 0, False),
        (97, 97, 1, False),
        (65, 300, 1, False),
        (60, 170, 0, False),
        (100, 100, 1, True),
    ]:
        yield Case(
            f"attention-{queries}x{keys}" + ("-causal" if causal else "") + ("-mutated" if mutate else ""),
            SMALL,
            lambda facts=(32, queries, keys, causal): data(*facts),
            1,
            2e-3,
            tuple(range(5)),
            mutate,
        )
    yield Case("attention-4-blocks", SMALL, lambda: data(32, 150, 200, 0), 4, 2e-3, (0, 2))
    yield Case("attention-large", LARGE, lambda: data(128, 200, 300, 0), 1, 2e-3, (0, 1, 2))
