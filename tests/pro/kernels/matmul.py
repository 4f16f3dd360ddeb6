"""Matrix product of any sizes in tiles: ND in global memory, NZ in L1, K in steps; edges are cut to what is there.

Every block takes every n-th tile of the result. Right operands stored as columns are read with ``order=[1, 0]`` into ZN tiles.
"""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten

M, N, K = 32, 64, 64  # of a tile
MAT, LEFT, RIGHT, ACC = pl.MemorySpace.Mat, pl.MemorySpace.Left, pl.MemorySpace.Right, pl.MemorySpace.Acc
DTYPES = {  # element type, that of the result, and the same in torch
    "fp16": (pl.DT_FP16, pl.DT_FP32, torch.float16, torch.float32),
    "bf16": (pl.DT_BF16, pl.DT_FP32, torch.bfloat16, torch.float32),
    "fp32": (pl.DT_FP32, pl.DT_FP32, torch.float32, torch.float32),
    "int8": (pl.DT_INT8, pl.DT_INT32, torch.int8, torch.int32),
}


def make(dtype, result, turned=False, shape=(M, N, K)):
    """``turned``: b holds one row per column of the result. ``shape``: rows, columns and depth of a tile."""
    M, N, K = shape
    right_layout = pl.ZN if turned else pl.NZ

    @pl.jit()
    def matmul(
        a: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
        b: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], dtype],
        out: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], result],
    ):
        with pl.section_cube():
            a_type = pl.TileType(shape=[M, K], dtype=dtype, target_memory=MAT, layout=pl.NZ)
            b_type = pl.TileType(shape=[K, N], dtype=dtype, target_memory=MAT, layout=right_layout)
            left_type = pl.TileType(shape=[M, K], dtype=dtype, target_memory=LEFT, layout=pl.NZ)
            right_type = pl.TileType(shape=[K, N], dtype=dtype, target_memory=RIGHT, layout=pl.ZN)
            sum_type = pl.TileType(shape=[M, N], dtype=result, target_memory=ACC, fractal=1024)
            a_tiles = pl.make_tile_group(type=a_type, addrs=0x0000, mutex_ids=[0, 1])
            b_tiles = pl.make_tile_group(type=b_type, addrs=0x10000, mutex_ids=[2, 3])
            lefts = pl.make_tile_group(type=left_type, addrs=0x0000, mutex_ids=[4, 5])
            rights = pl.make_tile_group(type=right_type, addrs=0x0000, mutex_ids=[6, 7])
            sums = pl.make_tile_group(type=sum_type, addrs=0x0000, mutex_ids=[8, 9])
            rows = out.shape[0]
            columns = out.shape[1]
            depth = a.shape[1]
            across = (columns + N - 1) // N
            tiles = (rows + M - 1) // M * across
            for tile in pl.range(pl.get_block_idx(), tiles, pl.get_block_num()):
                row = tile // across * M
                column = tile % across * N
                height = pl.min(M, rows - row)
                width = pl.min(N, columns - column)
                total = sums.next()
                pl.set_validshape(total, [height, width])
                for k in pl.range(0, depth, K):
                    step = pl.min(K, depth - k)
                    a_tile = a_tiles.next()
                    b_tile = b_tiles.next()
                    left = lefts.next()
                    right = rights.next()
                    pl.set_validshape(a_tile, [height, step])
                    pl.set_validshape(b_tile, [step, width])
                    pl.set_validshape(left, [height, step])
                    pl.set_validshape(right, [step, width])
                    pl.load(a_tile, a, [row, k])
                    if turned:
                        pl.load(b_tile, b, [column, k], order=[1, 0])
                    else:
                        pl.load(b_tile, b, [k, column])
                    pl.move(left, a_tile)
                    pl.move(right, b_tile)
                    if k == 0:
                        pl.matmul(total, left, right)
                    else:
                        pl.matmul_acc(total, total, left, right)
                pl.store(out, total, [row, column])

    return matmul


KERNELS = {name: make(dtype, result) for name, (dtype, result, _, _) in DTYPES.items()}
TURNED = {name: make(dtype, result, turned=True) for name, (dtype, result, _, _) in DTYPES.items()}
SHAPES = [(1, 1, 1), (32, 64, 64), (33, 65, 65), (5, 100, 127), (70, 17, 200)]


def product(a, b, dtype):
    """The exact product, rounded once."""
    if dtype is torch.int32:
        return a.int() @ b.int()
    return (a.double() @ b.double()).to(dtype)


def data(m, n, k, element, result, turned=False):
    a, b = random(m, k, dtype=element), random(k, n, dtype=element, seed=1)
    expected = product(a, b, result)
    return [a, b.T.contiguous() if turned else b, unwritten(m, n, dtype=result)], {2: expected}


def cases():
    for name, (_, _, element, result) in DTYPES.items():
        tolerance = 0.0 if result is torch.int32 else 1e-4
        for m, n, k in SHAPES:
            for turned in (False, True):
                yield Case(
                    f"matmul-{name}-{m}x{n}x{k}" + ("-turned" if turned else ""),
                    (TURNED if turned else KERNELS)[name],
                    lambda facts=(m, n, k, element, result, turned): data(*facts),
                    tolerance=tolerance,
                    blocks=1 if m < 32 else 3,
                )
        yield Case(
            f"matmul-{name}-mutated",
            KERNELS[name],
            lambda element=element, result=result: data(64, 128, 200, element, result),
            tolerance=tolerance,
            mutate=name in ("fp16", "int8"),
        )
    for blocks in (1, 7, 24):
        yield Case(
            f"matmul-{blocks}-blocks",
            KERNELS["fp16"],
            lambda: data(130, 200, 70, torch.float16, torch.float32),
            tolerance=1e-4,
            blocks=blocks,
        )
