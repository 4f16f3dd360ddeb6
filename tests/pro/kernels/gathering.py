"""Two ways to gather: elements of a table on chip by their position, and rows of a table in global memory by number."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

TABLE = 1024  # elements, in one tile
ROWS, COLUMNS = 8, 64
WIDTH = 128  # of an embedding


@pl.jit()
def elements(
    table: pl.Tensor[[16, 64], pl.DT_FP32],
    positions: pl.Tensor[[pl.DYNAMIC, COLUMNS], pl.DT_INT32],
    out: pl.Tensor[[pl.DYNAMIC, COLUMNS], pl.DT_FP32],
):
    with pl.section_vector():
        whole = pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        index = pl.TileType(shape=[ROWS, COLUMNS], dtype=pl.DT_INT32, target_memory=pl.MemorySpace.Vec)
        value = pl.TileType(shape=[ROWS, COLUMNS], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        tables = pl.make_tile_group(type=whole, addrs=0x0000, mutex_ids=[0])
        indices = pl.make_tile_group(type=index, addrs=0x1000, mutex_ids=[1, 2])
        scratch = pl.make_tile_group(type=index, addrs=0x2000, mutex_ids=[3])
        results = pl.make_tile_group(type=value, addrs=0x3000, mutex_ids=[4, 5])
        rows = out.shape[0]
        source = tables.current()
        pl.load(source, table, [0, 0])
        for row in pl.range(pl.get_block_idx() * ROWS, rows, pl.get_block_num() * ROWS):
            height = pl.min(ROWS, rows - row)
            chosen = indices.next()
            result = results.next()
            pl.set_validshape(chosen, [height, COLUMNS])
            pl.set_validshape(scratch, [height, COLUMNS])
            pl.set_validshape(result, [height, COLUMNS])
            pl.load(chosen, positions, [row, 0])
            pl.gather(result, source, chosen, scratch.current())
            pl.store(out, result, [row, 0])


@pl.jit()
def embedding(
    table: pl.Tensor[[pl.DYNAMIC, WIDTH], pl.DT_BF16],
    numbers: pl.Tensor[[pl.DYNAMIC], pl.DT_INT32],
    out: pl.Tensor[[pl.DYNAMIC, WIDTH], pl.DT_BF16],
):
    """Rows by number: the scalar unit reads the number from global memory."""
    with pl.section_vector():
        line = pl.TileType(shape=[1, WIDTH], dtype=pl.DT_BF16, target_memory=pl.MemorySpace.Vec)
        lines = pl.make_tile_group(type=line, addrs=0x0000, mutex_ids=[0, 1, 2])
        for position in pl.range(pl.get_block_idx(), numbers.shape[0], pl.get_block_num()):
            row = numbers[position]
            tile = lines.next()
            pl.load(tile, table, [row, 0])
            pl.store(out, tile, [position, 0])


def element_data(rows):
    table = random(16, 64)
    positions = torch.randint(0, TABLE, (rows, COLUMNS), generator=torch.Generator().manual_seed(rows), dtype=torch.int32)
    return [table, positions, unwritten(rows, COLUMNS)], {2: table.reshape(-1)[positions.long()]}


def row_data(count):
    table = random(50, WIDTH, dtype=torch.bfloat16)
    numbers = torch.randint(0, 50, (count,), generator=torch.Generator().manual_seed(count), dtype=torch.int32)
    return [table, numbers, unwritten(count, WIDTH, dtype=torch.bfloat16)], {2: table[numbers.long()]}


def cases():
    for rows in (1, 8, 13, 64):
        yield Case(f"gather-elements-{rows}", elements, lambda rows=rows: element_data(rows), blocks=2)
    for count in (1, 2, 17):
        yield Case(f"embedding-{count}", embedding, lambda count=count: row_data(count), blocks=3)
    yield Case("gather-elements-mutated", elements, lambda: element_data(44), mutate=True)
    yield Case("embedding-mutated", embedding, lambda: row_data(8), mutate=True)
