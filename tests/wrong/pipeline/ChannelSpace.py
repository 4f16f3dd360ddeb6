import pypto_pro.language as pl


@pl.pipeline.stage
def produce(k, acc, ch):
    a = acc.next()
    x = ch.next()
    pl.move(x, a, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def consume(k, out, ch):
    x = ch.next()
    pl.store(out, x, [k * 32, 0])


@pl.jit(pipeline=pl.pipeline.PipelineConfig(preload=1))
def kernel(out: pl.Tensor[[256, 64], pl.DT_FP32], n: pl.DT_INT32):
    acc = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addrs=0x0, mutex_ids=[8, 9]
    )
    vec = pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
    ch = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc),
        addrs=0x0,
        mutex_ids=[0, 1],
        fwd_ids=[0, 1],
        bwd_ids=[2, 3],
    )
    for k in pl.range(0, 4):
        with pl.section_cube():
            produce(k, acc, ch)
        with pl.section_vector():
            consume(k, out, ch)


kernel[None, 1](None, 4)
