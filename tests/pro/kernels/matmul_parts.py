"""Further forms of the matrix product: unit flags instead of tokens on L0C (phases), a bias, K divided over blocks."""

import torch

import pypto_pro.language as pl
from kernels.case import Case, random, unwritten
from kernels.matmul import ACC, LEFT, MAT, RIGHT, product

M, N, K = 32, 48, 64
FP16, FP32 = pl.DT_FP16, pl.DT_FP32
A_TYPE = pl.TileType(shape=[M, K], dtype=FP16, target_memory=MAT, layout=pl.NZ)
B_TYPE = pl.TileType(shape=[K, N], dtype=FP16, target_memory=MAT, layout=pl.NZ)
LEFT_TYPE = pl.TileType(shape=[M, K], dtype=FP16, target_memory=LEFT, layout=pl.NZ)
RIGHT_TYPE = pl.TileType(shape=[K, N], dtype=FP16, target_memory=RIGHT, layout=pl.ZN)
SUM_TYPE = pl.TileType(shape=[M, N], dtype=FP32, target_memory=ACC, fractal=1024)


@pl.jit()
def in_phases(
    a: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], FP16], b: pl.Tensor[[pl.DYNAMIC, N], FP16], out: pl.Tensor[[pl.DYNAMIC, N], FP32]
):
    """One accumulator without a token: the unit flag hands it from the product to the store and back (two steps of K or more)."""
    with pl.section_cube():
        a_tiles = pl.make_tile_group(type=A_TYPE, addrs=0x0000, mutex_ids=[0, 1])
        b_tiles = pl.make_tile_group(type=B_TYPE, addrs=0x8000, mutex_ids=[2, 3])
        lefts = pl.make_tile_group(type=LEFT_TYPE, addrs=0x0000, mutex_ids=[4, 5])
        rights = pl.make_tile_group(type=RIGHT_TYPE, addrs=0x0000, mutex_ids=[6, 7])
        total = pl.make_tile(SUM_TYPE, addr=0x0000)
        depth = a.shape[1]
        pl.system.set_mm_layout_transform(enabled=True)
        for row in pl.range(0, a.shape[0], M):
            for k in pl.range(0, depth, K):
                a_tile = a_tiles.next()
                b_tile = b_tiles.next()
                left = lefts.next()
                right = rights.next()
                pl.load(a_tile, a, [row, k])
                pl.load(b_tile, b, [k, 0])
                pl.move(left, a_tile)
                pl.move(right, b_tile)
                if k == 0:
                    pl.matmul(total, left, right, phase=pl.AccPhase.Partial)
                elif k == depth - K:
                    pl.matmul_acc(total, total, left, right, phase=pl.AccPhase.Final)
                else:
                    pl.matmul_acc(total, total, left, right, phase=pl.AccPhase.Partial)
            pl.store(out, total, [row, 0], phase=pl.STPhase.Final)
        pl.system.set_mm_layout_transform(enabled=False)


@pl.jit()
def with_bias(
    a: pl.Tensor[[pl.DYNAMIC, pl.DYNAMIC], FP16],
    b: pl.Tensor[[pl.DYNAMIC, N], FP16],
    bias: pl.Tensor[[1, N], FP16],
    out: pl.Tensor[[pl.DYNAMIC, N], FP16],
):
    """relu(a @ b + bias): the bias starts the accumulator, so it belongs to the first step of K."""
    with pl.section_cube():
        row_type = pl.TileType(shape=[1, N], dtype=FP16, target_memory=MAT)
        bias_type = pl.TileType(shape=[1, N], dtype=FP32, target_memory=pl.MemorySpace.Bias)
        a_tiles = pl.make_tile_group(type=A_TYPE, addrs=0x0000, mutex_ids=[0, 1])
        b_tiles = pl.make_tile_group(type=B_TYPE, addrs=0x8000, mutex_ids=[2, 3])
        rows_in_l1 = pl.make_tile_group(type=row_type, addrs=0x10000, mutex_ids=[10])
        biases = pl.make_tile_group(type=bias_type, addrs=0x0000, mutex_ids=[11])
        lefts = pl.make_tile_group(type=LEFT_TYPE, addrs=0x0000, mutex_ids=[4, 5])
        rights = pl.make_tile_group(type=RIGHT_TYPE, addrs=0x0000, mutex_ids=[6, 7])
        sums = pl.make_tile_group(type=SUM_TYPE, addrs=0x0000, mutex_ids=[8, 9])
        depth = a.shape[1]
        rows = a.shape[0]
        pl.load(rows_in_l1.current(), bias, [0, 0])
        pl.move(biases.current(), rows_in_l1.current())
        for row in pl.range(0, rows, M):
            height = pl.min(M, rows - row)
            total = sums.next()
            pl.set_validshape(total, [height, N])
            for k in pl.range(0, depth, K):
                a_tile = a_tiles.next()
                b_tile = b_tiles.next()
                left = lefts.next()
                right = rights.next()
                pl.set_validshape(a_tile, [height, K])
                pl.set_validshape(left, [height, K])
                pl.load(a_tile, a, [row, k])
                pl.load(b_tile, b, [k, 0])
                pl.move(left, a_tile)
                pl.move(right, b_tile)
                if k == 0:
                    pl.matmul(total, left, right, biases.current())
                else:
                    pl.matmul_acc(total, total, left, right)
            pl.store(out, total, [row, 0], relu_pre_mode=pl.ReluPreMode.NormalRelu)


