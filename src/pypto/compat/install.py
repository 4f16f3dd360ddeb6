"""Putting the stand-ins in place: a finder that serves ``torch_npu`` and completes ``torch`` once it is imported.

torch is not imported here: a script that does not use it does not pay for it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def real_torch_npu() -> bool:
    """Whether the vendor's ``torch_npu`` is installed (then nothing is put in its place)."""
    return any(
        finder.find_spec("torch_npu", None) is not None
        for finder in sys.meta_path
        if not isinstance(finder, Finder) and hasattr(finder, "find_spec")
    )


def active() -> bool:
    """Whether the stand-ins are in place."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> bool:
    """Put the stand-ins in place; False when the real ``torch_npu`` is there. Calling it again changes nothing."""
    if active():
        return True
    if real_torch_npu():
        return False
    sys.meta_path.insert(0, Finder())
    if "torch" in sys.modules:
        complete(sys.modules["torch"])
    return True


def complete(torch: ModuleType) -> None:
    """Give an imported torch its ``npu`` and let it take ``npu`` devices."""
    from pypto.compat import devices, npu

    npu.attach(torch)
    devices.patch(torch)


class Finder(importlib.abc.MetaPathFinder):
    """Serves ``torch_npu`` and its submodules; wraps the loader of ``torch``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch_npu":
            return importlib.machinery.ModuleSpec(fullname, StandInLoader(), is_package=True)
        if fullname == "torch":
            return self._torch(path, target)
        return None

    def _torch(self, path: Sequence[str] | None, target: ModuleType | None) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec("torch", path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = CompletingLoader(spec.loader)
        return spec


class CompletingLoader(importlib.abc.Loader):
    """Loads torch as usual, then completes it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.inner.exec_module(module)
        complete(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)  # get_data, get_source, is_package … as the original loader has them


class StandInLoader(importlib.abc.Loader):
    """Makes the module ``torch_npu``."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from pypto.compat import torch_npu

        torch_npu.fill(module)
