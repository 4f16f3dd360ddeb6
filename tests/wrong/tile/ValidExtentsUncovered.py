import torch

import pypto_pro.language as pl


@pl.jit()
def kernel(a: pl.Tensor[[64, 128], pl.DT_FP32]):
    with pl.section_vector():
        x = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addr=0x0)
        nz = pl.make_tile(pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, layout=pl.NZ), addr=0x4000)
        pl.set_validshape(x, [20, 64])
        pl.load(x, a, [0, 0])
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        pl.move(nz, x)


kernel[None, 1](torch.zeros(64, 128))
