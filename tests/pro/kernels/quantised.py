"""Products of eight-bit integers, scaled on the way out: by one number, or by one number per column."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten
from kernels.matmul import ACC, LEFT, MAT, RIGHT

M, N, K = 32, 64, 64
INT8 = pl.DT_INT8
SIGNED = 1 << 46  # of an encoded scale: the result has a sign


def make(per_channel, result):
    @pl.jit()
    def quantised(
        a: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], INT8],
        b: pl.Tensor[[pl.DYNAMIC, N], INT8],
        scales: pl.Tensor[[1, N], pl.DT_INT64],
        out: pl.Tensor[[pl.DYNAMIC, N], result],
        scale: pl.DT_FP32,
    ):
        with pl.section_cube():
            row_type = pl.TileType(shape=[1, N], dtype=pl.DT_INT64, target_memory=MAT, layout=pl.ND)
            scale_type = pl.TileType(shape=[1, N], dtype=pl.DT_INT64, target_memory=pl.MemorySpace.Scaling)
            a_type = pl.TileType(shape=[M, K], dtype=INT8, target_memory=MAT, layout=pl.NZ)
            b_type = pl.TileType(shape=[K, N], dtype=INT8, target_memory=MAT, layout=pl.NZ)
            left_type = pl.TileType(shape=[M, K], dtype=INT8, target_memory=LEFT, layout=pl.NZ)
            right_type = pl.TileType(shape=[K, N], dtype=INT8, target_memory=RIGHT, layout=pl.ZN)
            sum_type = pl.TileType(shape=[M, N], dtype=pl.DT_INT32, target_memory=ACC, fractal=1024)
            a_tiles = pl.make_tile_group(type=a_type, addrs=0x0000, mutex_ids=[0, 1])
            b_tiles = pl.make_tile_group(type=b_type, addrs=0x8000, mutex_ids=[2, 3])
            rows_in_l1 = pl.make_tile_group(type=row_type, addrs=0x10000, mutex_ids=[10])
            lefts = pl.make_tile_group(type=left_type, addrs=0x0000, mutex_ids=[4, 5])
            rights = pl.make_tile_group(type=right_type, addrs=0x0000, mutex_ids=[6, 7])
            sums = pl.make_tile_group(type=sum_type, addrs=0x0000, mutex_ids=[8, 9])
            scale_row = pl.make_tile(scale_type, addr=0x0000)  # read by the pipe that writes it: no token
            if per_channel:
                pl.load(rows_in_l1.current(), scales, [0, 0])
                pl.move(scale_row, rows_in_l1.current())
            rows = a.shape[0]
            depth = a.shape[1]
            for row in pl.range(pl.get_block_idx() * M, rows, pl.get_block_num() * M):
                height = pl.min(M, rows - row)
                total = sums.next()
                pl.set_validshape(total, [height, N])
                for k in pl.range(0, depth, K):
                    step = pl.min(K, depth - k)
                    a_tile = a_tiles.next()
                    b_tile = b_tiles.next()
                    left = lefts.next()
                    right = rights.next()
                    pl.set_validshape(a_tile, [height, step])
                    pl.set_validshape(b_tile, [step, N])
                    pl.set_validshape(left, [height, step])
                    pl.set_validshape(right, [step, N])
                    pl.load(a_tile, a, [row, k])
                    pl.load(b_tile, b, [k, 0])
                    pl.move(left, a_tile)
                    pl.move(right, b_tile)
                    if k == 0:
                        pl.matmul(total, left, right)
                    else:
                        pl.matmul_acc(total, total, left, right)
                if per_channel:
                    pl.store(out, total, [row, 0], scale=scale_row)
                else:
                    pl.store(out, total, [row, 0], scale=scale)

    return quantised


KERNELS = {
    "tensor-int8": make(False, INT8),
    "tensor-fp16": make(False, pl.DT_FP16),
    "channel-int8": make(True, INT8),
}


def encoded(scales):
    """One 64-bit word per column: the bits of the fp32 scale and a mark."""
    return scales.view(torch.int32).to(torch.int64) & 0xFFFFFFFF | SIGNED


def data(m, k, name):
    a, b = random(m, k, dtype=torch.int8), random(k, N, dtype=torch.int8, seed=1)
    rows = torch.rand(1, N, generator=torch.Generator().manual_seed(k)) * 2e-3
    number = 0.0005
    scaled = (a.int() @ b.int()).float() * (rows if name.startswith("channel") else number)
    if name.endswith("int8"):
        return [a, b, encoded(rows), unwritten(m, N, dtype=torch.int8), number], {
            3: scaled.round().clamp(-128, 127).to(torch.int8)
        }
    return [a, b, encoded(rows), unwritten(m, N, dtype=torch.float16), number], {3: scaled.half()}


def cases():
    for name, kernel in KERNELS.items():
        for m, k in [(1, 1), (32, 64), (50, 150)]:
            yield Case(f"quantised-{name}-{m}x{k}", kernel, lambda m=m, k=k, name=name: data(m, k, name), blocks=2)
        yield Case(f"quantised-{name}-mutated", kernel, lambda name=name: data(64, 192, name), mutate=True)
