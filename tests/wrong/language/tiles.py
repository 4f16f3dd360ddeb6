import pypto_pro.language as pl

SQUARE = pl.Tensor[[16, 64], pl.DT_FP32]
VEC = pl.TileType([16, 64], pl.DT_FP32)
LEFT = pl.TileType([16, 64], pl.DT_FP16, pl.MemorySpace.Left)
ODD = pl.TileType([16, 0], pl.DT_FP32)


def TileDtype():
    pl.TileType([16, 64], "fp32")


def TileSpace():
    pl.TileType([16, 64], pl.DT_FP32, "Vec")


def TileShape():
    ODD.core()


def PadValue():
    pl.TileType([16, 64], pl.DT_FP32, pad=7)


def PadType():
    pl.TileType([16, 64], pl.DT_FP32, pad="zero")


def CompactMode():
    pl.TileType([16, 64], pl.DT_FP32, compact=3)


def ZigZagLayout():
    pl.TileType([16, 64], pl.DT_FP16, pl.MemorySpace.Left, layout=pl.ZZ)


def LayoutNotAllowed():
    pl.TileType([16, 64], pl.DT_FP16, pl.MemorySpace.Right, layout=pl.NZ)


def LayoutNotAllowed__mat():
    pl.TileType([16, 64], pl.DT_FP16, pl.MemorySpace.Mat, layout=pl.ND)


def ScaleSpace(monkeypatch=None):
    import os

    os.environ["PYPTOPRO_JIT_ARCH"] = "a3"
    try:
        pl.TileType([16, 2], pl.DT_FP8E8M0, pl.MemorySpace.ScaleLeft)
    finally:
        del os.environ["PYPTOPRO_JIT_ARCH"]


def MakeTileFirst(x: SQUARE):
    t = pl.make_tile(x, addr=0)


def MakeTileFirst__nothing(x: SQUARE):
    t = pl.make_tile(addr=0)


def MakeTileMany(x: SQUARE):
    t = pl.make_tile(VEC, 0)


def MakeTileAddress(x: SQUARE):
    t = pl.make_tile(VEC)


def CompileTimeInteger(x: SQUARE, n: pl.DT_INT64):
    t = pl.make_tile(VEC, addr=n)


def CompileTimeInteger__size(x: SQUARE, n: pl.DT_INT64):
    t = pl.make_tile(VEC, addr=0, size=n)


def MakeTileSize(x: SQUARE):
    t = pl.make_tile(VEC, addr=0, size=0)


def MakeTileNoSize(x: SQUARE):
    t = pl.make_tile(ODD, addr=0)


def Misaligned(x: SQUARE):
    t = pl.make_tile(VEC, addr=0x10)


def Misaligned__left(x: SQUARE):
    t = pl.make_tile(LEFT, addr=0x100)


def GroupPositional(x: SQUARE):
    tiles = pl.make_tile_group(VEC, addrs=0, depth=2)


def GroupMissing(x: SQUARE):
    tiles = pl.make_tile_group(addrs=0, depth=2)


def GroupMissing__addresses(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, depth=2)


def GroupType(x: SQUARE):
    tiles = pl.make_tile_group(type=5, addrs=0, depth=2)


def MutexList(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=3)


def MutexRange(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[31, 32])


def MutexRange__bool(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[True, 2])


def MutexDuplicate(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[[1, 1], [2, 3]])


def MutexEmpty(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[[], [2]])


def MutexCounts(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[1, [2, 3]])


def DepthRequired(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0)


def DepthPositive(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, depth=0)


def DepthPositive__bool(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, depth=True)


def DepthMismatch(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, depth=3, mutex_ids=[1, 2])


def AddressCount(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=[0, 0x1000, 0x2000], depth=2)


def GroupIndex(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, depth=2)
    tile = tiles[2]


def GroupIndexType(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, depth=2)
    tile = tiles[0.5]


def NoGroup(x: SQUARE):
    tile = pl.make_tile(VEC, addr=0).next()


def MergedIds(x: SQUARE, n: pl.DT_INT64):
    one = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[0])
    two = pl.make_tile_group(type=VEC, addrs=0x1000, mutex_ids=[[1, 2]])
    if n > 0:
        tile = one.next()
    else:
        tile = two.next()
    pl.load(tile, x, [0, 0])


def TileLayout():
    pl.TileType([16, 64], pl.DT_FP32, layout=3)


def EnumExpected__tile_type(x: SQUARE):
    t = pl.make_tile(pl.TileType(shape=[16, 64], dtype=pl.DT_FP32, layout=3), addr=0)
