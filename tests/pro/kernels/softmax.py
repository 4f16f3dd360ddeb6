"""Softmax of every row, rows of any length up to the width of a tile: maximum, exponential, sum and quotient of the valid part."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

ROWS, WIDTH = 16, 256


@pl.jit()
def softmax(x: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP32], out: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[ROWS, WIDTH], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        column = pl.TileType(shape=[ROWS, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        inputs = pl.make_tile_group(type=kind, addrs=0x0000, mutex_ids=[0, 1])
        results = pl.make_tile_group(type=kind, addrs=0x8000, mutex_ids=[2, 3])
        scratch = pl.make_tile_group(type=kind, addrs=0x10000, mutex_ids=[4])
        highest = pl.make_tile_group(type=column, addrs=0x14000, mutex_ids=[5])
        sums = pl.make_tile_group(type=column, addrs=0x14100, mutex_ids=[6])
        rows = x.shape[0]
        columns = x.shape[1]
        pl.set_validshape(scratch, [ROWS, columns])
        for row in pl.range(pl.get_block_idx() * ROWS, rows, pl.get_block_num() * ROWS):
            height = pl.min(ROWS, rows - row)
            tile = inputs.next()
            result = results.next()
            top = highest.next()
            total = sums.next()
            tmp = scratch.next()
            pl.set_validshape(tile, [height, columns])
            pl.set_validshape(result, [height, columns])
            pl.set_validshape(top, [height, 1])
            pl.set_validshape(total, [height, 1])
            pl.load(tile, x, [row, 0])
            pl.maximum(top, tile, tmp, dim=0)
            pl.expand_sub(tile, tile, top, dim=0)
            pl.exp(result, tile)
            pl.sum(total, result, tmp, dim=0)
            pl.expand_div(result, result, total, dim=0)
            pl.store(out, result, [row, 0])


SHAPES = [(1, 1), (1, 256), (15, 7), (16, 8), (17, 9), (50, 255), (33, 100)]


def data(rows, columns):
    x = random(rows, columns, scale=3)
    return [x, unwritten(rows, columns)], {1: torch.softmax(x.double(), 1).float()}


def cases():
    for rows, columns in SHAPES:
        yield Case(
            f"softmax-{rows}x{columns}", softmax, lambda rows=rows, columns=columns: data(rows, columns), tolerance=1e-6, blocks=2
        )
    yield Case("softmax-mutated", softmax, lambda: data(80, 20), tolerance=1e-6, mutate=True)
