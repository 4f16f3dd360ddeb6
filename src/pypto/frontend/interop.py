"""Arrays of the caller, without a copy: torch tensors, numpy arrays, DLPack objects, and ``from_torch`` results.

``describe(argument, kernel, name)`` gives a ``HostTensor`` or raises the catalogue's reason why the array cannot be passed. torch is never
imported here: who passes a torch tensor has imported it.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.dtypes import BY_NUMPY, BY_TORCH_NAME, DataType
from pypto.enums import TileOpFormat
from pypto.errors.arguments import (
    DistributedTensor,
    FromTorchContiguous,
    FromTorchDtype,
    FromTorchType,
    NotATensorArgument,
    NotContiguous,
    RequiresGrad,
    UnknownElementType,
    WrongLayout,
)
from pypto.errors.base import UserError
from pypto.frontend.tensor import Tensor, with_no_recorder

_numbers = itertools.count()


class HostTensor:
    """Memory of the caller: ``address``, ``dtype``, ``shape``, ``strides`` (elements), ``writable``, ``device``,
    ``owner`` (keeps it alive).

    ``array`` is a numpy view of the same memory, made when first asked for. ``dynamic`` are axes that ``from_torch`` marked dynamic.
    """

    __slots__ = ("_array", "address", "device", "dtype", "dynamic", "owner", "shape", "writable")

    def __init__(
        self, address: int, dtype: DataType, shape: tuple[int, ...], writable: bool, device: str, owner: Any, array: Any = None
    ) -> None:
        self.address = address
        self.dtype = dtype
        self.shape = shape
        self.writable = writable
        self.device = device
        self.owner = owner
        self.dynamic: frozenset[int] = frozenset()
        self._array = array

    @property
    def strides(self) -> tuple[int, ...]:
        """Row-major: what is passed is contiguous."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.size

    @property
    def array(self) -> np.ndarray:
        """The memory as a numpy array of this dtype and shape."""
        if self._array is None:
            kind = self.dtype.numpy
            if self.bytes == 0:
                self._array = np.empty(self.shape, kind)
            else:
                memory = (ctypes.c_char * self.bytes).from_address(self.address)
                self._array = np.ndarray(self.shape, kind, memory)  # type: ignore[arg-type]
        return self._array


def is_array(thing: Any) -> bool:
    """Whether ``thing`` can be passed for a tensor parameter."""
    if isinstance(thing, (np.ndarray, Tensor)):
        return True
    return not isinstance(thing, (np.generic, type)) and (is_torch(thing) or hasattr(type(thing), "__dlpack__"))


def is_torch(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, getattr(torch, "Tensor", ()))


def describe(argument: Any, kernel: str = "", name: str = "argument", index: int = 0) -> HostTensor:
    """The memory of an argument; raises a catalogue error naming ``kernel`` and ``name`` when it cannot be used as it is."""
    if isinstance(argument, np.ndarray):
        return _of_numpy(argument, kernel, name)
    if is_torch(argument):
        return _of_torch(argument, kernel, name)
    if isinstance(argument, Tensor) and argument.host is not None:
        return _of_wrapped(argument, kernel, name)
    if hasattr(type(argument), "__dlpack__") and not isinstance(argument, np.generic):
        return _of_dlpack(argument, kernel, name)
    got = f"{type(argument).__name__}" if isinstance(argument, (Tensor, type)) else f"{type(argument).__name__} {argument!r}"
    raise NotATensorArgument(kernel=kernel, name=name, index=index, got=got[:200])


def _of_torch(tensor: Any, kernel: str, name: str) -> HostTensor:
    facts: dict[str, Any] = {"kernel": kernel, "name": name}
    _check_torch(tensor, facts)
    dtype = BY_TORCH_NAME.get(str(tensor.dtype).removeprefix("torch."))
    if dtype is None:
        raise UnknownElementType(got=tensor.dtype, advice=f"convert it: {name}.to(torch.float32)", **facts)
    if not tensor.is_contiguous():
        raise NotContiguous(shape=list(tensor.shape), strides=list(tensor.stride()), **facts)
    return HostTensor(_memory_of(tensor, facts), dtype, tuple(tensor.shape) or (1,), True, "cpu", tensor)


def _memory_of(tensor: Any, facts: dict[str, Any]) -> int:
    """Address of the numbers. Tensors that stand for others while torch traces or transforms have none, freed storages neither."""
    needed = tensor.numel() * tensor.element_size()
    try:
        address = int(tensor.data_ptr())
        held = tensor.untyped_storage().nbytes() - tensor.storage_offset() * tensor.element_size()
    except (RuntimeError, NotImplementedError):
        address, held = 0, 0
    if not needed:
        return address
    if not address:
        advice = "wrap the kernel as a custom op (torch.library.custom_op), or pass a tensor that holds numbers"
        raise WrongLayout(got=f"a {type(tensor).__name__} without memory of its own", advice=advice, **facts)
    if held < needed:
        raise WrongLayout(
            got=f"larger ({needed} bytes) than its storage ({held})", advice="give the storage its size back", **facts
        )
    return address


