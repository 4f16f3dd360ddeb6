"""Letting torch take ``npu`` devices: every ``device`` that names an NPU is replaced by the CPU before torch sees it.

Only functions that take a device are wrapped, so arithmetic costs nothing extra. ``tensor.device`` stays ``cpu``. A tensor
that was moved to (or made on) the NPU carries a mark, so that moving between host and NPU copies as it does on a real one.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

_FACTORIES = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye
    frombuffer full full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand
    rand_like randint randint_like randn randn_like randperm range scalar_tensor set_default_device sparse_coo_tensor
    tensor tril_indices triu_indices zeros zeros_like load
"""
_METHODS = "new_empty new_full new_ones new_tensor new_zeros new_empty_strided"


def is_npu(device: Any) -> bool:
    """Whether ``device`` names an NPU: ``"npu"``, ``"npu:3"``, ``torch.device("npu:0")``."""
    if isinstance(device, str):
        return device == "npu" or device.startswith("npu:")
    return getattr(device, "type", None) == "npu"


def _host(value: Any) -> Any:
    return "cpu" if is_npu(value) else value


def _on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with NPU devices replaced, wherever among the arguments they stand; its tensor then counts as on the NPU."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        asked = any(map(is_npu, arguments)) or is_npu(named.get("device")) or is_npu(named.get("map_location"))
        if not asked:
            return function(*arguments, **named)
        return _marked(function(*map(_host, arguments), **{name: _host(value) for name, value in named.items()}))

    return call


def _marked(result: Any) -> Any:
    if hasattr(result, "untyped_storage"):
        result._pypto_npu = True
    return result


def _is_marked(tensor: Any) -> bool:
    return getattr(tensor, "_pypto_npu", False)


def _moving(to: Callable[..., Any]) -> Callable[..., Any]:
    """``Tensor.to``. A move between host and device makes a copy, as on an NPU: what happens to one must not reach the other."""

    @functools.wraps(to)
    def move(self: Any, *arguments: Any, **named: Any) -> Any:
        values = (*arguments, named.get("device"))
        inward = any(map(is_npu, values))
        outward = not inward and _is_marked(self) and any(str(value) == "cpu" for value in values)
        result = to(self, *map(_host, arguments), **{name: _host(value) for name, value in named.items()})
        if result is self and (outward or (inward and not _is_marked(self))):
            result = self.clone()
        return _marked(result) if inward else result

    return move


def _to_npu(self: Any, device: Any = None, *arguments: Any, **named: Any) -> Any:
    """``Tensor.npu``: a copy, or the tensor itself when it is one already."""
    return self if _is_marked(self) else _marked(self.clone())


def _to_cpu(self: Any, *arguments: Any, **named: Any) -> Any:
    """``Tensor.cpu``: a copy of what counts as on the NPU, else the tensor itself."""
    return self.clone() if _is_marked(self) else self


def _unchanged(self: Any, *arguments: Any, **named: Any) -> Any:
    return self


def patch(torch: ModuleType) -> None:
    """Wrap the functions of ``torch`` that take a device; once."""
    if getattr(torch, "_pypto_npu_devices", False):
        return
    torch._pypto_npu_devices = True  # type: ignore[attr-defined]
    _know_the_name(torch)
    for name in _FACTORIES.split():
        if hasattr(torch, name):
            setattr(torch, name, _on_host(getattr(torch, name)))
    for name in _METHODS.split():
        setattr(torch.Tensor, name, _on_host(getattr(torch.Tensor, name)))
    torch.Tensor.to = _moving(torch.Tensor.to)
    torch.Tensor.npu = _to_npu
    torch.Tensor.cpu = _to_cpu
    torch.Tensor.is_npu = property(lambda self: self.device.type == "cpu")
    torch.Tensor.pin_memory = _unchanged  # page-locking serves transfers to a device, and there are none
    torch.Tensor.record_stream = lambda self, stream: None
    torch.nn.Module.npu = _unchanged
    torch.nn.Module.to = _on_host(torch.nn.Module.to)
    torch.Generator = _generator(torch)  # type: ignore[attr-defined]
    _patch_autocast(torch)


def _know_the_name(torch: ModuleType) -> None:
    """Make ``torch.device("npu:0")`` a device that torch can name."""
    backends = importlib.import_module("torch.utils.backend_registration")
    if torch._C._get_privateuse1_backend_name() != "npu":
        backends.rename_privateuse1_backend("npu")


def _generator(torch: ModuleType) -> type[Any]:
    original = torch.Generator

    class Generator(original):  # type: ignore[misc,valid-type]
        """``torch.Generator`` on the host."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return original.__new__(cls, device=_host(device))

    return Generator


def _patch_autocast(torch: ModuleType) -> None:
    """``torch.autocast("npu")``: automatic precision of the host."""
    original = torch.autocast.__init__

    @functools.wraps(original)
    def initialise(self: Any, device_type: str, *arguments: Any, **named: Any) -> None:
        original(self, _host(device_type), *arguments, **named)

    torch.autocast.__init__ = initialise
