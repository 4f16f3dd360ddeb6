"""A scalar with an element type, and the one place where numbers become elements.

>>> Element(DataType.DT_FP32, 1).value
1.0
>>> element_value(300, DataType.DT_INT8)
44
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.errors.operations import ElementData


class Element:
    """A number of a given element type, for operands whose type must be spelled out.

    ``dtype`` and ``value`` are the type and the number (a float for float types, else an int). ``data`` that is neither
    int nor float is an error.
    """

    __slots__ = ("dtype", "value")

    def __init__(self, dtype: DataType, data: int | float) -> None:
        if not isinstance(data, (int, float)):
            raise ElementData(data=data, kind=type(data).__name__)
        self.dtype = dtype
        self.value: int | float = float(data) if dtype.is_float else int(data)

    def base(self) -> Element:
        return self

    def __repr__(self) -> str:
        return f"Element({self.dtype}, {self.value!r})"


def fits(value: int | float, dtype: DataType) -> bool:
    """Whether an integer value lies in the range of an integer type (floats: always)."""
    if not dtype.is_integer:
        return True
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    return low <= value < low + (1 << dtype.bits)


def wrapped(value: int, dtype: DataType) -> int:
    """``value`` modulo the width of an integer type, in its range (two's complement)."""
    low = 0 if dtype.is_unsigned else -(1 << (dtype.bits - 1))
    return (value - low) % (1 << dtype.bits) + low


def element_value(value: int | float | bool, dtype: DataType) -> int | float | bool:
    """``value`` as ``dtype`` holds it: floats rounded to the type, integers wrapped, bool by truth."""
    if dtype is DataType.DT_BOOL:
        return bool(value)
    if dtype.is_integer:
        return wrapped(int(value), dtype)
    if dtype is DataType.DT_DOUBLE:
        return float(value)
    with np.errstate(all="ignore"):
        return float(np.float32(value).astype(dtype.numpy))


def element_array(value: int | float | bool, dtype: DataType) -> np.ndarray:
    """A 0-d array holding ``value`` as ``dtype`` does."""
    return np.asarray(element_value(value, dtype)).astype(dtype.numpy)


def convert_to_element(value: Any, dtype: DataType) -> Element:
    """An ``Element`` of ``dtype``; an ``Element`` passes unchanged.

    >>> convert_to_element(2, DataType.DT_FP16)
    Element(DataType.DT_FP16, 2.0)
    """
    return value if isinstance(value, Element) else Element(dtype, value)
