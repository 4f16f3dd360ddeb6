"""Sets of element types that the rows share (tensor API section 9; order is the order in messages)."""

from __future__ import annotations

from pypto.dtypes import DataType

F16, B16, F32, F64 = DataType.DT_FP16, DataType.DT_BF16, DataType.DT_FP32, DataType.DT_DOUBLE
I8, I16, I32, I64 = DataType.DT_INT8, DataType.DT_INT16, DataType.DT_INT32, DataType.DT_INT64
U8, U16, U32, U64 = DataType.DT_UINT8, DataType.DT_UINT16, DataType.DT_UINT32, DataType.DT_UINT64
BOOL = DataType.DT_BOOL
E4M3, E5M2 = DataType.DT_FP8E4M3, DataType.DT_FP8E5M2

FLOATS = (F16, B16, F32)
ALL_FLOATS = (*FLOATS, F64)
SIGNED = (I8, I16, I32, I64)
UNSIGNED = (U8, U16, U32, U64)
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*ALL_FLOATS, *INTEGERS)
STORED = (*NUMBERS, BOOL, E4M3, E5M2)  # everything that computes and moves
# Types that can only be moved: their bytes have a numpy type, their arithmetic does not exist.
MOVED = (*STORED, DataType.DT_HF8, DataType.DT_FP8E8M0, DataType.DT_FP4_E2M1X2, DataType.DT_FP4_E1M2X2, DataType.DT_INT4)
SMALL_FLOATS = (F16, B16, E4M3, E5M2)  # computed in fp32, rounded once


def names(dtypes: tuple[DataType, ...]) -> str:
    """``DT_FP16, DT_BF16`` for messages."""
    return ", ".join(d.name for d in dtypes)
