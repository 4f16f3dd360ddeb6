import pypto_pro.language as pl

SQUARE = pl.Tensor[[16, 64], pl.DT_FP32]


def MissingCore(x: SQUARE):
    with pl.section_vector():
        pl.system.set_cross_core(pipe=pl.PipeType.V, event_id=0)


def BothCores(x: SQUARE):
    vec = pl.make_tile(pl.TileType([16, 64], pl.DT_FP32), addr=0)
    mat = pl.make_tile(pl.TileType([16, 64], pl.DT_FP32, pl.MemorySpace.Mat), addr=0)
    pl.load(vec, x, [0, 0])
    pl.load(mat, x, [0, 0])
