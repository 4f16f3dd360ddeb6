import dataclasses
from typing import Tuple

import pypto_pro.language as pl

OUT = pl.Tensor[[16], pl.DT_INT64]


@dataclasses.dataclass
class Sizes:
    rows: int


@dataclasses.dataclass
class Others:
    rows: int


def TensorArity():
    pl.Tensor[[16]]


def TileArity():
    pl.Tile[[16, 16]]


def TileThird():
    pl.Tile[[16, 16], pl.DT_FP32, 5]


def ScalarValue():
    pl.Scalar(5)


def MemRefArity():
    pl.MemRef(3, 0, 32)


def MemRefValue():
    pl.MemRef(pl.MemorySpace.Vec, -1, 32)


def MissingAnnotation(out: OUT, n):
    pass


def UnknownAnnotation(out: OUT, n: list):
    pass


def TupleAnnotation(out: OUT, n: Tuple[int, int]):
    pass


def NestedTuple(out: OUT, n: Tuple[Tuple[int, int], int]):
    pass


def ManyTilings(out: OUT, one: Sizes, two: Others):
    pass


def TilingNotLast(one: Sizes, out: OUT):
    pass


def ReturnAnnotation(out: OUT) -> int:
    pass


def DtypeExpected(out: pl.Tensor[[16], 5]):
    pass


def UnknownDtype(out: OUT, x: "pl.Tensor[[16], DT_NOTHING]"):
    pass


def UnknownDtype__scalar(out: OUT, n: "pl.DT_NOTHING"):
    pass


def UnknownShapeVariable(out: OUT, x: "pl.Tensor[[rows, 16], pl.DT_FP32]"):
    pass


def UnknownLayout(out: OUT, x: "pl.Tensor[[16, 16], pl.DT_FP32, pl.XY]"):
    pass


def LayoutExpected(out: pl.Tensor[[16, 16], pl.DT_FP32, 5]):
    pass


def StorageOnlyScalar(out: OUT, n: pl.DT_FP8E5M2):
    pass


def ShapeList(out: pl.Tensor[16, pl.DT_FP32]):
    pass


def ShapeItem(out: pl.Tensor[[0, 16], pl.DT_FP32]):
    pass


def ShapeItem__bool(out: pl.Tensor[[True, 16], pl.DT_FP32]):
    pass


def EllipsisPlace(out: pl.Tensor[[..., 16], pl.DT_FP32]):
    pass


def wants_tile(tile: pl.Tile[[16, 16], pl.DT_FP32]):
    pass


def NotAnnotatedAs(out: OUT):
    wants_tile(out)


def NotAnnotatedAs__variable(out: OUT):
    x: pl.DT_INT32 = 0.5


def NotAnnotatedAs__a_constant(out: OUT):
    wants_tile(3)


def TileThird__variable(x: pl.Tensor[[16, 64], pl.DT_FP32]):
    tile = pl.make_tile(pl.TileType([16, 64], pl.DT_FP32), addr=0)
    same: pl.Tile[[16, 64], pl.DT_FP32, 3] = tile
