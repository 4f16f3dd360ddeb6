"""The CPU engine against the same outside judges, for every row and element type of the op table."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pytest

from ops.harness import check
from ops.matrix import cases, covered
from pypto import compiler
from pypto.dtypes import DataType
from pypto.ir.program import Program, Storage


@dataclass
class Argument:
    """What the compiled kernel needs of a host tensor."""

    array: np.ndarray

    @property
    def address(self) -> int:
        return self.array.ctypes.data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def cpu(program: Program, arrays: dict[Storage, np.ndarray]) -> None:
    executable = compiler.compile_program(program, "cpu")
    executable.run([Argument(arrays[p]) for p in program.parameters if isinstance(p, Storage)])


@pytest.mark.parametrize(("operation", "dtype"), covered(), ids=lambda v: v.label if isinstance(v, DataType) else v)
def test_cpu(operation: str, dtype: DataType) -> None:
    rng = np.random.default_rng(zlib.crc32(f"{operation} {dtype}".encode()))
    for case in cases(operation, dtype, rng):
        check(case, cpu, rng)
