"""``torch_npu``: the helpers that scripts around PyPTO kernels call, on the host.

Formats are a matter of the device's memory: on the host a tensor has one layout, so a format cast returns its argument.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

from pypto.errors.compat import NoStandIn, TorchMissing

FORMAT_ND = 2  # the number torch_npu reports for plain row-major tensors


def npu_format_cast(tensor: Any, acl_format: int, *arguments: Any, **named: Any) -> Any:
    """The tensor itself: its values do not depend on the device's layout."""
    return tensor


def get_npu_format(tensor: Any) -> int:
    return FORMAT_ND


def empty_with_format(size: Any, dtype: Any = None, device: Any = None, acl_format: int = FORMAT_ND, **named: Any) -> Any:
    return _torch().empty(size, dtype=dtype)


def npu_dtype_cast(tensor: Any, dtype: Any) -> Any:
    return tensor.to(dtype)


def npu_transpose(tensor: Any, perm: Any, require_contiguous: bool = True) -> Any:
    moved = tensor.permute(*perm)
    return moved.contiguous() if require_contiguous else moved


def npu_rms_norm(tensor: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """``(y, reciprocal of the root mean square)`` over the axes of ``gamma``, computed in fp32."""
    axes = tuple(range(tensor.dim() - gamma.dim(), tensor.dim()))
    wide = tensor.float()
    scale = _torch().rsqrt(wide.pow(2).mean(axes, keepdim=True) + epsilon)
    return (wide * scale * gamma.float()).to(tensor.dtype), scale


def npu_swiglu(tensor: Any, dim: int = -1) -> Any:
    first, second = tensor.float().chunk(2, dim)
    return (_torch().nn.functional.silu(first) * second).to(tensor.dtype)


def npu_rotary_mul(tensor: Any, cosine: Any, sine: Any) -> Any:
    """Rotary position embedding, halves rotated: ``x * cos + (-x2, x1) * sin``."""
    first, second = tensor.chunk(2, -1)
    return tensor * cosine + _torch().cat((-second, first), -1) * sine


def npu_trans_quant_param(scale: Any, offset: Any = None) -> Any:
    """Scales as the matrix unit takes them: bits of the fp32 number in the low half, bit 46 set (tile API, fixpipe scale)."""
    torch = _torch()
    bits = scale.float().contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    return bits | (1 << 46)


def _torch() -> Any:
    if importlib.util.find_spec("torch") is None:
        raise TorchMissing(what="torch_npu")
    return importlib.import_module("torch")


def fill(module: ModuleType) -> None:
    """Give the module ``torch_npu`` its contents."""
    torch = _torch()
    names = [name for name in globals() if name.startswith("npu_")]
    module.__dict__.update({name: globals()[name] for name in names})
    module.__dict__.update(
        __doc__=__doc__,
        __version__="0.0.0+standin",
        npu=torch.npu,
        npu_format_cast_=npu_format_cast,
        get_npu_format=get_npu_format,
        empty_with_format=empty_with_format,
        __getattr__=_missing,
    )
    sys.modules["torch_npu.npu"] = torch.npu


def _missing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NoStandIn(module="torch_npu", name=name)
