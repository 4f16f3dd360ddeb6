"""Names that scripts and tests take from the reference's native module (tensor API sections 1.3 and 12)."""

from __future__ import annotations

import os
from typing import Any

from pypto import options
from pypto.enums import (
    ConvReLuType,
    ExternalError,
    FunctionType,
    GraphType,
    LogBaseType,
    NodeType,
    ReLuType,
    TileType,
)
from pypto.tiles import TileL0Info, TileL1Info

__all__ = [
    "ConvReLuType",
    "DeviceInit",
    "ExternalError",
    "FunctionType",
    "GetGlobalConfig",
    "GraphType",
    "LogBaseType",
    "LogTopFolder",
    "NodeType",
    "ReLuType",
    "SetGlobalConfig",
    "TileL0Info",
    "TileL1Info",
    "TileType",
]


def SetGlobalConfig(key: str, value: Any) -> None:
    """Set an option for the whole process, below all scopes; ``pypto.reset_options`` leaves it."""
    from pypto.options.scopes import set_process

    set_process(key, value)


def GetGlobalConfig(key: str) -> Any:
    return options.current().get(key)


def DeviceInit() -> None:
    """Nothing to prepare: kernels run on this machine."""


def LogTopFolder() -> str:
    """Where reports and dumps go: ``TILE_FWK_OUTPUT_DIR``, ``$ASCEND_WORK_PATH/pypto``, else ``./output``."""
    work = os.environ.get("ASCEND_WORK_PATH")
    return os.environ.get("TILE_FWK_OUTPUT_DIR") or (os.path.join(work, "pypto") if work else os.path.join(os.getcwd(), "output"))
