import pypto_pro.language as pl


@pl.pipeline.stage
def produce(k, acc, ch):
    a = acc.next()
    x = ch.next()
    pl.move(x, a, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def hand_back(k, ch, nz, p):
    x = ch.next()
    y = nz.next()
    pl.move(y, x)
    z = p.next()
    pl.insert(z, y, [0, 0])


@pl.pipeline.stage
def collect(k, p, left):
    z = p.next()
    y = left.next()
    pl.move(y, z)


@pl.jit(pipeline=pl.pipeline.PipelineConfig(preload=3))
def kernel(out: pl.Tensor[[256, 64], pl.DT_FP32], n: pl.DT_INT32):
    acc = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addrs=0x0, mutex_ids=[8, 9]
    )
    vec = pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
    ch = pl.make_tile_group(type=vec, addrs=0x0, mutex_ids=[0, 1], fwd_ids=[0, 1], bwd_ids=[2, 3])
    nz = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, layout=pl.NZ), addrs=0x8000, mutex_ids=[2, 3])
    p = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat),
        addrs=0x0,
        mutex_ids=[4, 5],
        fwd_ids=[4, 5],
        bwd_ids=[6, 7],
    )
    left = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0x0, mutex_ids=[6, 7]
    )
    for k in pl.range(0, 4):
        with pl.section_cube():
            produce(k, acc, ch)
        with pl.section_vector():
            hand_back(k, ch, nz, p)
        with pl.section_cube():
            collect(k, p, left)


kernel[None, 1](None, 4)
