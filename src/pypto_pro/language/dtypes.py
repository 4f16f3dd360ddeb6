"""Element types under the names of the tile language (tile API section 1.5)."""

from __future__ import annotations

from pypto.dtypes import DataType

_D = DataType

DTYPES: dict[str, DataType] = {
    "DT_BOOL": _D.DT_BOOL,
    "DT_INT4": _D.DT_INT4,
    "DT_INT8": _D.DT_INT8,
    "DT_INT16": _D.DT_INT16,
    "DT_INT32": _D.DT_INT32,
    "DT_INT64": _D.DT_INT64,
    "DT_UINT8": _D.DT_UINT8,
    "DT_UINT16": _D.DT_UINT16,
    "DT_UINT32": _D.DT_UINT32,
    "DT_UINT64": _D.DT_UINT64,
    "DT_FP8E4M3FN": _D.DT_FP8E4M3,
    "DT_FP8E5M2": _D.DT_FP8E5M2,
    "DT_FP8E8M0": _D.DT_FP8E8M0,
    "DT_FP4E2M1": _D.DT_FP4_E2M1,
    "DT_FP4E1M2": _D.DT_FP4_E1M2,
    "DT_FP16": _D.DT_FP16,
    "DT_FP32": _D.DT_FP32,
    "DT_BF16": _D.DT_BF16,
    "DT_HF4": _D.DT_HF4,
    "DT_HF8": _D.DT_HF8,
}
"""Public name -> type. ``DT_UINT4`` and ``DT_FP4`` have no counterpart among the types of the house: see ``UNUSED``."""

UNUSED = {"DT_UINT4": "storage only, no operation takes it", "DT_FP4": "declared only; use DT_FP4E2M1 or DT_FP4E1M2"}
