from __future__ import annotations

import dataclasses

import numpy as np

import pypto_pro.language as pl
from pypto_pro.runtime.tilingkey import TilingKeyField, TilingKeySchema

OUT = pl.Tensor[[16], pl.DT_INT64]


@dataclasses.dataclass
class Empty:
    pass


@dataclasses.dataclass
class Doubled:
    rows: int
    rows: int  # noqa: F811


@dataclasses.dataclass
class Wrong:
    rows: str


@dataclasses.dataclass
class Long:
    rows: int[4096]


@dataclasses.dataclass
class Right:
    rows: int
    steps: int[3]


@pl.jit
def kernel_empty(out: OUT, sizes: Empty):
    pass


@pl.jit
def kernel_doubled(out: OUT, sizes: Doubled):
    pass


@pl.jit
def kernel_wrong(out: OUT, sizes: Wrong):
    pass


@pl.jit
def kernel_long(out: OUT, sizes: Long):
    pass


@pl.jit
def kernel_right(out: OUT, sizes: Right):
    pass


def numbers():
    return np.zeros(16, np.int64)


def TilingEmpty():
    kernel_empty(numbers(), Empty())


def TilingDuplicate():
    kernel_doubled(numbers(), Doubled(1))


def TilingField():
    kernel_wrong(numbers(), Wrong("x"))


def TilingArrayLength():
    kernel_long(numbers(), Long([]))


def TilingValue():
    kernel_right(numbers(), Right("x", [1, 2, 3]))


def TilingValue__class():
    kernel_right(numbers(), 5)


def TilingSequence():
    kernel_right(numbers(), Right(1, 5))


def TilingItems():
    kernel_right(numbers(), Right(1, [1, 2]))


class Key:
    WIDE = TilingKeyField(bits=1, values=[0, 1])

    def is_valid(self, key):
        return key != (1,)


@pl.jit(tiling_key=Key)
def keyed(out: OUT):
    pass


def KeyClass():
    pl.jit(tiling_key=5)


def KeyEmpty():
    class Nothing:
        pass

    TilingKeySchema(Nothing)


def KeyCheck():
    class Odd:
        A = TilingKeyField(bits=1, values=[0])
        is_valid = 3

    TilingKeySchema(Odd)


def KeyBits():
    TilingKeyField(bits=0, values=[0])


def KeyNoValues():
    TilingKeyField(bits=1, values=[])


def KeyValueType():
    TilingKeyField(bits=1, values=[True])


def KeyValuesUnique():
    TilingKeyField(bits=1, values=[1, 1])


def KeyTooManyValues():
    TilingKeyField(bits=1, values=[0, 1, 2])


def KeyTooWide():
    class Wide:
        A = TilingKeyField(bits=60, values=[0])
        B = TilingKeyField(bits=5, values=[0])

    TilingKeySchema(Wide)


def KeyNotDict():
    keyed[None, 1, 5](numbers())


def KeyNames():
    keyed[None, 1, {"OTHER": 1}](numbers())


def KeyCandidate():
    keyed[None, 1, {"WIDE": 2}](numbers())


def KeyInvalid():
    keyed[None, 1, {"WIDE": 1}](numbers())


def KeyParameterClash():
    @pl.jit(tiling_key=Key)
    def kernel(WIDE: OUT):
        pass


FIXED = 3


def KeyVariableClash():
    class Other:
        FIXED = TilingKeyField(bits=1, values=[0])

    @pl.jit(tiling_key=Other)
    def kernel(out: OUT):
        pass
