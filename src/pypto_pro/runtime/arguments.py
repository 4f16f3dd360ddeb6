"""Arguments of a launch: checked against the parameters, turned into what the simulator takes (tile API section 2.3)."""

from __future__ import annotations

import ctypes
from typing import Any

from pypto.dtypes import DataType
from pypto.elements import fits
from pypto.frontend.interop import HostTensor, describe, is_array
from pypto_pro.errors.launching import (
    HalfScalar,
    NoArrayMemory,
    PointerArgument,
    ScalarArgument,
    ScalarRange,
    TensorArgument,
    TensorDtype,
)
from pypto_pro.frontend import tiling
from pypto_pro.frontend.signature import KernelParameter
from pypto_pro.frontend.values import is_number

_D = DataType

# Element types of host tensors that are checked; the others have no torch type everywhere and are taken by their bytes.
CHECKED = frozenset(
    (_D.DT_FP16, _D.DT_BF16, _D.DT_FP32, _D.DT_INT8, _D.DT_INT16, _D.DT_INT32, _D.DT_INT64)
    + (_D.DT_UINT8, _D.DT_UINT64, _D.DT_BOOL, _D.DT_HF8)
)
HOST_DTYPE = {_D.DT_HF8: _D.DT_UINT8}


def host_tensor(kernel: str, parameter: KernelParameter, argument: Any) -> HostTensor | None:
    """The memory of a tensor argument; None stays None. Raises ``TypeError`` for other things and for another element type."""
    if argument is None:
        return None
    if not is_array(argument):
        raise TensorArgument(kernel=kernel, name=parameter.name, got=type(argument).__name__)
    host = describe(argument, kernel, parameter.name)
    wanted = parameter.dtype
    assert wanted is not None
    if wanted in CHECKED and host.dtype is not HOST_DTYPE.get(wanted, wanted):
        raise TensorDtype(kernel=kernel, name=parameter.name, expected=wanted.name, got=host.dtype.name)
    if host.dtype.size != wanted.size:
        raise NoArrayMemory(kernel=kernel, name=parameter.name, got=host.dtype.name, expected=wanted.name)
    return host


def pointer_memory(kernel: str, parameter: KernelParameter, argument: Any) -> HostTensor | None:
    """The memory behind a pointer argument."""
    if argument is None:
        return None
    if not is_array(argument):
        raise PointerArgument(kernel=kernel, name=parameter.name, got=type(argument).__name__)
    return describe(argument, kernel, parameter.name)


def scalar_value(kernel: str, parameter: KernelParameter, argument: Any) -> Any:
    """A number for a scalar parameter: bool for BOOL and integers, float only for floats, int only for integers."""
    dtype = parameter.dtype
    assert dtype is not None
    facts: dict[str, Any] = {"kernel": kernel, "name": parameter.name}
    if dtype in (_D.DT_FP16, _D.DT_BF16):
        raise HalfScalar(**facts)
    if hasattr(argument, "item") and getattr(argument, "shape", None) == ():
        argument = argument.item()
    expected = "a float" if dtype.is_float else "a bool" if dtype is _D.DT_BOOL else "an int"
    right_kind = is_number(argument) and (
        isinstance(argument, float) if dtype.is_float else isinstance(argument, bool) or dtype is not _D.DT_BOOL
    )
    if not right_kind or (not dtype.is_float and isinstance(argument, float)):
        raise ScalarArgument(dtype=dtype.name, expected=expected, got=f"{type(argument).__name__} {argument!r}", **facts)
    if dtype.is_float:
        return ctypes.c_float(argument).value
    return bool(argument) if dtype is _D.DT_BOOL else _in_range(dtype, int(argument), facts)


def _in_range(dtype: DataType, value: int, facts: dict[str, Any]) -> int:
    if not fits(value, dtype):
        raise ScalarRange(got=value, dtype=dtype.name, **facts)
    return value


def tiling_values(kernel: str, parameter: KernelParameter, argument: Any) -> dict[str, Any]:
    """The fields of a tiling class as plain numbers."""
    assert parameter.tiling is not None
    return tiling.values_of(parameter.tiling, argument, parameter.name)
