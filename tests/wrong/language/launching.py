import numpy as np

import pypto_pro.language as pl

OUT = pl.Tensor[[16], pl.DT_INT64]


@pl.jit
def kernel(out: OUT, x: pl.Tensor[[4, pl.DYNAMIC], pl.DT_FP32], p: pl.Ptr[pl.DT_FP32], n: pl.DT_INT32):
    pass


@pl.jit
def static(x: pl.Tensor[[pl.STATIC, 4], pl.DT_FP32]):
    pass


@pl.jit(datatype={"x": "T", "y": "T"})
def typed(x: "pl.Tensor[[4], T]", y: "pl.Tensor[[4], T]"):
    pass


def call(**change):
    given = {"out": np.zeros(16, np.int64), "x": np.zeros((4, 3), np.float32), "p": None, "n": 1} | change
    kernel(**given)


def JitKeywords():
    pl.jit(preload=2)


def JitArgument():
    pl.jit(pipeline=2)


def UnsupportedArch():
    pl.jit(arch="a9")


def LaunchArity():
    kernel[None, 1, {}](None)


def NeedsSpecialisation():
    typed(None, None)


def BlockDim():
    kernel[0](None)


def ArgumentCount():
    kernel(None)


def ArgumentBinding():
    call(other=1)


def TensorArgument():
    call(x=[1.0])


def TensorDtype():
    call(x=np.zeros((4, 3), np.float16))


def TensorRank():
    call(x=np.zeros(4, np.float32))


def TensorAxis():
    call(x=np.zeros((5, 3), np.float32))


def TensorAxisPositive():
    call(x=np.zeros((4, 0), np.float32))


def ShapesMissing():
    static.compile()


def ShapesUnknown():
    static.compile({"x": (4, 4), "y": (1,)})


def ShapesMapping():
    static.compile([4])


def StaticOfNone():
    static(None)


def PointerArgument():
    call(p=5)


def ScalarArgument():
    call(n=0.5)


def ScalarRange():
    call(n=2**40)


def HalfScalar():
    @pl.jit
    def halves(out: OUT, h: pl.DT_FP16):
        pass

    halves(None, 0.5)


def DatatypeDict():
    pl.jit(datatype={})(kernel.definition.function)


def DatatypeName():
    pl.jit(datatype={"x": "1"})(kernel.definition.function)


def DatatypeUnknown():
    pl.jit(datatype={"z": "T"})(kernel.definition.function)


def DatatypeClash():
    pl.jit(datatype={"x": "out"})(kernel.definition.function)


def DatatypeKeys():
    typed[None, 1, {"x": pl.DT_FP16}](None, None)


def DatatypeValue():
    typed[None, 1, {"x": "fp16", "y": pl.DT_FP16}](None, None)


def DatatypeDisagree():
    typed[None, 1, {"x": pl.DT_FP16, "y": pl.DT_FP32}](None, None)


def LaunchDict():
    typed[None, 1, pl.DT_FP16](None, None)


def NotAKernelFunction():
    pl.jit(5)


def NoArrayMemory():
    @pl.jit
    def bytes_of(x: pl.Tensor[[4], pl.DT_FP8E5M2]):
        pass

    bytes_of(np.zeros(4, np.float32))


def ReadBeforeBound():
    @pl.jit
    def branches(out: OUT, n: pl.DT_INT64):
        if n > 0:
            x = 1
        out[0] = x

    branches(np.zeros(16, np.int64), 0)


def SimulateOption():
    pl.simulate(seed="now")


def ProgramEmpty():
    @pl.program
    class Nothing:
        pass


def ProgramNotAClass():
    pl.program(5)


def NothingFound():
    pl.parse("x = 1", "text.py")


FUNCTION = "@pl.function\ndef {name}(out: pl.Tensor[[16], pl.DT_INT64]):\n    out[0] = 1\n"


def SeveralFound():
    pl.parse(FUNCTION.format(name="one") + FUNCTION.format(name="two"), "text.py")


def WrongKind():
    pl.parse_program(FUNCTION.format(name="one"), "text.py")


def TextSyntax():
    pl.parse("def (", "text.py")


def TextFailed():
    pl.parse("1 / 0", "text.py")
