"""Running the last ``with pypto.function(...)`` block on host tensors (tensor API section 6.8)."""

from __future__ import annotations

from typing import Any

from pypto.errors.arguments import DtypeMismatch, RunArgument, RunArgumentCount, RunArgumentShape, ShapeMismatch
from pypto.errors.frontend import NoFunctionRecorded
from pypto.frontend.builder import Function, get_last_function
from pypto.frontend.interop import HostTensor, describe
from pypto.frontend.signature import ordinal
from pypto.frontend.tensor import Tensor
from pypto.ir.program import Storage


def _device_init() -> None:
    """Nothing to prepare: the device is this machine."""


def _device_fini() -> None:
    """Nothing to give back."""


def _device_synchronize() -> None:
    """Calls return when their results are there."""


def _device_run_once_data_from_host(*tensors: Any) -> None:
    """Run the last function on ``from_torch`` tensors, in the order of its tensors; results are written into them."""
    function = get_last_function()
    if function is None or function.program is None:
        raise NoFunctionRecorded()
    hosts = [_host(index, tensor) for index, tensor in enumerate(tensors)]
    parameters = [p for p in function.program.parameters if isinstance(p, Storage)]
    if len(hosts) != len(parameters):
        raise RunArgumentCount(name=function.raw_name, expected=len(parameters), got=len(hosts))
    for index, (parameter, host) in enumerate(zip(parameters, hosts, strict=True)):
        _check(function, index, parameter, host)
    _executable(function).run(hosts, [])


def _host(index: int, tensor: Any) -> HostTensor:
    if not isinstance(tensor, Tensor):
        raise RunArgument(index=index, got=type(tensor).__name__)
    if tensor.host is None or tensor.ori_shape is None:
        raise RunArgumentShape(index=index)
    return describe(tensor, "function", tensor.name, index)


def _check(function: Function, index: int, parameter: Storage, host: HostTensor) -> None:
    facts: dict[str, Any] = {"kernel": function.raw_name, "ordinal": ordinal(index + 1), "name": parameter.name}
    expected = parameter.type.shape
    same_rank = len(expected) == len(host.shape)
    for axis, size in enumerate(expected):
        if not same_rank or (isinstance(size, int) and size != host.shape[axis]):
            raise ShapeMismatch(got=list(host.shape), expected=[str(size) for size in expected], axis=axis, **facts)
    if host.dtype is not parameter.type.dtype:
        raise DtypeMismatch(got=host.dtype.name, expected=parameter.type.dtype.name, **facts)


def _executable(function: Function) -> Any:
    """Compiled once per set of options."""
    from pypto.compiler import compile_program
    from pypto.frontend.keys import option_key
    from pypto.options.scopes import current

    key = option_key(current())
    if key not in function.executables:
        function.executables[key] = compile_program(function.program)  # type: ignore[arg-type]
    return function.executables[key]
