"""Launching kernels: argument checks, caches, artefacts, reports."""

from __future__ import annotations

import importlib
from typing import Any

_HOST = ("_device_init", "_device_fini", "_device_synchronize", "_device_run_once_data_from_host")


def __getattr__(name: str) -> Any:
    """The device functions of tensor API section 1.3 live in ``host``; ``RunMode`` is the public enum."""
    if name in _HOST:
        return getattr(importlib.import_module("pypto.runtime.host"), name)
    if name == "RunMode":
        return importlib.import_module("pypto.enums").RunMode
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
