"""Groups of element types that the tables of vector operations use (tile API sections 3.3 to 3.7)."""

from __future__ import annotations

from pypto.ops.dtype_sets import FLOATS, I8, I16, I32, I64, INTEGERS, U8, U16, U32, U64

NARROW = (I8, U8)
MIDDLE = (I16, I32, U16, U32)
WIDE = (I64, U64)
EVERY = (*INTEGERS, *FLOATS)
