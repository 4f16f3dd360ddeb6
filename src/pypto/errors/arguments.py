"""Mistakes in declaring and calling kernels (texts of tensor API sections 6.3 and 11)."""

from __future__ import annotations

from pypto.errors.base import PyptoRtError, UserError


class NotAFunction(UserError, TypeError):
    code = 0xF00001
    message = "pypto.frontend.jit decorates a plain Python function, got {got}"
    help = "write @pypto.frontend.jit above `def kernel(...)`"


class UnknownJitOption(UserError, TypeError):
    code = 0xF00001
    message = "pypto.frontend.jit has no argument '{name}'"
    help = "known: {known}"


class InvalidRunMode(UserError, RuntimeError):
    code = 0xF00003
    message = "Invalid run mode, run mode must be RunMode.NPU or RunMode.SIM."
    help = 'runtime_options={{"run_mode": pypto.RunMode.SIM}}, or leave it out'


class TensorAfterConstant(UserError, ValueError):
    code = 0xF00002
    message = "tensor parameter '{name}' of kernel '{kernel}' stands after the non-tensor parameter '{before}'"
    help = "tensors come first"


class TensorShape(UserError, ValueError):
    code = 0xF00002
    message = "Tensor(...): {problem}"
    help = "a shape is a list of ints, symbolic scalars, pypto.DYNAMIC, pypto.STATIC and a last `...`"


class TooFewTensors(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': Expected at least {expected} tensor argument(s), got {got}."
    help = "its tensor parameters are {names}; results are written into them, so outputs are passed too"


class MissingArgument(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': Missing required non-tensor argument '{name}'."
    help = "pass it by name: {kernel}(..., {name}=value), or give the parameter a default"


class TensorForConstant(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': Non-tensor parameter '{name}' must not be a torch.Tensor (or another array)"
    help = "annotate it with pypto.Tensor([...], dtype), or pass a number"


class TooManyArguments(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': Too many positional arguments: it takes {expected}, got {got}"
    help = "the parameters are those of `def {kernel}(...)`, in that order"


class UnknownKeywords(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': Unknown keyword argument(s): {names}"
    help = "its parameters are {known}"


class RepeatedArgument(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': argument '{name}' is given twice, by position and by keyword"
    help = "drop one of the two, for example: {kernel}(..., {name}=value)"


class NotATensorArgument(UserError, TypeError):
    code = 0xF00001
    message = "kernel '{kernel}': Input {index} '{name}' must be a torch.Tensor (or a numpy or DLPack array), got {got}"
    help = "torch.tensor(values) and np.array(values) make one of a list"


class TensorInContainer(UserError, TypeError):
    code = 0xF00001
    message = "kernel '{kernel}': '{name}' holds a tensor inside a {container}"
    help = "pass every tensor as an argument of its own"


class DistributedTensor(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': Input '{name}' must not be a DTensor"
    help = "pass the local part: {name}.to_local()"


class NotContiguous(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': not all tensors are contiguous: '{name}' has shape {shape} and strides {strides}"
    help = "pass {name}.contiguous() (for numpy: np.ascontiguousarray({name})), and copy a result back if it is an output"


class RequiresGrad(UserError, RuntimeError):
    code = 0xF00003
    message = "kernel '{kernel}': '{name}' has requires_grad=True, and a kernel records no gradient"
    help = "call it under torch.no_grad(), pass {name}.detach(), or wrap the kernel in a torch.autograd.Function"


class WrongLayout(UserError, TypeError):
    code = 0xF00001
    message = "kernel '{kernel}': '{name}' is {got}; only dense tensors in host memory can be passed"
    help = "{advice}"


class ReadOnlyOutput(UserError, ValueError):
    code = 0xF00002
    message = "kernel '{kernel}': '{name}' is written by the kernel but read-only"
    help = "pass a writable array"


class UnknownElementType(UserError, TypeError):
    code = 0xF00001
    message = "kernel '{kernel}': the dtype {got} of '{name}' has no counterpart in pypto"
    help = "{advice}"


class RankMismatch(UserError, ValueError):
    code = 0xF00002
    message = (
        "kernel '{kernel}': The number of dimensions of {ordinal} input tensor '{name}' ({got}) does not match "
        "the number in its definition ({expected})"
    )
    help = "reshape the argument to {expected} axes, or leave the rank open: {name}: pypto.Tensor([...], dtype)"


class ShapeMismatch(UserError, ValueError):
    code = 0xF00002
    message = (
        "kernel '{kernel}': The shape of {ordinal} input tensor '{name}' {got} does not match the shape of input tensor definition "
        "{expected} (axis {axis})"
    )
    help = "pass a tensor of that shape, or let the axis vary: pypto.DYNAMIC in place of its size in the annotation of '{name}'"


class DynamicSizesDiffer(UserError, ValueError):
    code = 0xF00002
    message = "kernel '{kernel}': axis '{axis}' is {first} in '{one}' and {second} in '{other}'"
    help = "axes declared with the same pypto.frontend.dynamic name have one size"


class DtypeMismatch(UserError, ValueError):
    code = 0xF00002
    message = (
        "kernel '{kernel}': The dtype of {ordinal} input tensor '{name}' ({got}) does not match "
        "the dtype of its definition ({expected})"
    )
    help = "convert the argument, or change the annotation"


class OverlappingArguments(UserError, ValueError):
    code = 0xF00002
    message = "kernel '{kernel}': '{one}' and '{other}' overlap in memory, and '{written}' is written"
    help = "pass tensors that do not share memory, or the very same tensor twice"


class WrongScalar(UserError, TypeError):
    code = 0xF00001
    message = "kernel '{kernel}': run-time scalar '{name}' must be an int (64 bits) or a float, got {got}"
    help = "pass a plain number, for example int(value); for other things leave the annotation of '{name}' out"


class FromTorchType(UserError, TypeError):
    code = 0xF00001
    message = "from_torch(): input type {got} is not supported, a torch.Tensor is expected"
    help = "pypto.from_torch(torch.tensor(values)); kernels take numpy arrays as they are"


class FromTorchContiguous(UserError, RuntimeError):
    code = 0xF00003
    message = "from_torch(): not all tensors are contiguous"
    help = "pass tensor.contiguous()"


class FromTorchDtype(UserError, ValueError):
    code = 0xF00002
    message = "from_torch(): the dtype {got} has no counterpart in pypto"
    help = "convert it first, for example tensor.float() or tensor.to(torch.bfloat16)"


class RunArgument(UserError, PyptoRtError, TypeError):
    code = 0xF00001
    message = "_device_run_once_data_from_host(): argument {index} must be a Tensor made by pypto.from_torch, got {got}"
    help = "wrap it: pypto.from_torch(tensor)"


class RunArgumentShape(UserError, PyptoRtError, RuntimeError):
    code = 0xF00003
    message = "_device_run_once_data_from_host(): argument {index} has no host memory behind it"
    help = "make it with pypto.from_torch(tensor) from a tensor with at least one axis"


class RunArgumentCount(UserError, PyptoRtError, RuntimeError):
    code = 0xF00003
    message = "_device_run_once_data_from_host(): the function '{name}' has {expected} tensor(s), got {got}"
    help = 'pass one tensor per argument of `with pypto.function("{name}", ...)`, in that order'
