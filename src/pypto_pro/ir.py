"""The program of a kernel, as ``pl.function`` and ``KernelDef`` give it: statements and types of a core program."""

from pypto.cores.enums import CoreType, MemorySpace, PipeType, TensorLayout, TilePad
from pypto.cores.program import CoreProgram, Parameter, TileProgram, walk
from pypto.dtypes import DataType
from pypto_pro.language.typing import MemRef

__all__ = [
    "CoreProgram",
    "CoreType",
    "DataType",
    "MemRef",
    "MemorySpace",
    "Parameter",
    "PipeType",
    "TensorLayout",
    "TilePad",
    "TileProgram",
    "walk",
]
