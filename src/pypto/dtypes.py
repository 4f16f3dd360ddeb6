"""Element types: one row each, and everything the rest of the house asks about them.

``DataType`` keeps the names and numbers of the public enum (tensor API section 2.1). A row adds what the engines
need: storage size, numpy type, the short name used in program text, and the type arithmetic is done in.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np


class Answer(int):
    """A number or truth value that may also be called: the tile level writes ``dtype.bits()`` and ``dtype.is_float()``."""

    def __call__(self) -> int:
        return int(self)


class Truth(Answer):
    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return str(bool(self))


YES, NO = Truth(1), Truth(0)


class DataType(enum.Enum):
    """Element type of a tensor. ``int(DataType.DT_FP32) == 7``; every member is also ``pypto.DT_...``."""

    DT_INT4 = 0
    DT_INT8 = 1
    DT_INT16 = 2
    DT_INT32 = 3
    DT_INT64 = 4
    DT_FP8 = 5
    DT_FP16 = 6
    DT_FP32 = 7
    DT_BF16 = 8
    DT_HF4 = 9
    DT_HF8 = 10
    DT_UINT8 = 11
    DT_UINT16 = 12
    DT_UINT32 = 13
    DT_UINT64 = 14
    DT_BOOL = 15
    DT_DOUBLE = 16
    DT_FP8E4M3 = 17
    DT_FP8E5M2 = 18
    DT_FP8E8M0 = 19
    DT_FP4_E2M1X2 = 20
    DT_FP4_E1M2X2 = 21
    DT_FP4_E2M1 = 22
    DT_FP4_E1M2 = 23
    DT_BOTTOM = 24

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return f"DataType.{self.name}"

    __repr__ = __str__

    @cached_property
    def facts(self) -> Facts:
        return _FACTS[self]

    @property
    def label(self) -> str:
        """Short name in program text: ``fp32``, ``bf16``, ``int8``."""
        return self.facts.label

    @property
    def size(self) -> int:
        """Bytes of one stored element."""
        return self.facts.size

    @property
    def numpy(self) -> np.dtype:
        """numpy (or ml_dtypes) type that stores one element; raises ``KeyError`` for types without one."""
        if self.facts.numpy is None:
            raise KeyError(f"{self} has no numpy type")
        return self.facts.numpy

    @cached_property
    def is_float(self) -> bool:
        return YES if self.facts.is_float else NO  # type: ignore[return-value]

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer (bool excluded)."""
        return not self.facts.is_float and self is not DataType.DT_BOOL and self is not DataType.DT_BOTTOM

    @cached_property
    def is_unsigned(self) -> bool:
        return YES if self.name.startswith("DT_UINT") else NO  # type: ignore[return-value]

    @cached_property
    def bits(self) -> int:
        return Answer(self.facts.bits)

    # -- as the tile level asks (tile API section 1.5) ----------------------------------------------------------------------

    def get_bit(self) -> int:
        """Bits of one element.

        >>> DataType.DT_FP16.get_bit()
        16
        """
        return self.facts.bits

    def is_int(self) -> bool:
        return self.is_integer

    def is_signed_int(self) -> bool:
        return self.is_integer and not self.is_unsigned

    def is_unsigned_int(self) -> bool:
        return bool(self.is_unsigned)

    is_signed = is_signed_int

    def to_string(self) -> str:
        """Printed name of the tile level: ``fp32``, ``bfloat16``, ``fp8e4m3fn``."""
        return TILE_NAMES.get(self, (self.facts.label,))[0]

    def to_c_type_string(self) -> str:
        """The type in the C of a device kernel, "" where it has none."""
        return TILE_NAMES.get(self, ("", f"{self.facts.label}_t" if self.is_integer and self.facts.bits >= 8 else ""))[1]


DataType.str = DataType.to_string  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Facts:
    label: str
    size: int
    bits: int
    is_float: bool
    numpy: np.dtype | None


def _row(label: str, size: int, bits: int, is_float: bool, numpy_type: object = None) -> Facts:
    return Facts(label, size, bits, is_float, None if numpy_type is None else np.dtype(numpy_type))  # type: ignore[call-overload]


