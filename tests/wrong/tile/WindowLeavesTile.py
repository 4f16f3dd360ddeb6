import torch

import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        x = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x0)
        nz = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, layout=pl.NZ), addr=0x4000)
        big = pl.make_tile(pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat), addr=0x0)
        pl.load(x, a, [0, 0])
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        pl.move(nz, x)
        pl.system.sync_src(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE3, event_id=0)
        pl.system.sync_dst(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE3, event_id=0)
        pl.insert(big, nz, [40, 0])


kernel[None, 1](torch.zeros(64, 128))
