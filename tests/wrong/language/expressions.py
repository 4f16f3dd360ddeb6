import enum

import pypto_pro.language as pl

OUT = pl.Tensor[[16], pl.DT_INT64]
SQUARE = pl.Tensor[[16, 16], pl.DT_FP32]
HALVES = pl.Tensor[[16, 32], pl.DT_FP8E5M2]
TEXT = "a text"
TABLE = {"a": 1}
VEC = pl.TileType([16, 64], pl.DT_FP32)


class Color(enum.Enum):
    RED = 0
    BLUE = 1


def UnknownName(out: OUT):
    out[0] = missing + 1


def UnknownName__near(out: OUT):
    total = 1
    out[0] = totall


def uses_callers_name():
    return caller_local


def UnknownName__callers(out: OUT):
    caller_local = 3
    out[0] = uses_callers_name()


def OtherSection(out: OUT):
    with pl.section_cube():
        x = 1
    with pl.section_vector():
        out[0] = x


def ClosureType(out: OUT):
    out[0] = TEXT


def ClosureType__dict(out: OUT):
    out[0] = TABLE


def LiteralType(out: OUT):
    out[0] = b"bytes"


def UnsupportedExpression(out: OUT):
    out[0] = (lambda x: x)(out[1])


def UnsupportedExpression__comprehension(out: OUT):
    values = [out[i] for i in (0, 1)]


def UnsupportedExpression__format(out: OUT):
    text = f"{out[0]}"


def UnsupportedExpression__slice(out: OUT):
    pair = (out[0], out[1], 2)
    part = pair[0:2]


def UnsupportedOperator(out: OUT):
    x = out * 2


def UnsupportedOperator__matrix(out: OUT):
    x = 1 @ 2


def PowerAtRunTime(out: OUT):
    x = out[0] ** 2


def BitOperation(out: OUT, f: pl.DT_FP32):
    x = f & 1


def BitOperation__not(out: OUT, f: pl.DT_FP32):
    x = ~f


def ConstantArithmetic(out: OUT):
    x = 1 // 0


def ChainedComparison(out: OUT):
    out[0] = 0 < out[1] < 5


def EnumOrder(out: OUT):
    if Color.RED < Color.BLUE:
        out[0] = 1


def NoneTestName(out: OUT, p: pl.Ptr[pl.DT_INT64]):
    if (p + 1) is None:
        out[0] = 1


def NoneTestType(out: OUT, p: pl.Ptr[pl.DT_INT64]):
    q = p + 1
    if q is None:
        out[0] = 1


def NoneTestType__scalar(out: OUT, n: pl.DT_INT64):
    if n is None:
        out[0] = 1


def IsWithoutNone(out: OUT, n: pl.DT_INT64):
    if n is 1:  # noqa: F632
        out[0] = 1


def InContainer(out: OUT, n: pl.DT_INT64):
    if n in out:
        out[0] = 1


def NotAScalar(out: OUT):
    if out:
        out[0] = 1


def TypesDiffer(out: OUT, n: pl.DT_INT64):
    x = 0
    if n > 0:
        x = 0.5
    out[0] = x


def TypesDiffer__loop(out: OUT, n: pl.DT_INT64):
    x = 0
    for i in pl.range(n):
        x = x + 0.5


def TypesDiffer__tiles(out: SQUARE, n: pl.DT_INT64):
    if n > 0:
        tile = pl.make_tile(VEC, addr=0)
    else:
        tile = pl.make_tile(pl.TileType([8, 64], pl.DT_FP32), addr=0)
    pl.load(tile, out, [0, 0])


def TernaryValue(out: OUT, n: pl.DT_INT64):
    x = out if n > 0 else 1


def TernaryIds(out: SQUARE, n: pl.DT_INT64):
    locked = pl.make_tile_group(type=VEC, addrs=0, mutex_ids=[0]).next()
    free = pl.make_tile(VEC, addr=0x1000)
    tile = locked if n > 0 else free


def ConstexprPlace(out: OUT):
    out[0] = pl.constexpr(1)


