"""Transposition of a matrix of any size, tile by tile."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

SIDE = 32
DTYPES = {"fp32": (pl.DT_FP32, torch.float32), "fp16": (pl.DT_FP16, torch.float16), "int8": (pl.DT_INT8, torch.int8)}


def make(dtype):
    @pl.jit()
    def transposition(
        x: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
        out: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
    ):
        with pl.section_vector():
            kind = pl.TileType(shape=[SIDE, SIDE], dtype=dtype, target_memory=pl.MemorySpace.Vec)
            inputs = pl.make_tile_group(type=kind, addrs=0x0000, mutex_ids=[0, 1])
            results = pl.make_tile_group(type=kind, addrs=0x4000, mutex_ids=[2, 3])
            rows = x.shape[0]
            columns = x.shape[1]
            for row in pl.range(pl.get_block_idx() * SIDE, rows, pl.get_block_num() * SIDE):
                height = pl.min(SIDE, rows - row)
                for column in pl.range(0, columns, SIDE):
                    width = pl.min(SIDE, columns - column)
                    tile = inputs.next()
                    result = results.next()
                    pl.set_validshape(tile, [height, width])
                    pl.set_validshape(result, [width, height])
                    pl.load(tile, x, [row, column])
                    pl.transpose(result, tile)
                    pl.store(out, result, [column, row])

    return transposition


KERNELS = {name: make(dtype) for name, (dtype, _) in DTYPES.items()}


def data(rows, columns, dtype):
    x = random(rows, columns, dtype=dtype)
    return [x, unwritten(columns, rows, dtype=dtype)], {1: x.T.contiguous()}


def cases():
    for name, (_, dtype) in DTYPES.items():
        for rows, columns in [(1, 1), (32, 32), (33, 31), (70, 100), (5, 97)]:
            yield Case(
                f"transposition-{name}-{rows}x{columns}",
                KERNELS[name],
                lambda rows=rows, columns=columns, dtype=dtype: data(rows, columns, dtype),
                blocks=2,
            )
    yield Case("transposition-mutated", KERNELS["fp32"], lambda: data(70, 70, torch.float32), mutate=True)
