import pypto_pro.language as pl

OUT = pl.Tensor[[16], pl.DT_INT64]
SQUARE = pl.Tensor[[16, 64], pl.DT_FP32]
VEC = pl.TileType([16, 64], pl.DT_FP32)


def tile_at(address):
    return pl.make_tile(VEC, addr=address)


def UnknownCallee(out: OUT):
    print(out[0])


def UnknownCallee__object(out: OUT, n: pl.DT_INT64):
    n()


def UnknownOperation(x: SQUARE):
    pl.subtract(tile_at(0), tile_at(0), 1)


namespace = {}
exec("def without_source(n):\n    return n", namespace)
without_source = namespace["without_source"]


def SourceMissing(out: OUT, n: pl.DT_INT64):
    out[0] = without_source(n)


def NoMethod():
    @pl.program
    class Program:
        @pl.function
        def main(self, out: OUT):
            self.other(out)


def StarArguments(x: SQUARE):
    pl.add(*x)


def TooManyArguments(x: SQUARE):
    pl.relu(tile_at(0), tile_at(0), tile_at(0))


def UnexpectedKeyword(x: SQUARE):
    pl.store(x, tile_at(0), [0, 0], pre_quant_scalar=1.0)


def ArgumentTwice(out: OUT, p: pl.Ptr[pl.DT_INT64]):
    q = pl.addptr(p, 1, offset=2)


def MissingArgument(x: SQUARE):
    pl.add(tile_at(0), tile_at(0))


def MissingKeyword(x: SQUARE):
    pl.system.set_mm_layout_transform()


def MethodNotCalled(x: SQUARE):
    tiles = pl.make_tile_group(type=VEC, addrs=0, depth=2)
    pl.load(tiles.next, x, [0, 0])


def ArgumentKind(x: SQUARE):
    pl.system.dcci(5)


def EnumExpected(x: SQUARE):
    pl.store(x, tile_at(0), [0, 0], atomic=1)


def EnumInvalid(x: SQUARE):
    pl.store(x, tile_at(0), [0, 0], atomic=pl.PipeType.V)


def ConstantExpected(x: SQUARE, flag: pl.DT_BOOL):
    pl.printf("text", loc=flag)


def IntegerListExpected(x: SQUARE, n: pl.DT_INT64):
    pl.load(tile_at(0), x, [0, 0], order=[n, 1])


def DtypeArgument(p: pl.Ptr[pl.DT_INT64]):
    q = pl.make_ptr(p, 5)


def plain_helper(a, b=1):
    return a + b


def HelperKeywords(out: OUT):
    out[0] = plain_helper(1, b=out[0])


def star_helper(*values):
    return values


def HelperParameters(out: OUT):
    out[0] = star_helper(out[0])


def keyword_helper(a, *, b):
    return a + b


def HelperParameters__keyword(out: OUT):
    out[0] = keyword_helper(out[0])


def endless(n):
    return endless(n)


def RecursiveHelper(out: OUT):
    out[0] = endless(out[0])


def HelperCount(out: OUT):
    out[0] = plain_helper(out[0], 1, 2)


def fixed_helper(x: pl.Tensor[[16, 32], pl.DT_FP32]):
    pass


def HelperPolicy(x: SQUARE):
    fixed_helper(x)


def rank_helper(x: pl.Tensor[[pl.DYNAMIC], pl.DT_FP32]):
    pass


def HelperPolicy__rank(x: SQUARE):
    rank_helper(x)


def dtype_helper(x: pl.Tensor[[16, 64], pl.DT_FP16]):
    pass


def HelperPolicy__dtype(x: SQUARE):
    dtype_helper(x)


def static_helper(x: pl.Tensor[[pl.STATIC, 64], pl.DT_FP32]):
    pass


def HelperPolicy__static(x: pl.Tensor[[pl.DYNAMIC, 64], pl.DT_FP32]):
    static_helper(x)


def ReturnAnnotated():
    @pl.function
    def bad_return(out: OUT) -> pl.DT_INT32:
        return 0.5


def RecordPositional(out: OUT):
    s = pl.struct("S", 1, a=2)


def RecordPositional__array(out: OUT):
    s = pl.struct_array("S", a=2)


def RecordPositional__tuple(out: OUT):
    s = pl.make_tuple(1, a=2)


def RecordName(out: OUT):
    s = pl.struct("not a name", a=2)


def RecordEmpty(out: OUT):
    s = pl.struct("S")


def RecordStars(out: OUT):
    s = pl.struct("S", **{"a": 1})


def RecordField(out: OUT):
    s = pl.struct("S", a=out)


def StructArraySize(out: OUT):
    s = pl.struct_array(0, "S", a=1)


def StructInBranch(out: OUT, n: pl.DT_INT64):
    if n > 0:
        s = pl.struct("S", a=1)


def ConstArguments(out: OUT):
    x = pl.const(5)


def ConstArguments__literal(out: OUT, n: pl.DT_INT64):
    x = pl.const(n, pl.DT_INT32)


def ConstArguments__dtype(out: OUT):
    x = pl.const(5, 32)


def MinMaxArguments(out: OUT):
    x = pl.max(out[0], out[1], out[2])


def MinMaxArguments__kind(out: OUT):
    x = min(out, 1)


def SectionAsCall(out: OUT):
    pl.section_cube()


def RangeAsValue(out: OUT):
    x = pl.range(out[0])


def ShapeExpected(p: pl.Ptr[pl.DT_INT64]):
    t = pl.make_tensor(p, 16)


def ShapeItems(p: pl.Ptr[pl.DT_INT64]):
    t = pl.make_tensor(p, [16, 0])


def StrideRank(p: pl.Ptr[pl.DT_INT64]):
    t = pl.make_tensor(p, [16, 16], stride=[1])


def FormatLiteral(out: OUT, n: pl.DT_INT64):
    pl.printf(n)


def CompileTimeShape(out: OUT, n: pl.DT_INT64):
    t = pl.TileType([n, 64], pl.DT_FP32)


def TileTypeArgument(out: OUT, n: pl.DT_INT64):
    t = pl.TileType([16, 64], pl.DT_FP32, compact=n)
