"""Addition of two matrices of any size: every block takes every n-th tile, tiles at the edges are cut to what is there."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

ROWS, COLUMNS = 16, 64
DTYPES = {"fp32": (pl.DT_FP32, torch.float32), "fp16": (pl.DT_FP16, torch.float16), "bf16": (pl.DT_BF16, torch.bfloat16)}


def make(dtype):
    @pl.jit()
    def addition(
        x: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
        y: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
        out: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
    ):
        with pl.section_vector():
            kind = pl.TileType(shape=[ROWS, COLUMNS], dtype=dtype, target_memory=pl.MemorySpace.Vec)
            lefts = pl.make_tile_group(type=kind, addrs=0x0000, mutex_ids=[0, 1])
            rights = pl.make_tile_group(type=kind, addrs=0x4000, mutex_ids=[2, 3])
            sums = pl.make_tile_group(type=kind, addrs=0x8000, mutex_ids=[4, 5])
            rows = x.shape[0]
            columns = x.shape[1]
            across = (columns + COLUMNS - 1) // COLUMNS
            tiles = (rows + ROWS - 1) // ROWS * across
            for tile in pl.range(pl.get_block_idx(), tiles, pl.get_block_num()):
                row = tile // across * ROWS
                column = tile % across * COLUMNS
                height = pl.min(ROWS, rows - row)
                width = pl.min(COLUMNS, columns - column)
                left = lefts.next()
                right = rights.next()
                total = sums.next()
                pl.set_validshape(left, [height, width])
                pl.set_validshape(right, [height, width])
                pl.set_validshape(total, [height, width])
                pl.load(left, x, [row, column])
                pl.load(right, y, [row, column])
                pl.add(total, left, right)
                pl.store(out, total, [row, column])

    return addition


KERNELS = {name: make(dtype) for name, (dtype, _) in DTYPES.items()}
SHAPES = [(1, 1), (1, 64), (16, 65), (17, 63), (33, 200), (40, 130)]


def data(rows, columns, dtype):
    x, y = random(rows, columns, dtype=dtype), random(rows, columns, dtype=dtype, seed=1)
    return [x, y, unwritten(rows, columns, dtype=dtype)], {2: x + y}


def cases():
    for name, (_, dtype) in DTYPES.items():
        for rows, columns in SHAPES:
            blocks = 3 if rows > 32 else 1
            yield Case(
                f"addition-{name}-{rows}x{columns}",
                KERNELS[name],
                lambda rows=rows, columns=columns, dtype=dtype: data(rows, columns, dtype),
                blocks=blocks,
            )
    yield Case("addition-mutated", KERNELS["fp32"], lambda: data(70, 40, torch.float32), mutate=True)
    for blocks in (1, 2, 5, 23, 24):
        yield Case(f"addition-{blocks}-blocks", KERNELS["fp32"], lambda: data(193, 70, torch.float32), blocks=blocks)
