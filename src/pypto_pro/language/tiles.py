"""``TileType``: what a tile is made of, with the rules of its memory space (tile API section 1.7).

The rules follow the chip of the kernel that is being compiled; outside kernels ``PYPTOPRO_JIT_ARCH``, else ``PYPTOPRO_NPU_ARCH``, else
the 950.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pypto.cores.enums import MemorySpace, TensorLayout, TilePad
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto_pro.errors.tiles import (
    CompactMode,
    LayoutNotAllowed,
    PadType,
    PadValue,
    ScaleSpace,
    TileDtype,
    TileLayout,
    TileShape,
    TileSpace,
    ZigZagLayout,
)

_S, _L = MemorySpace, TensorLayout

SCALE_FRACTAL = 32  # bytes of a block of scales: 16 rows x 2 (tile API section 1.7)
ACCUMULATOR_FRACTAL = 1024  # 16 x 16 elements of four bytes
PLAIN_FRACTAL = 512  # 16 rows x 32 bytes

DEFAULTS: dict[str, dict[MemorySpace, TensorLayout]] = {
    "a5": {
        _S.Mat: _L.NZ,
        _S.Left: _L.NZ,
        _S.Right: _L.ZN,
        _S.Acc: _L.NZ,
        _S.Scaling: _L.ND,
        _S.ScaleLeft: _L.ZZ,
        _S.ScaleRight: _L.NN,
    },
    "a3": {_S.Mat: _L.NZ, _S.Left: _L.ZZ, _S.Right: _L.ZN, _S.Acc: _L.NZ, _S.Scaling: _L.ND},
}

_CHIP_ARCHITECTURES = {"dav-c220": "a3", "dav-2201": "a3", "dav-c310": "a5", "dav-3510": "a5", "a2": "a3", "a3": "a3", "a5": "a5"}


_compiled_for: ContextVar[str] = ContextVar("pypto_pro_architecture", default="")


@contextlib.contextmanager
def for_architecture(name: str) -> Iterator[None]:
    """Tile types made inside follow this architecture: those of a kernel's body that of its chip."""
    token = _compiled_for.set(_CHIP_ARCHITECTURES.get(name.lower(), ""))
    try:
        yield
    finally:
        _compiled_for.reset(token)


def architecture() -> str:
    """``a3`` or ``a5``: whose layout rules hold now."""
    if _compiled_for.get():
        return _compiled_for.get()
    for variable in ("PYPTOPRO_JIT_ARCH", "PYPTOPRO_NPU_ARCH"):
        given = os.environ.get(variable, "").lower().replace("_", "-")
        for prefix, found in _CHIP_ARCHITECTURES.items():
            if given.startswith(prefix):
                return found
    return "a5"


def allowed_layouts(space: MemorySpace, dtype: DataType, arch: str) -> list[TensorLayout]:
    """The layouts that tiles of ``dtype`` may have in ``space``; all where nothing is said."""
    default = DEFAULTS[arch].get(space)
    if default is None:
        return list(TensorLayout)
    found = [default]
    if space is _S.Mat:
        found.append(_L.ZN)
        found += [_L.ND] if dtype in (DataType.DT_INT64, DataType.DT_UINT64) else []
        found += [_L.ZZ, _L.NN] if dtype is DataType.DT_FP8E8M0 else []
    if space is _S.Left and arch == "a3":
        found.append(_L.NZ)
    return found


def default_fractal(space: MemorySpace, dtype: DataType, layout: TensorLayout) -> int:
    """Bytes of a block; 0 for plain rows or columns."""
    if layout in (_L.ND, _L.DN):
        return 0
    if space is _S.Acc and dtype in (DataType.DT_FP32, DataType.DT_INT32):
        return ACCUMULATOR_FRACTAL
    scales = space is _S.Mat and dtype is DataType.DT_FP8E8M0 and layout in (_L.ZZ, _L.NN)
    if space in (_S.ScaleLeft, _S.ScaleRight) or scales:
        return SCALE_FRACTAL
    return PLAIN_FRACTAL


@dataclass
class TileType:
    """Shape, element type and place of a tile, outside and inside kernels.

    ``valid_shape`` None (or -1 per axis) leaves the valid extent to run time; numbers make it a constant. ``layout`` and ``fractal``
    default to those of the memory space. Raises ``ValueError`` for a layout that the memory does not take, naming those it does.

    >>> TileType([64, 64], DataType.DT_FP32, MemorySpace.Acc).core().fractal
    1024
    """

    shape: Any
    dtype: DataType
    target_memory: MemorySpace = MemorySpace.Vec
    valid_shape: Any = None
    layout: TensorLayout | None = None
    fractal: int | None = None
    pad: Any = None
    compact: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, DataType):
            raise TileDtype(got=repr(self.dtype))
        if not isinstance(self.target_memory, MemorySpace):
            raise TileSpace(got=repr(self.target_memory))
        if self.layout is not None and not isinstance(self.layout, TensorLayout):
            raise TileLayout(got=repr(self.layout))
        if self.compact not in (None, 0, 1, 2) or isinstance(self.compact, bool):
            raise CompactMode(got=repr(self.compact))
        self.pad = _pad(self.pad)
        self.layout = self._layout()

    def _layout(self) -> TensorLayout | None:
        arch = architecture()
        space, layout = self.target_memory, self.layout
        if space in (_S.ScaleLeft, _S.ScaleRight) and arch != "a5":
            raise ScaleSpace(space=space.name)
        if layout is None:
            return DEFAULTS[arch].get(space)
        if arch == "a5" and space in (_S.Left, _S.Right, _S.Acc) and layout in (_L.ZZ, _L.NN):
            raise ZigZagLayout(space=space.name, layout=layout.name)
        allowed = allowed_layouts(space, self.dtype, arch)
        if layout not in allowed:
            names = "{" + ", ".join(one.name for one in allowed) + "}"
            raise LayoutNotAllowed(
                space=space.name, allowed=names, got=layout.name, arch=arch, default=DEFAULTS[arch][space].name
            )
        return layout

    def core(self) -> Tile:
        """The type as the core knows it; raises when the shape is not two positive numbers."""
        layout = self.layout if self.layout is not None else _L.ND
        fractal = self.fractal if self.fractal is not None else default_fractal(self.target_memory, self.dtype, layout)
        shape = _extents(self.shape, "shape")
        return Tile(shape, self.dtype, self.target_memory, layout, fractal, self.pad, self.compact or 0, self._valid())

    def _valid(self) -> tuple[int, int] | None:
        if self.valid_shape is None or all(isinstance(v, int) and v == -1 for v in self.valid_shape):
            return None
        rows, columns = self.valid_shape
        full = _extents(self.shape, "shape")
        return (full[0] if rows == -1 else rows, full[1] if columns == -1 else columns)


def _pad(pad: Any) -> TilePad:
    if pad is None or isinstance(pad, TilePad):
        return pad or TilePad.null
    if isinstance(pad, bool) or not isinstance(pad, int):
        raise PadType(got=type(pad).__name__)
    if not 0 <= pad <= 3:
        raise PadValue(got=pad)
    return TilePad(pad)


def _extents(shape: Any, what: str) -> tuple[int, int]:
    listed = tuple(shape) if isinstance(shape, (list, tuple)) else ()
    if len(listed) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in listed):
        raise TileShape(what=what, got=shape)
    return listed
