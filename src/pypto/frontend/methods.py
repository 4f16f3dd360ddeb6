"""Completes ``Tensor``: methods and operators of the op table, and those of this room."""

from __future__ import annotations

from typing import Any

import pypto.ops  # noqa: F401  fills the op table
from pypto.dtypes import DataType
from pypto.frontend import structure
from pypto.frontend.tensor import Tensor, install_operations
from pypto.ops.table import OPERATIONS

__all__ = ["Tensor"]


def _transposed(self: Tensor) -> Tensor:
    """The tensor with its axes reversed."""
    return OPERATIONS["permute"].function(self, list(range(self.dim))[::-1])


def _cast_to(dtype: DataType) -> Any:
    def convert(self: Tensor) -> Tensor:
        """The tensor in another element type."""
        return OPERATIONS["cast"].function(self, dtype)

    return convert


def _mean(self: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    """Arithmetic mean along an axis (float tensors)."""
    total = OPERATIONS["sum"].function(self, dim, keepdim)
    return OPERATIONS["mul"].function(total, 1.0 / int(self.shape[dim]))


def _expand(self: Tensor, *sizes: Any) -> Tensor:
    """``expand_clone`` with torch's name; -1 keeps a size."""
    wanted = list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else list(sizes)
    shape = [old if new == -1 else new for old, new in zip(self.shape, wanted, strict=True)]
    return OPERATIONS["expand_clone"].function(self, shape)


def _forward(name: str) -> Any:
    def method(self: Tensor, *arguments: Any, **keywords: Any) -> Any:
        return OPERATIONS[name].function(self, *arguments, **keywords)

    method.__name__ = name
    method.__doc__ = f"``pypto.{name}`` of this tensor."
    return method


TORCH_NAMES = ("pow", "abs", "neg", "cast", "clip", "minimum", "prod", "tan", "isnan", "isfinite", "squeeze", "where")


def install() -> None:
    """Give ``Tensor`` everything; called when the module is imported."""
    install_operations()
    for name in TORCH_NAMES:
        if name in OPERATIONS and name not in vars(Tensor):
            setattr(Tensor, name, _forward(name))
    own = {
        "view": lambda self, shape, offsets, *, valid_shape=None: structure.view(self, shape, offsets, valid_shape=valid_shape),
        "assemble": structure.assemble_method,
        "reshape": structure.reshape,
        "fill_": structure.fill,
        "T": property(_transposed),
        "float": _cast_to(DataType.DT_FP32),
        "half": _cast_to(DataType.DT_FP16),
        "bfloat16": _cast_to(DataType.DT_BF16),
        "int": _cast_to(DataType.DT_INT32),
        "mean": _mean,
        "expand": _expand,
    }
    for name, member in own.items():
        setattr(Tensor, name, member)


install()
