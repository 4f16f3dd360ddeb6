"""Offsets and numbers that the compiled call guard and the Python that fills its data agree on."""

from __future__ import annotations

# Offsets in bytes. Header, then rows.
KERNEL, SLOW, COUNT, RELEASE, ON_ERROR, GRAD_ENABLED, NONE, FALSE, GRAD_NAME = 0, 8, 16, 24, 32, 40, 48, 56, 64
WATCHED, WATCHES = 72, 80  # table of what must still hold, and its length
OWNER, NAME, HELD, WATCH_BYTES = 0, 8, 16, 24
HEADER_BYTES = 128
KIND, NDIM, TYPE, SOURCE, DTYPE, FLAGS, SLOT, ITEM, SAME, APART, SHAPE, RULES = 0, 4, 8, 16, 24, 28, 32, 40, 48, 56, 64, 128
ROW_BYTES = 192
MOST_ROWS, MOST_SLOTS, MOST_AXES = 64, 256, 8
ERROR_BYTES = 128

TORCH, NUMPY, INT, FLOAT, SAME_OBJECT, SAME_INT, SAME_FLOAT = range(7)
WRITTEN, CHECK_GRAD = 1, 2

BYTES_DATA = 32  # PyBytesObject.ob_sval, CPython 3.10-3.14 with a GIL
OBJECT_TYPE = 8  # PyObject.ob_type
FLOAT_VALUE = 16  # PyFloatObject.ob_fval
# numpy's PyArrayObject_fields and PyArray_Descr (numpy/ndarraytypes.h)
ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 56, 64
DESCR_ORDER, DESCR_NUMBER = 26, 28
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
# DLTensor (dlpack.h): data, device, ndim, dtype, shape, strides, byte_offset
DL_DEVICE, DL_NDIM, DL_DTYPE, DL_SHAPE, DL_STRIDES, DL_OFFSET, DL_BYTES = 8, 16, 20, 24, 32, 40, 48
DL_CPU = 1