@pl.jit()
def split_k(a: pl.Tensor[[M, pl.DYNAMIC], FP16], b: pl.Tensor[[pl.DYNAMIC, N], FP16], out: pl.Tensor[[M, N], FP32]):
    """Every block multiplies every n-th step of K and adds its part to the result, which the caller has set to zero."""
    with pl.section_cube():
        a_tiles = pl.make_tile_group(type=A_TYPE, addrs=0x0000, mutex_ids=[0, 1])
        b_tiles = pl.make_tile_group(type=B_TYPE, addrs=0x8000, mutex_ids=[2, 3])
        lefts = pl.make_tile_group(type=LEFT_TYPE, addrs=0x0000, mutex_ids=[4, 5])
        rights = pl.make_tile_group(type=RIGHT_TYPE, addrs=0x0000, mutex_ids=[6, 7])
        sums = pl.make_tile_group(type=SUM_TYPE, addrs=0x0000, mutex_ids=[8, 9])
        depth = a.shape[1]
        for k in pl.range(pl.get_block_idx() * K, depth, pl.get_block_num() * K):
            step = pl.min(K, depth - k)
            a_tile = a_tiles.next()
            b_tile = b_tiles.next()
            left = lefts.next()
            right = rights.next()
            total = sums.next()
            pl.set_validshape(a_tile, [M, step])
            pl.set_validshape(b_tile, [step, N])
            pl.set_validshape(left, [M, step])
            pl.set_validshape(right, [step, N])
            pl.load(a_tile, a, [0, k])
            pl.load(b_tile, b, [k, 0])
            pl.move(left, a_tile)
            pl.move(right, b_tile)
            pl.matmul(total, left, right)
            pl.store(out, total, [0, 0], atomic=pl.AtomicType.AtomicAdd)


def data(m, k, bias=False):
    a, b = random(m, k, dtype=torch.float16), random(k, N, dtype=torch.float16, seed=1)
    if not bias:
        return [a, b, unwritten(m, N)], {2: product(a, b, torch.float32)}
    row = random(1, N, dtype=torch.float16, seed=2, scale=4)
    return [a, b, row, unwritten(m, N, dtype=torch.float16)], {3: torch.relu(a.double() @ b.double() + row.double()).half()}


def whole_data(k):
    """Whole numbers: their sum does not depend on the order in which blocks add."""
    a, b = (random(*shape, dtype=torch.int8, seed=shape[0]).half() / 16 for shape in ((M, k), (k, N)))
    a, b = a.round(), b.round()
    return [a, b, torch.ones(M, N)], {2: 1 + product(a, b, torch.float32)}


def cases():
    for m, k in [(32, 128), (64, 256), (96, 192)]:
        yield Case(f"matmul-phases-{m}x{k}", in_phases, lambda m=m, k=k: data(m, k), tolerance=1e-4)
    yield Case("matmul-phases-mutated", in_phases, lambda: data(64, 256), tolerance=1e-4, mutate=True)
    for m, k in [(1, 64), (32, 128), (45, 192)]:
        yield Case(f"matmul-bias-{m}x{k}", with_bias, lambda m=m, k=k: data(m, k, bias=True), tolerance=2e-3)
    yield Case("matmul-bias-mutated", with_bias, lambda: data(64, 192, bias=True), tolerance=2e-3, mutate=True)
    for k, blocks in [(1, 1), (64, 4), (1000, 4), (1537, 24)]:
        yield Case(f"matmul-split_k-{k}-{blocks}", split_k, lambda k=k: whole_data(k), blocks=blocks)
    yield Case("matmul-split_k-mutated", split_k, lambda: whole_data(300), mutate=True)