def ConstexprCount(out: OUT):
    if pl.constexpr(1, 2):
        out[0] = 1


def ConstexprRunTime(out: OUT, n: pl.DT_INT64):
    if pl.constexpr(n > 1):
        out[0] = 1


def UnknownAttribute(out: OUT):
    x = out.length


def UnknownAttribute__chain(out: OUT, n: pl.DT_INT64):
    x = n.a.b


def NoStructField(out: OUT):
    s = pl.struct("S", a=1)
    out[0] = s.b


def NoTupleField(out: OUT):
    t = pl.make_tuple(a=1)
    out[0] = t.b


def NotSubscriptable(out: OUT, n: pl.DT_INT64):
    out[0] = n[0]


def MixedTuple(out: OUT, n: pl.DT_INT64):
    out[0] = (1, 0.5)[n]


def EmptyTuple(out: OUT, n: pl.DT_INT64):
    out[0] = ()[n]


def TupleIndex(out: OUT, n: pl.DT_INT64):
    out[0] = (n, 2)[2]


def TupleIndexType(out: OUT, n: pl.DT_INT64):
    out[0] = (n, 2)[0.5]


def TupleIndices(out: OUT, n: pl.DT_INT64):
    out[0] = (n, 2)[0, 1]


def IndexCount(out: OUT):
    out[0] = out[0, 1]


def SingleIndex(out: OUT, x: SQUARE):
    out[0] = x[3]


def IndexType(out: OUT):
    out[0] = out[0.5]


def ShapeIndexConstant(out: OUT, n: pl.DT_INT64):
    out[0] = out.shape[n]


def ShapeIndexRange(out: OUT):
    out[0] = out.shape[1]


def TensorSlice(out: OUT):
    part = out[0:2]


def tile_of():
    return pl.make_tile(VEC, addr=0)


def SliceOneDimension(out: OUT):
    part = tile_of()[0:2]


def SliceMixed(out: OUT):
    part = tile_of()[0:2, 3]


def SliceStep(out: OUT):
    part = tile_of()[0:4:2, :]


def SliceSpace(out: OUT):
    with pl.section_cube():
        tile = pl.make_tile(pl.TileType([16, 64], pl.DT_FP32, pl.MemorySpace.Mat), addr=0)
        part = tile[0:2, :]


def SliceStart(out: OUT):
    part = tile_of()[16:, :]


def SliceStart__valid(out: OUT):
    tile = pl.make_tile(pl.TileType([16, 64], pl.DT_FP32, valid_shape=[4, 64]), addr=0)
    part = tile[8:12, :]


def SliceOrder(out: OUT):
    part = tile_of()[4:2, :]


def SliceBounds(out: OUT, n: pl.DT_INT64):
    part = tile_of()[0:n, :]


def StructIndices(out: OUT):
    s = pl.struct("S", values=[1, 2, 3])
    out[0] = s.values[0, 1]


def NotAnArrayField(out: OUT):
    s = pl.struct("S", a=1)
    out[0] = s.a[0]


def NotAnArrayField__store(out: OUT):
    s = pl.struct("S", a=1)
    s.a[0] = 1


def FieldIndex(out: OUT):
    s = pl.struct("S", values=[1, 2, 3])
    out[0] = s.values[3]


def StructArrayIndex(out: OUT):
    records = pl.struct_array(2, "R", a=1)
    out[0] = records[2].a


def PointerOperator(out: OUT, p: pl.Ptr[pl.DT_INT64]):
    q = p - 1


def PointerSubByte(out: OUT, p: pl.Ptr[pl.DT_INT4]):
    q = p + 1


def PointerExpected(out: OUT):
    q = pl.addptr(out, 1)


def PointerOffset(out: OUT, p: pl.Ptr[pl.DT_INT64]):
    q = p + 0.5


def TileOffset(out: OUT):
    part = tile_of() + 1


def ScalarStorage(out: OUT, x: HALVES):
    out[0] = x[0, 0]


def UseOfVoid(out: OUT):
    out[0] = 1 + pl.setval(out, 0, 1)
