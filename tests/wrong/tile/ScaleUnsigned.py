import torch

import pypto_pro.language as pl

MAT, LEFT, RIGHT = pl.MemorySpace.Mat, pl.MemorySpace.Left, pl.MemorySpace.Right


@pl.jit()
def kernel(a: pl.Tensor[[32, 32], pl.DT_FP16], scales: pl.Tensor[[1, 32], pl.DT_INT64], out: pl.Tensor[[32, 32], pl.DT_INT8]):
    square = [32, 32]
    with pl.section_cube():
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=square, dtype=pl.DT_FP16, target_memory=MAT), addrs=0, mutex_ids=[0]
        ).next()
        row = pl.make_tile_group(
            type=pl.TileType(shape=[1, 32], dtype=pl.DT_INT64, target_memory=MAT, layout=pl.ND), addrs=0x1000, mutex_ids=[1]
        ).next()
        scale = pl.make_tile(pl.TileType(shape=[1, 32], dtype=pl.DT_INT64, target_memory=pl.MemorySpace.Scaling), addr=0)
        left = pl.make_tile_group(
            type=pl.TileType(shape=square, dtype=pl.DT_FP16, target_memory=LEFT), addrs=0, mutex_ids=[2]
        ).next()
        right = pl.make_tile_group(
            type=pl.TileType(shape=square, dtype=pl.DT_FP16, target_memory=RIGHT), addrs=0, mutex_ids=[3]
        ).next()
        acc = pl.make_tile_group(
            type=pl.TileType(shape=square, dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addrs=0, mutex_ids=[4]
        ).next()
        pl.load(l1, a, [0, 0])
        pl.load(row, scales, [0, 0])
        pl.move(scale, row)
        pl.move(left, l1)
        pl.move(right, l1)
        pl.matmul(acc, left, right)
        pl.store(out, acc, [0, 0], scale=scale)


bits = torch.ones(1, 32).view(torch.int32).to(torch.int64)  # as npu_trans_quant_param, but without the mark of signed results
kernel[None, 1](torch.ones(32, 32, dtype=torch.float16), bits, torch.zeros(32, 32, dtype=torch.int8))