_D = DataType
_FACTS: dict[DataType, Facts] = {
    _D.DT_INT4: _row("int4", 1, 4, False, ml_dtypes.int4),
    _D.DT_INT8: _row("int8", 1, 8, False, np.int8),
    _D.DT_INT16: _row("int16", 2, 16, False, np.int16),
    _D.DT_INT32: _row("int32", 4, 32, False, np.int32),
    _D.DT_INT64: _row("int64", 8, 64, False, np.int64),
    _D.DT_FP8: _row("fp8", 1, 8, True),
    _D.DT_FP16: _row("fp16", 2, 16, True, np.float16),
    _D.DT_FP32: _row("fp32", 4, 32, True, np.float32),
    _D.DT_BF16: _row("bf16", 2, 16, True, ml_dtypes.bfloat16),
    _D.DT_HF4: _row("hf4", 1, 4, True),
    _D.DT_HF8: _row("hf8", 1, 8, True, np.uint8),
    _D.DT_UINT8: _row("uint8", 1, 8, False, np.uint8),
    _D.DT_UINT16: _row("uint16", 2, 16, False, np.uint16),
    _D.DT_UINT32: _row("uint32", 4, 32, False, np.uint32),
    _D.DT_UINT64: _row("uint64", 8, 64, False, np.uint64),
    _D.DT_BOOL: _row("bool", 1, 8, False, np.bool_),
    _D.DT_DOUBLE: _row("fp64", 8, 64, True, np.float64),
    _D.DT_FP8E4M3: _row("e4m3", 1, 8, True, ml_dtypes.float8_e4m3fn),
    _D.DT_FP8E5M2: _row("e5m2", 1, 8, True, ml_dtypes.float8_e5m2),
    _D.DT_FP8E8M0: _row("e8m0", 1, 8, True, ml_dtypes.float8_e8m0fnu),
    _D.DT_FP4_E2M1X2: _row("e2m1x2", 1, 8, True, np.uint8),
    _D.DT_FP4_E1M2X2: _row("e1m2x2", 1, 8, True, np.uint8),
    _D.DT_FP4_E2M1: _row("e2m1", 1, 4, True),
    _D.DT_FP4_E1M2: _row("e1m2", 1, 4, True),
    _D.DT_BOTTOM: _row("none", 0, 0, False),
}

# Printed name and C spelling (tile API section 1.5) where they are not the label and ``<label>_t``.
TILE_NAMES: dict[DataType, tuple[str, str]] = {
    _D.DT_BOOL: ("bool", "bool"),
    _D.DT_FP16: ("fp16", "half"),
    _D.DT_BF16: ("bfloat16", "bfloat16_t"),
    _D.DT_FP32: ("fp32", "float"),
    _D.DT_FP8E4M3: ("fp8e4m3fn", "float8_e4m3_t"),
    _D.DT_FP8E5M2: ("fp8e5m2", "float8_e5m2_t"),
    _D.DT_FP8E8M0: ("fp8e8m0", "float8_e8m0_t"),
    _D.DT_FP4_E2M1: ("fp4e2m1", "float4_e2m1x2_t"),
    _D.DT_FP4_E1M2: ("fp4e1m2", "float4_e1m2x2_t"),
    _D.DT_HF8: ("hf8", "hifloat8_t"),
}

BY_LABEL: dict[str, DataType] = {facts.label: dtype for dtype, facts in _FACTS.items()}

# Storage types that several public types share (hf8, packed fp4) are left out: a raw array of theirs is plain uint8.
BY_NUMPY: dict[np.dtype, DataType] = {
    facts.numpy: dtype
    for dtype, facts in _FACTS.items()
    if facts.numpy is not None and dtype not in (_D.DT_HF8, _D.DT_FP4_E2M1X2, _D.DT_FP4_E1M2X2)
}

BY_TORCH_NAME: dict[str, DataType] = {
    "float16": _D.DT_FP16,
    "bfloat16": _D.DT_BF16,
    "float32": _D.DT_FP32,
    "float64": _D.DT_DOUBLE,
    "int8": _D.DT_INT8,
    "uint8": _D.DT_UINT8,
    "int16": _D.DT_INT16,
    "uint16": _D.DT_UINT16,
    "int32": _D.DT_INT32,
    "uint32": _D.DT_UINT32,
    "int64": _D.DT_INT64,
    "uint64": _D.DT_UINT64,
    "bool": _D.DT_BOOL,
    "float8_e4m3fn": _D.DT_FP8E4M3,
    "float8_e5m2": _D.DT_FP8E5M2,
    "float8_e8m0fnu": _D.DT_FP8E8M0,
    "float4_e2m1fn_x2": _D.DT_FP4_E2M1X2,
}


def bytes_of(dtype: DataType) -> int:
    """Bytes of one stored element.

    >>> bytes_of(DataType.DT_BF16)
    2
    """
    return dtype.size
