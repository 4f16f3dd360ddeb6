"""The k largest of every row and where they stand: groups of 32 are sorted, then merged four by four, then in pairs.

A record is a value and its position, eight bytes. Rows are at most 256 long and padded with the least finite number.
"""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

WIDTH = 256
KEPT = 32  # most that can be asked for


@pl.jit()
def top_k(
    x: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP32],
    values: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP32],
    positions: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_UINT32],
):
    with pl.section_vector():
        row_of = pl.TileType(shape=[1, WIDTH], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, pad=pl.TilePad.min)
        index_of = pl.TileType(shape=[1, WIDTH], dtype=pl.DT_UINT32, target_memory=pl.MemorySpace.Vec)
        records = pl.TileType(shape=[1, 2 * WIDTH], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        best = pl.TileType(shape=[1, 2 * KEPT], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        best_bits = pl.TileType(shape=[1, 2 * KEPT], dtype=pl.DT_UINT32, target_memory=pl.MemorySpace.Vec)
        value_of = pl.TileType(shape=[1, KEPT], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        position_of = pl.TileType(shape=[1, KEPT], dtype=pl.DT_UINT32, target_memory=pl.MemorySpace.Vec)
        inputs = pl.make_tile_group(type=row_of, addrs=0x0000, mutex_ids=[0, 1])
        indices = pl.make_tile_group(type=index_of, addrs=0x1000, mutex_ids=[2])
        sorted_groups = pl.make_tile_group(type=records, addrs=0x2000, mutex_ids=[3])
        merged_groups = pl.make_tile_group(type=records, addrs=0x3000, mutex_ids=[4])
        winners = pl.make_tile_group(type=best, addrs=0x4000, mutex_ids=[5])
        winner_bits = pl.make_tile_group(type=best_bits, addrs=0x4000, mutex_ids=[5])  # the same bytes as numbers
        value_rows = pl.make_tile_group(type=value_of, addrs=0x5000, mutex_ids=[6, 7])
        position_rows = pl.make_tile_group(type=position_of, addrs=0x6000, mutex_ids=[8, 9])
        columns = x.shape[1]
        count = values.shape[1]
        index = indices.current()
        pl.fill_index(index, 0)
        for row in pl.range(pl.get_block_idx(), x.shape[0], pl.get_block_num()):
            tile = inputs.next()
            pl.set_validshape(tile, [1, columns])
            pl.load(tile, x, [row, 0])
            pl.fillpad(tile, tile, mode=pl.FillPadMode.INPLACE)
            pl.set_validshape(tile, [1, WIDTH])
            groups = sorted_groups.current()
            runs = merged_groups.current()
            pl.sort32(groups, tile, index)
            pl.mrgsort(runs, groups, block_len=64)
            pl.mrgsort2(runs[0:1, 0:WIDTH], runs[0:1, WIDTH : 2 * WIDTH], winners.current(), groups)
            value_row = value_rows.next()
            position_row = position_rows.next()
            pl.set_validshape(value_row, [1, count])
            pl.set_validshape(position_row, [1, count])
            pl.gathermask(value_row, winners.current(), pattern_mode=1)
            pl.gathermask(position_row, winner_bits.current(), pattern_mode=2)
            pl.store(values, value_row, [row, 0])
            pl.store(positions, position_row, [row, 0])


def data(rows, columns, count, ties=False):
    x = random(rows, columns)
    if ties:
        x = x.round()
    order = torch.argsort(x, dim=1, descending=True, stable=True)[:, :count]
    expected = {1: torch.gather(x, 1, order), 2: order.to(torch.uint32)}
    return [x, unwritten(rows, count), torch.full((rows, count), 77, dtype=torch.uint32)], expected


def cases():
    for rows, columns, count in [(1, 256, 8), (3, 256, 32), (2, 33, 5), (2, 31, 31), (5, 200, 1), (1, 1, 1)]:
        yield Case(
            f"top_k-{rows}x{columns}-{count}",
            top_k,
            lambda rows=rows, columns=columns, count=count: data(rows, columns, count),
            blocks=2,
        )
    yield Case("top_k-ties", top_k, lambda: data(3, 250, 20, ties=True))
    yield Case("top_k-mutated", top_k, lambda: data(6, 60, 10), mutate=True)
