"""PyPTO at the tile level: kernels for one group of cores, with tiles in named memories, simulated on any machine.

>>> import pypto_pro.language as pl
>>> pl.TileType([16, 16], pl.DT_FP32).target_memory
MemorySpace.Vec
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pypto.dtypes import DataType
from pypto.errors.base import InternalError
from pypto_pro import language
from pypto_pro.language.dtypes import DTYPES

globals().update(DTYPES)

__all__ = ["DataType", "InternalError", "codegen", "ir", "language", *DTYPES]


def __getattr__(name: str) -> Any:
    if name in ("ir", "codegen", "runtime", "pipeline", "frontend", "errors"):
        return import_module(f"pypto_pro.{name}")
    raise AttributeError(f"module 'pypto_pro' has no attribute '{name}'")
