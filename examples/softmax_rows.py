"""Softmax of the rows of a matrix on vector cores: rows in blocks of 16, the last block may be short, rows of any length up to 256.

Every block of the launch takes every n-th block of rows. Run it: ``python examples/softmax_rows.py``.
"""

import torch

import pypto_pro.language as pl

ROWS, WIDTH = 16, 256


@pl.jit()
def softmax(x: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP32], out: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], pl.DT_FP32]):
    with pl.section_vector():
        tile_type = pl.TileType(shape=[ROWS, WIDTH], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        column_type = pl.TileType(shape=[ROWS, 1], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.DN)
        inputs = pl.make_tile_group(type=tile_type, addrs=0x0000, mutex_ids=[0, 1])  # two tiles: load one, work on the other
        results = pl.make_tile_group(type=tile_type, addrs=0x8000, mutex_ids=[2, 3])
        scratch = pl.make_tile_group(type=tile_type, addrs=0x10000, mutex_ids=[4])
        columns = pl.make_tile_group(type=column_type, addrs=0x14000, mutex_ids=[5])
        height, width = x.shape[0], x.shape[1]
        for row in pl.range(pl.get_block_idx() * ROWS, height, pl.get_block_num() * ROWS):
            count = pl.min(ROWS, height - row)
            tile = inputs.next()
            result = results.next()
            column = columns.next()
            pl.set_validshape(tile, [count, width])  # what is loaded, computed and stored is what is valid
            pl.set_validshape(result, [count, width])
            pl.set_validshape(column, [count, 1])
            pl.load(tile, x, [row, 0])
            pl.maximum(column, tile, scratch.current(), dim=0)
            pl.expand_sub(tile, tile, column, dim=0)
            pl.exp(result, tile)
            pl.sum(column, result, scratch.current(), dim=0)
            pl.expand_div(result, result, column, dim=0)
            pl.store(out, result, [row, 0])


def main():
    x = torch.randn(500, 200)
    out = torch.empty_like(x)
    softmax[8](x, out)
    torch.testing.assert_close(out, torch.softmax(x, 1))
    print(softmax.last_report)


if __name__ == "__main__":
    main()
