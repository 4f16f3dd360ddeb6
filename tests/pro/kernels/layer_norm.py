"""Layer norm of half-precision rows, computed in fp32: the last block of rows and the last columns may be ragged."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

ROWS, WIDTH = 8, 320
EPSILON = 1e-5


@pl.jit()
def layer_norm(
    x: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP16],
    gain: pl.Tensor[[1, pl.DYNAMIC], pl.DT_FP32],
    shift: pl.Tensor[[1, pl.DYNAMIC], pl.DT_FP32],
    out: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP16],
):
    with pl.section_vector():
        half = pl.TileType(shape=[ROWS, WIDTH], dtype=pl.DT_FP16, target_memory=pl.MemorySpace.Vec)
        full = pl.TileType(shape=[ROWS, WIDTH], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        row_of = pl.TileType(shape=[1, WIDTH], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        column_of = pl.TileType(shape=[ROWS, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        inputs = pl.make_tile_group(type=half, addrs=0x0000, mutex_ids=[0, 1])
        results = pl.make_tile_group(type=half, addrs=0x4000, mutex_ids=[2, 3])
        values = pl.make_tile_group(type=full, addrs=0x8000, mutex_ids=[4])
        squares = pl.make_tile_group(type=full, addrs=0xC000, mutex_ids=[5])
        scratch = pl.make_tile_group(type=full, addrs=0x10000, mutex_ids=[6])
        gains = pl.make_tile_group(type=row_of, addrs=0x14000, mutex_ids=[7])
        shifts = pl.make_tile_group(type=row_of, addrs=0x15000, mutex_ids=[8])
        statistics = pl.make_tile_group(type=column_of, addrs=0x16000, mutex_ids=[9])
        rows = x.shape[0]
        columns = x.shape[1]
        share = 1.0 / columns
        gain_row = gains.current()
        shift_row = shifts.current()
        pl.set_validshape(gain_row, [1, columns])
        pl.set_validshape(shift_row, [1, columns])
        pl.set_validshape(scratch, [ROWS, columns])
        pl.load(gain_row, gain, [0, 0])
        pl.load(shift_row, shift, [0, 0])
        pl.neg(shift_row, shift_row)  # there is a broadcast subtraction, and no addition
        for row in pl.range(pl.get_block_idx() * ROWS, rows, pl.get_block_num() * ROWS):
            height = pl.min(ROWS, rows - row)
            tile = inputs.next()
            result = results.next()
            value = values.next()
            square = squares.next()
            statistic = statistics.next()
            pl.set_validshape(tile, [height, columns])
            pl.set_validshape(result, [height, columns])
            pl.set_validshape(value, [height, columns])
            pl.set_validshape(square, [height, columns])
            pl.set_validshape(statistic, [height, 1])
            pl.load(tile, x, [row, 0])
            pl.cast(value, tile)
            pl.sum(statistic, value, scratch.current(), dim=0)
            pl.mul(statistic, statistic, share)
            pl.expand_sub(value, value, statistic, dim=0)
            pl.mul(square, value, value)
            pl.sum(statistic, square, scratch.current(), dim=0)
            pl.mul(statistic, statistic, share)
            pl.add(statistic, statistic, EPSILON)
            pl.rsqrt(statistic, statistic)
            pl.expand_mul(value, value, statistic, dim=0)
            pl.expand_mul(value, value, gain_row, dim=1)
            pl.expand_sub(value, value, shift_row, dim=1)
            pl.cast(result, value)
            pl.store(out, result, [row, 0])


def data(rows, columns):
    x = random(rows, columns, dtype=torch.float16, scale=2) + 3
    gain, shift = random(1, columns, seed=1), random(1, columns, seed=2)
    expected = torch.nn.functional.layer_norm(x.double(), (columns,), gain[0].double(), shift[0].double(), EPSILON).half()
    return [x, gain, shift, unwritten(rows, columns, dtype=torch.float16)], {3: expected}


def cases():
    for rows, columns in [(1, 320), (7, 33), (8, 16), (9, 319), (30, 100)]:
        yield Case(
            f"layer_norm-{rows}x{columns}",
            layer_norm,
            lambda rows=rows, columns=columns: data(rows, columns),
            tolerance=4e-3,
            blocks=2,
        )
    yield Case("layer_norm-mutated", layer_norm, lambda: data(30, 48), tolerance=4e-3, mutate=True)
