"""Annotations of kernels: ``Tensor``, ``Tile``, ``Ptr``, ``Scalar``, ``MemRef`` and the shape policies (tile API section 1.6)."""

from __future__ import annotations

from typing import Any

from pypto.cores.enums import MemorySpace, TensorLayout
from pypto.dtypes import DataType
from pypto_pro.errors.annotations import MemRefArity, MemRefValue, ScalarValue, TensorArity, TileArity, TileThird


class ShapePolicy:
    """How an axis of a parameter is treated: ``DYNAMIC`` any size at run time, ``STATIC`` compiled for the size at hand."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name  # the singletons stay singletons


DYNAMIC = ShapePolicy("DYNAMIC")
STATIC = ShapePolicy("STATIC")


class MemRef:
    """A piece of a memory: space, address and size in bytes, optionally a number."""

    def __init__(self, memory_space: MemorySpace, addr: int, size: int, id: int = 0) -> None:
        for name, value in (("addr", addr), ("size", size), ("id", id)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise MemRefValue(name=name, got=value)
        if not isinstance(memory_space, MemorySpace):
            raise MemRefArity(got=repr(memory_space))
        self.memory_space, self.addr, self.size, self.id = memory_space, addr, size, id

    def __repr__(self) -> str:
        return f"MemRef({self.memory_space}, {self.addr:#x}, {self.size})"


class Tensor:
    """A tensor in global memory: ``pl.Tensor[[rows, columns], pl.DT_FP32]``.

    An axis is a positive number, ``pl.DYNAMIC``, ``pl.STATIC``, or a final ``...``; a third item may be a layout or a ``MemRef``.
    Raises ``TypeError`` for any other number of items.
    """

    shape: Any
    dtype: Any

    def __init__(self, shape: Any, dtype: Any, layout: Any = None, memref: Any = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.layout = layout
        self.memref = memref

    def __class_getitem__(cls, items: Any) -> Tensor:
        if not isinstance(items, tuple) or not 2 <= len(items) <= 4:
            raise TensorArity(got=len(items) if isinstance(items, tuple) else 1)
        layout, memref = None, None
        for item in items[2:]:
            if isinstance(item, MemRef):
                memref = item
            else:
                layout = item
        return cls(items[0], items[1], layout, memref)

    def __repr__(self) -> str:
        third = f", {self.layout}" if isinstance(self.layout, TensorLayout) else ""
        return f"pl.Tensor[{self.shape}, {self.dtype}{third}]"


class Tile:
    """A tile as an annotation only: ``pl.Tile[[rows, columns], pl.DT_FP16]``, optionally with a ``MemRef``."""

    def __init__(self, shape: Any, dtype: Any, memref: MemRef | None = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.memref = memref

    def __class_getitem__(cls, items: Any) -> Tile:
        if not isinstance(items, tuple) or not 2 <= len(items) <= 3:
            raise TileArity(got=len(items) if isinstance(items, tuple) else 1)
        if len(items) == 3 and not isinstance(items[2], MemRef):
            raise TileThird()
        return cls(*items)

    def __repr__(self) -> str:
        return f"pl.Tile[{self.shape}, {self.dtype}]"


class Ptr:
    """A pointer into global memory, counted in elements: ``pl.Ptr[pl.DT_FP16]``."""

    def __init__(self, dtype: DataType) -> None:
        self.dtype = dtype

    def __class_getitem__(cls, dtype: Any) -> Ptr:
        return cls(dtype)

    def __repr__(self) -> str:
        return f"pl.Ptr[{self.dtype}]"


class Scalar:
    """A run-time number as an annotation: ``pl.Scalar[pl.DT_INT32]``, or the element type itself. For a constant use ``pl.const``."""

    dtype: DataType

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise ScalarValue()

    def __class_getitem__(cls, dtype: Any) -> Scalar:
        made = object.__new__(cls)
        made.dtype = dtype
        return made

    def __repr__(self) -> str:
        return f"pl.Scalar[{self.dtype}]"
