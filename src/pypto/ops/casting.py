"""``cast``: every conversion, rounding mode and saturation (tensor API section 9.8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import warn
from pypto.dtypes import BY_NUMPY, DataType
from pypto.enums import CastMode, SaturationMode
from pypto.errors.operations import ArgumentType, CastUnsupported
from pypto.ir.program import Operand, TensorType
from pypto.ops import rounding, rules
from pypto.ops.arguments import dtype_argument, dtype_of, kind_name, tensor
from pypto.ops.dtype_sets import B16, E4M3, E5M2, F16, F32, I8, I16, I32, I64, STORED, U8
from pypto.ops.lower_cast import lower_cast
from pypto.ops.numerics import narrowed, widened
from pypto.ops.table import Kind, Unit, operation, record, recorder

MODES = {
    CastMode.CAST_RINT: "rint",
    CastMode.CAST_ROUND: "round",
    CastMode.CAST_FLOOR: "floor",
    CastMode.CAST_CEIL: "ceil",
    CastMode.CAST_TRUNC: "trunc",
    CastMode.CAST_ODD: "odd",
}

# Conversions of the default chip (A2/A3 column of section 9.8.1); others give a portability warning.
CHIP_CASTS: dict[DataType, tuple[DataType, ...]] = {
    F16: (F32, I32, I16, I8, U8),
    B16: (F32, I32),
    F32: (B16, F16, I16, I32, I64),
    I32: (F32, I16, I64, F16),
    I16: (F32, F16),
    I8: (F16,),
    U8: (F16,),
    I64: (F32, I32),
}


def _infer(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    (type,) = rules.types_of(operands)
    target = attributes["dtype"]
    rules.check_rank("cast", type, 1, 5)
    if type.dtype not in STORED or target not in STORED:
        raise CastUnsupported(source=type.dtype.name, target=target.name)
    return [type.with_(dtype=target)]


def convert(x: np.ndarray, *, dtype: DataType, mode: str = "rint", saturate: bool = False, integral: bool = False) -> np.ndarray:
    """What ``cast`` means. Floats to integers go by ``mode``, then wrap or clamp; integers to narrow floats go through FP32.

    ``integral``: stay in the type, but at whole numbers.
    """
    if integral:
        return narrowed(rounding.integral(widened(x), mode), x.dtype)
    source = BY_NUMPY[x.dtype]
    if dtype is DataType.DT_BOOL:
        return x.astype(np.float32) != 0 if source.is_float and source is not DataType.DT_DOUBLE else x != 0
    if source.is_float:
        to = rounding.to_float if dtype.is_float else rounding.to_integer
        return to(x.astype(np.float64) if source.size >= 4 else x.astype(np.float32), dtype, mode, saturate)
    if not dtype.is_float:
        return x.astype(dtype.numpy) if source is DataType.DT_BOOL else rounding.integer_to_integer(x, dtype, saturate)
    if dtype.size >= 4:
        return x.astype(dtype.numpy)
    return rounding.to_float(x.astype(np.float32), dtype, "rint", saturate)


def _mode_name(source: DataType, target: DataType, mode: CastMode) -> str:
    """The rounding that takes place; conversions that need none, and integer sources, always use ``rint``."""
    if not _rounds(source, target):
        return "rint"
    if mode is CastMode.CAST_NONE:
        return "trunc" if source.is_float and not target.is_float else "rint"
    if mode is CastMode.CAST_ODD and (source, target) != (F32, F16):
        return "trunc" if not target.is_float else "rint"  # an unsupported mode is replaced by the default
    return MODES[mode]


def _rounds(source: DataType, target: DataType) -> bool:
    """Whether going from ``source`` to ``target`` can lose digits of a float."""
    if not source.is_float or target is DataType.DT_BOOL:
        return False
    if not target.is_float:
        return True
    widening = {F16: (F32,), B16: (F32,), E4M3: (F32, F16, B16), E5M2: (F32, F16, B16)}
    return target is not DataType.DT_DOUBLE and target not in widening.get(source, ())


def _warn_off_chip(source: DataType, target: DataType) -> None:
    if target not in CHIP_CASTS.get(source, ()):
        span = getattr(recorder(), "span", None)
        warn(f"the default chip does not support cast from {source.name} to {target.name}", span, portability=True)


def _unchanged(source: DataType, target: DataType, mode: CastMode) -> bool:
    if source is not target:
        return False
    return mode in (CastMode.CAST_NONE, CastMode.CAST_RINT, CastMode.CAST_ODD) or not source.is_float


@operation(
    kind=Kind.ELEMENTWISE,
    infer=_infer,
    compute=convert,
    lower=lower_cast,
    npu=Unit("V", "VCONV"),
    dtypes=STORED,
    method=True,
)
def cast(input: Any, dtype: DataType, mode: CastMode = CastMode.CAST_NONE, satmode: SaturationMode = SaturationMode.OFF) -> Any:
    """``input`` as another element type.

    ``mode``: NONE truncates float to integer and rounds everything else to nearest even; RINT, ROUND (half away from zero),
    FLOOR, CEIL, TRUNC, ODD (FP32 to FP16 only). ``satmode``: OFF keeps the low bits of integers that do not fit (floats become
    infinity, or NaN for E4M3), ON clamps. NaN becomes integer 0. A cast to the same float type with a mode gives whole numbers.

    >>> evaluate(cast, [1.5, -1.5], DataType.DT_INT32).tolist()
    [1, -1]
    """
    handle = tensor("cast", "input", input)
    target = dtype_argument("cast", "dtype", dtype)
    for argument, thing, expected in (("mode", mode, CastMode), ("satmode", satmode, SaturationMode)):
        if not isinstance(thing, expected):
            raise ArgumentType(operation="cast", argument=argument, expected=expected.__name__, kind=kind_name(thing))
    source = dtype_of(handle)
    if _unchanged(source, target, mode):
        return handle
    if source is target:
        return record("cast", [handle], {"dtype": target, "mode": MODES[mode], "integral": True})
    if source in STORED and target in STORED:
        _warn_off_chip(source, target)
    saturate = satmode is SaturationMode.ON
    if target.is_float and target.size < 4 and (source is DataType.DT_DOUBLE or not source.is_float) and target in STORED:
        handle, source = _recorded(handle, F32, "rint", False), F32  # integers and fp64 reach narrow floats through fp32
    return _recorded(handle, target, _mode_name(source, target, mode), saturate)


def _recorded(handle: Any, target: DataType, mode: str, saturate: bool) -> Any:
    return record("cast", [handle], {"dtype": target, "mode": mode, "saturate": saturate})