def _check_torch(tensor: Any, facts: dict[str, Any]) -> None:
    torch = sys.modules["torch"]
    if type(tensor).__name__ == "DTensor":
        raise DistributedTensor(**facts)
    if tensor.is_nested:
        raise WrongLayout(got="a nested tensor", advice="pass its parts one by one, or torch.nested.to_padded_tensor", **facts)
    if tensor.layout != torch.strided:
        raise WrongLayout(got=f"a {str(tensor.layout).removeprefix('torch.')} tensor", advice="pass tensor.to_dense()", **facts)
    if tensor.device.type != "cpu":
        advice = "pass tensor.cpu(), or make it on the CPU"
        raise WrongLayout(got=f"on device '{tensor.device}'", advice=advice, **facts)
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RequiresGrad(**facts)
    if tensor.is_conj() or tensor.is_neg():
        raise WrongLayout(got="a lazily conjugated or negated view", advice="pass tensor.resolve_conj().resolve_neg()", **facts)
    if tensor.is_quantized:
        raise WrongLayout(got="a quantised tensor", advice="pass tensor.int_repr()", **facts)
    if hasattr(torch, "_is_functional_tensor") and torch._is_functional_tensor(tensor):
        raise WrongLayout(got="a functional tensor of a torch transform", advice="wrap the kernel as a custom op", **facts)


def _of_numpy(array: np.ndarray, kernel: str, name: str) -> HostTensor:
    facts: dict[str, Any] = {"kernel": kernel, "name": name}
    if isinstance(array, np.ma.MaskedArray):
        raise WrongLayout(got="a masked array", advice=f"pass {name}.filled(value), or {name}.data to ignore the mask", **facts)
    dtype = BY_NUMPY.get(array.dtype)
    if dtype is None or not array.dtype.isnative:
        if array.dtype.newbyteorder("=") in BY_NUMPY and not array.dtype.isnative:
            advice = f"convert the byte order: {name}.astype({name}.dtype.newbyteorder('='))"
        else:
            advice = f"convert it, for instance {name}.astype(np.float32)"
        raise UnknownElementType(got=array.dtype, advice=advice, **facts)
    if not array.flags.c_contiguous:
        strides = [stride // array.itemsize for stride in array.strides]
        raise NotContiguous(shape=list(array.shape), strides=strides, **facts)
    shaped = array if array.ndim else array.reshape(1)
    return HostTensor(array.ctypes.data, dtype, shaped.shape, array.flags.writeable, "cpu", array, shaped)


def _of_dlpack(producer: Any, kernel: str, name: str) -> HostTensor:
    facts: dict[str, Any] = {"kernel": kernel, "name": name}
    try:
        kind = int(producer.__dlpack_device__()[0])
    except Exception as error:  # the producer is foreign code, which may raise anything
        raise WrongLayout(got=f"a DLPack producer without a device ({error})", advice="pass a numpy array", **facts)
    if kind != 1:  # kDLCPU of the DLPack specification
        raise WrongLayout(got=f"on DLPack device {kind}", advice="copy it to the CPU", **facts)
    try:
        array = np.from_dlpack(producer)
    except Exception as first:  # numpy's refusal or the producer's own, which may be anything
        return _through_torch(producer, first, facts)
    found = _of_numpy(array, kernel, name)
    found.writable, found._array = True, None  # numpy marks imported memory read-only; DLPack itself does not say
    found.owner = (producer, array)
    return found


def _through_torch(producer: Any, first: Exception, facts: dict[str, Any]) -> HostTensor:
    """Element types that numpy does not import (bf16) go through torch, when it is there."""
    torch = sys.modules.get("torch")
    try:
        if torch is not None:
            return _of_torch(torch.from_dlpack(producer), facts["kernel"], facts["name"])
    except UserError:
        raise
    except Exception as second:  # torch's refusal or the producer's own, which may be anything
        first = second
    raise UnknownElementType(got=f"DLPack ({first})", advice="pass a torch tensor or an ml_dtypes array", **facts)


def _of_wrapped(tensor: Tensor, kernel: str, name: str) -> HostTensor:
    """A ``from_torch`` result: the memory of its tensor, with the dtype and shape it was given."""
    found = describe(tensor.host, kernel, name)
    shape = list(found.shape)
    if tensor.wanted_dtype in (DataType.DT_FP4_E2M1, DataType.DT_FP4_E1M2):
        shape[-1] *= 2  # two logical values per stored byte (tensor API section 5.2)
    made = HostTensor(found.address, tensor.wanted_dtype, tuple(shape), found.writable, found.device, tensor)
    made.dynamic = frozenset(axis for axis, mark in enumerate(tensor.marks or ()) if mark == -1)
    return made


# -- from_torch ------------------------------------------------------------------------------------------------------------------


def from_torch(
    tensor: Any,
    name: str = "",
    *,
    dynamic_axis: Sequence[int] | None = None,
    tensor_format: TileOpFormat | None = None,
    dtype: DataType | None = None,
) -> Tensor:
    """A torch tensor as a ``pypto.Tensor`` that shares its memory.

    ``dynamic_axis`` marks axes that may have any size, ``dtype`` overrides the element type. Raises ``TypeError`` for anything but a torch
    tensor, ``RuntimeError`` when it is not contiguous, ``ValueError`` for an element type without counterpart.

    >>> import pypto, torch
    >>> pypto.from_torch(torch.zeros(4, 8), "x")
    Tensor([4, 8], DT_FP32, 'x')
    """
    number = next(_numbers)
    if not is_torch(tensor):
        raise FromTorchType(got=type(tensor).__name__)
    if not tensor.is_contiguous():
        raise FromTorchContiguous()
    found = dtype or BY_TORCH_NAME.get(str(tensor.dtype).removeprefix("torch."))
    if found is None:
        raise FromTorchDtype(got=tensor.dtype)
    shape = list(tensor.shape) or [1]
    if found in (DataType.DT_FP4_E2M1, DataType.DT_FP4_E1M2):
        shape[-1] *= 2
    for axis in dynamic_axis or ():
        shape[axis] = -1
    sizes = list(tensor.shape) or None
    arguments = (shape, found, name or f"TENSOR_{number}", tensor_format, tensor.data_ptr(), tensor.device, sizes)
    made: Tensor = with_no_recorder(lambda: Tensor(*arguments))
    made.host = tensor
    return made
