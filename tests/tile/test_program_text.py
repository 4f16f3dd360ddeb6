"""Core programs print as one line per statement."""

from __future__ import annotations

from pypto.cores.enums import AccToVecMode, CoreType, MemorySpace, PipeType, TensorLayout
from pypto.cores.program import (
    Assign,
    Break,
    Constant,
    CoreProgram,
    DeclareGroup,
    DeclareStruct,
    DeclareTensor,
    DeclareTile,
    Extent,
    Field,
    If,
    Instruction,
    Item,
    Loop,
    Name,
    Operation,
    Parameter,
    Repeat,
    Return,
    SetField,
    Slot,
    System,
    TileProgram,
    ValidExtent,
    Window,
)
from pypto.cores.text import expression_text, print_program
from pypto.cores.types import Pointer, Scalar, Struct, Tensor, Tile
from pypto.dtypes import DataType

N = Name
C = Constant
FP32 = DataType.DT_FP32
VEC = Tile((32, 64), FP32)
MAT = Tile((64, 64), FP32, MemorySpace.Mat, TensorLayout.NZ)


def op(operator, *operands, dtype=DataType.DT_INT64):
    return Operation(operator, tuple(operands), dtype)


def test_expressions():
    i, j = N("i"), N("j")
    assert expression_text(op("*", op("+", i, C(1)), j)) == "(i + 1) * j"
    assert expression_text(op("-", i, op("-", j, C(1)))) == "i - (j - 1)"
    assert expression_text(op("-", op("-", i, j), C(1))) == "i - j - 1"
    assert expression_text(op("and", op("<", i, C(3)), op("not", op("==", j, C(-1))))) == "i < 3 and not j == (-1)"
    assert expression_text(op("min", i, op("negate", j))) == "min(i, -j)"
    assert expression_text(op("+", op("choose", op("<", i, j), i, j), C(1))) == "(i if i < j else j) + 1"
    assert expression_text(op("convert", op("/", i, j), dtype=FP32)) == "fp32(i / j)"
    assert expression_text(Slot(N("g"), "at", op("%", i, C(2)))) == "g[i % 2]"
    assert expression_text(Window(Slot(N("g"), "next"), C(0), i, C(0), C(64))) == "g.next()[0:i, 0:64]"
    assert expression_text(Item((N("x"), N("y")), i)) == "[x, y][i]"
    assert expression_text(Field(Item(N("ring"), i), "rows", C(1))) == "ring[i].rows[1]"
    assert expression_text(op("-", Extent(N("a"), 1), ValidExtent(N("x"), 0))) == "a.shape[1] - x.valid_shape[0]"
    assert expression_text(System("subblock_idx")) == "subblock_idx()"


CUBE = (
    DeclareGroup("a_l1", MAT, (0, 0x4000), ((0,), (1,))),
    DeclareGroup("mm", VEC, (0, 0x2000), ((12,), (13,)), (0, 1), (2, 3)),
    DeclareTile("bias", Tile((1, 64), FP32, MemorySpace.Mat, valid=(1, 60)), 0x8000, (4, 5)),
    DeclareStruct("s", "State", (("count", C(0)), ("rows", (C(1), C(2)))), 3),
    DeclareTensor("view", N("a"), DataType.DT_FP16, (N("n"), C(8)), (C(16), C(1)), op("*", N("n"), C(2))),
    DeclareTensor("p", N("a"), FP32),
    Loop(
        "k",
        C(0),
        N("n"),
        C(1),
        (
            Assign("cur", Slot(N("a_l1"), "next")),
            Instruction("load", PipeType.MTE2, (N("cur"), N("a"), (op("*", N("k"), C(64)), C(0)))),
            Instruction(
                "move",
                PipeType.FIX,
                (Slot(N("mm"), "next"), N("cur"), None),
                {"acc_to_vec_mode": AccToVecMode.DualModeSplitM, "relu_pre_mode": None},
            ),
            Instruction("mutex_lock", PipeType.FIX, (N("cur"),), {"pipe": PipeType.FIX, "mutex_ids": (0, 1)}),
            If(
                op(">", N("k"), C(2)),
                (SetField(Item(N("s"), N("k")), "rows", op("+", N("k"), C(1)), C(0)),),
                (Break(),),
            ),
        ),
    ),
    Repeat((Instruction("getval", PipeType.S, (N("bias"), C(3)), {}, "value"), Return())),
    If(op("==", N("value"), C(0)), ()),
)

EXPECTED = """\
kernel demo(a: tensor[64, n] fp32, p: pointer fp16, n: int64, t: struct Tiling(rows: int64, sizes: fp32[4])) on 950

cube:
  group a_l1: 2 x Mat[64, 64] fp32 NZ at 0x0, 0x4000 tokens 0, 1
  group mm: 2 x Vec[32, 64] fp32 at 0x0, 0x2000 tokens 12, 13 forward 0, 1 backward 2, 3
  tile bias: Mat[1, 64] fp32 valid [1, 60] at 0x8000 tokens 4+5
  struct s: State[3](count=0, rows=[1, 2])
  view view: tensor[n, 8] fp16 of a strides [16, 1] offset n * 2
  view p: pointer fp32 of a
  for k in range(0, n, 1):
    cur = a_l1.next()
    MTE2 load(cur, a, [k * 64, 0])
    FIX  move(mm.next(), cur, acc_to_vec_mode=DualModeSplitM)
    FIX  mutex_lock(cur, mutex_ids=[0, 1])
    if k > 2:
      s[k].rows[0] = k + 1
    else:
      break
  repeat:
    S    value = getval(bias, 3)
    return
  if value == 0:
    pass

vector:
  pass
"""


def test_program():
    parameters = (
        Parameter("a", Tensor((64, "n"), FP32)),
        Parameter("p", Pointer(DataType.DT_FP16)),
        Parameter("n", Scalar(DataType.DT_INT64)),
        Parameter("t", Struct("Tiling", (("rows", DataType.DT_INT64, None), ("sizes", FP32, 4)))),
    )
    program = TileProgram("demo", parameters, CoreProgram(CoreType.CUBE, CUBE), CoreProgram(CoreType.VECTOR, ()), "950")
    assert print_program(program) == EXPECTED
