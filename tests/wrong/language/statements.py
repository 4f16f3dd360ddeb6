import pypto_pro.language as pl

OUT = pl.Tensor[[16], pl.DT_INT64]


def AssignTarget(out: OUT):
    a, out[0] = 1, 2


def ChainedTargets(out: OUT):
    a = b = 1


def AnnotatedTarget(out: OUT):
    out[0]: int = 1


def AnnotationWithoutValue(out: OUT):
    x: pl.DT_INT32


def UnpackValue(out: OUT):
    a, b = out[0]


def UnpackCount(out: OUT):
    a, b = 1, 2, 3


def VoidValue(out: OUT):
    x = pl.setval(out, 0, 1)


def NotAValue(out: OUT):
    x = pl.add


def ImmutableTuple(out: OUT):
    pair = pl.make_tuple(a=1, b=2)
    pair.a = 3


def FieldOfNothing(out: OUT):
    x = 1
    x.a = 3


def FieldLength(out: OUT):
    s = pl.struct("S", values=[1, 2, 3, 4])
    s.values = [1, 2]


def FieldLength__scalar(out: OUT):
    s = pl.struct("S", values=[1, 2, 3, 4])
    s.values = 1


def FieldValue(out: OUT):
    s = pl.struct("S", count=0)
    s.count = 0.5


def FieldValue__tile(out: OUT):
    s = pl.struct("S", count=0)
    s.count = out


def StoreTarget(out: OUT):
    x = 1
    x[0] = 2


def StoreTarget__slice(out: OUT):
    out[0:2] = 2


def StandaloneAttribute(out: OUT):
    out.shape


def LoneExpression(out: OUT):
    out[0] + 1


def UnsupportedStatementType(out: OUT):
    try:
        out[0] = 1
    finally:
        out[1] = 2


def UnsupportedStatementType__assert(out: OUT):
    assert out[0] > 0


def ManyContexts(out: OUT):
    with pl.section_cube(), pl.section_vector():
        pass


def OtherContext(out: OUT):
    with open("file"):
        pass


def LoopIterator(out: OUT):
    for i in [1, 2, 3]:
        out[i] = 1


def LoopIterator__python(out: OUT):
    for i in range(3):
        out[i] = 1


def RangeKeywords(out: OUT):
    for i in pl.range(stop=3):
        out[i] = 1


def RangeCount(out: OUT):
    for i in pl.range():
        out[i] = 1


def RangeStep(out: OUT):
    for i in pl.range(0, 3, 0):
        out[i] = 1


def RangeBound(out: OUT):
    for i in pl.range(1.5):
        out[i] = 1


def LoopTarget(out: OUT):
    for i, j in pl.range(3):
        out[i] = 1


def LoopElse(out: OUT):
    for i in pl.range(3):
        out[i] = 1
    else:
        out[0] = 2


def ReturnValue(out: OUT):
    return out[0]


def Redefinition():
    @pl.function(strict_ssa=True)
    def kernel(out: OUT):
        x = 1
        x = 2
