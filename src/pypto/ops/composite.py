"""Functions made of other operations (tensor API section 9.14)."""

from __future__ import annotations

from typing import Any

from pypto.dtypes import DataType
from pypto.errors.operations import LengthMismatch
from pypto.ir.symbols import Expression, truediv
from pypto.ops.arguments import dtype_of, tensor, type_of
from pypto.ops.arithmetic import add, div, mul, sub
from pypto.ops.casting import cast
from pypto.ops.dtype_sets import F32
from pypto.ops.families import composite
from pypto.ops.functions import exp, sqrt
from pypto.ops.movement import reshape
from pypto.ops.reduction import amax, sum
from pypto.ops.signs import neg


@composite("sigmoid", method=True)
def sigmoid(input: Any) -> Any:
    """``1 / (1 + exp(-input))`` in FP32, in the input's type.

    >>> evaluate(sigmoid, [0.0]).tolist()
    [0.5]
    """
    handle = tensor("sigmoid", "input", input)
    return cast(div(1.0, add(exp(neg(cast(handle, F32))), 1.0)), dtype_of(handle))


@composite("softmax", method=True)
def softmax(input: Any, dim: int) -> Any:
    """``exp(input - max) / sum`` along ``dim`` in FP32, in the input's type. A row of only -inf gives NaN.

    >>> evaluate(softmax, [[0.0, 0.0]], -1).tolist()
    [[0.5, 0.5]]
    """
    handle = tensor("softmax", "input", input)
    wide = cast(handle, F32)
    powers = exp(sub(wide, amax(wide, dim, True)))
    return cast(div(powers, sum(powers, dim, True)), dtype_of(handle))


@composite("rms_norm")
def rms_norm(input: Any, gamma: Any = None, epsilon: float = 1e-6) -> Any:
    """``input / sqrt(mean(input**2) + epsilon) * gamma`` along the last axis, in FP32, in the input's type.

    ``gamma``: one axis as long as the input's last, or none.

    >>> evaluate(rms_norm, [[2.0, -2.0]], None, 0.0).tolist()
    [[1.0, -1.0]]
    """
    handle = tensor("rms_norm", "input", input)
    type = type_of(handle)
    wide = cast(handle, F32)
    mean = sum(mul(mul(wide, wide), _inverse(type.valid[-1])), -1, True)
    result = div(wide, sqrt(add(mean, epsilon)))
    if gamma is not None:
        result = mul(result, _as_row(tensor("rms_norm", "gamma", gamma), type.rank, type.shape[-1]))
    return cast(result, dtype_of(handle))


def _inverse(length: Any) -> Any:
    """1/n; symbolic when the valid length is."""
    return truediv(1.0, length) if isinstance(length, Expression) else 1.0 / max(length, 1)


def _as_row(gamma: Any, rank: int, columns: Any) -> Any:
    type = type_of(gamma)
    if type.rank != 1:
        raise LengthMismatch(operation="rms_norm", argument="the shape of gamma", got=type.rank, expected=1)
    return cast(reshape(gamma, [*[1] * (rank - 1), columns]) if rank > 1 else gamma, F32)


@composite("mean", public=False, method=True)
def mean(input: Any, dim: int, keepdim: bool = False) -> Any:
    """Mean along ``dim`` in FP32, in the input's type (integers: FP32).

    >>> evaluate(mean, [[1.0, 3.0]], 1).tolist()
    [2.0]
    """
    handle = tensor("mean", "input", input)
    wide = cast(handle, F32)
    type = type_of(handle)
    total = sum(wide, dim, keepdim)
    result = mul(total, _inverse(type.valid[dim]))
    return cast(result, type.dtype) if type.dtype.is_float else result


@composite("float", public=False, method=True)
def as_float32(input: Any) -> Any:
    """The tensor as FP32 (torch's ``.float()``).

    >>> evaluate(as_float32, np.array([1, 2])).tolist()
    [1.0, 2.0]
    """
    return cast(input, DataType.DT_FP32)
