"""Mistakes in decorators, launches and arguments (tile API sections 2.1 to 2.7)."""

from __future__ import annotations

from pypto.errors.base import UserError
from pypto_pro.errors.base import ParserSyntaxError


class LaunchTypeError(UserError, TypeError):
    code = 0xF00001


class LaunchValueError(UserError, ValueError):
    code = 0xF00002


class JitKeywords(LaunchTypeError):
    message = "jit() got unexpected keyword argument(s): {names}"
    help = "its parameters: arch, auto_mutex, name, pipeline, tiling_key, datatype, compile_timeout"


class JitArgument(LaunchTypeError):
    message = "jit(): '{name}' must be {expected}, got {got}"
    help = "write @pl.jit({name}=…) with {expected}, or leave it out"


class UnsupportedArch(LaunchValueError):
    message = "Unsupported arch '{got}'"
    help = "one of a2, a3, a5, the name of a chip (910B, 950) or the path of a chip file"


class LaunchArity(LaunchValueError):
    message = "Expected kernel[{expected}], got {got}"
    help = "for example kernel[None, 1](x, y)"


class NeedsSpecialisation(LaunchValueError):
    message = "kernel '{kernel}' has compile-time specialization and cannot be called directly"
    help = "launch it as {kernel}[{expected}](…)"


class BlockDim(LaunchValueError):
    message = "block_dim must be a positive integer, got {got}"
    help = "for example kernel[None, 1](x, y): one block"


class ArgumentCount(LaunchTypeError):
    message = "kernel '{kernel}': Expected {expected} args, got {got}"
    help = "pass the parameters in the order of the definition"


class ArgumentBinding(LaunchTypeError):
    message = "kernel '{kernel}': {reason}"
    help = "pass the parameters in the order of the definition"


class TensorArgument(LaunchTypeError):
    message = "Tensor parameter '{name}' of kernel '{kernel}' must be a tensor or None, got {got}"
    help = "pass a numpy array or a torch tensor"


class TensorDtype(LaunchTypeError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': dtype mismatch: expected {expected}, got {got}"
    help = "convert the argument, or annotate '{name}' with its dtype"


class TensorRank(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': rank mismatch: expected {expected}, got {got}"
    help = "reshape the argument, or annotate '{name}' with {got} axes"


class TensorAxis(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': axis {axis} mismatch: expected {expected}, got {got}"
    help = "pass a tensor of that extent, or annotate the axis with pl.DYNAMIC"


class TensorAxisPositive(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': axis {axis} must be positive, got {got}"
    help = "do not launch for empty tensors"


class ShapesMissing(LaunchValueError):
    message = "static_shapes of parameter(s) {names} are needed: their annotation has STATIC axes"
    help = "pass static_shapes={{name: [rows, columns]}} for each of them"


class ShapesUnknown(LaunchValueError):
    message = "static_shapes names unknown parameter(s) {names}"
    help = "use the names of the kernel's tensor parameters"


class ShapesMapping(LaunchTypeError):
    message = "static_shapes must be a mapping from parameter names to shapes, got {got}"
    help = 'for example static_shapes={{"x": [64, 128]}}'


class StaticOfNone(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}' is None, but axis {axis} is STATIC"
    help = "pass a tensor, or annotate the axis with a number or pl.DYNAMIC"


class PointerArgument(LaunchTypeError):
    message = "pointer parameter '{name}' of kernel '{kernel}' takes a tensor or None, got {got}"
    help = "pass a numpy array or a torch tensor whose first element it points to"


class ScalarArgument(LaunchTypeError):
    message = "scalar parameter '{name}' of kernel '{kernel}': {dtype} takes {expected}, got {got}"
    help = "convert it before the launch: int(x) or float(x)"


class ScalarRange(LaunchValueError):
    message = "scalar parameter '{name}' of kernel '{kernel}': {got} does not fit into {dtype}"
    help = "annotate '{name}' with a wider type, for example pl.DT_INT64"


class HalfScalar(LaunchTypeError):
    message = "scalar parameter '{name}' of kernel '{kernel}': FP16/BF16 scalars are not supported"
    help = "declare it pl.DT_FP32"


class DatatypeDict(LaunchValueError):
    message = "datatype must be a non-empty dict from parameter names to symbol names, got {got}"
    help = 'for example datatype={{"x": "T"}}'


class DatatypeName(LaunchValueError):
    message = "datatype: {got!r} is not the name of {what}"
    help = 'for example datatype={{"x": "T"}}'


class DatatypeUnknown(LaunchValueError):
    message = "datatype names unknown parameter(s) {names} of kernel '{kernel}'"
    help = "use the names of the kernel's parameters"


class DatatypeClash(LaunchValueError):
    message = "datatype symbol '{name}' has the name of a {what}"
    help = "choose another name for the symbol"


class DatatypeKeys(LaunchValueError):
    message = "the datatype dict of the launch must have exactly the keys {expected}, got {got}"
    help = "pass one dtype for each of these names"


class DatatypeValue(LaunchTypeError):
    message = "datatype of '{name}' must be a DataType, got {got}"
    help = "for example pl.DT_FP16"


class DatatypeDisagree(LaunchValueError):
    message = "datatype: '{first}' and '{second}' share the symbol '{symbol}' but disagree: {one} and {other}"
    help = "pass one dtype for both, or give them two symbols"


class LaunchDict(LaunchTypeError):
    message = "the {what} of a launch must be a dict, got {got}"
    help = "pass a dict from names to values"


class NotAKernelFunction(LaunchTypeError):
    message = "{what} takes a function, got {got}"
    help = "write @pl.jit() above def"


class NoArrayMemory(LaunchTypeError):
    message = "tensor parameter '{name}' of kernel '{kernel}': {got} cannot be read as {expected}"
    help = "pass a contiguous numpy array or CPU tensor of that type"


class ReadBeforeBound(UserError, UnboundLocalError):
    code = 0xF00004
    message = "'{name}' is read before any path has bound it"
    help = "bind '{name}' before the branch or loop that binds it now"


class SimulateOption(LaunchValueError):
    message = "pl.simulate: '{name}' must be {expected}, got {got}"
    help = "write pl.simulate({name}=…) with {expected}, or leave it out"


class ProgramEmpty(ParserSyntaxError):
    message = "program class '{name}' has no method decorated with pl.function"
    help = "write @pl.function above at least one method"


class ProgramNotAClass(LaunchTypeError):
    message = "pl.program decorates a class, got {got}"
    help = "write @pl.program above class; @pl.jit() and @pl.function are for functions"


class NothingFound(LaunchValueError):
    message = "No @pl.function or @pl.program found in {where}"
    help = "decorate the entry with @pl.function or @pl.program"


class SeveralFound(LaunchValueError):
    message = "{where} defines several {what}: {names}"
    help = "keep one per text"


class WrongKind(LaunchValueError):
    message = "{where} defines a {found}, not a {expected}"
    help = "load it as a {found}, or decorate it as a {expected}"


class TextSyntax(UserError, SyntaxError):
    code = 0xF00002
    message = "Failed to compile code of {where}: {reason}"
    help = "compile the text with Python first; it must be a whole module"

    @property
    def msg(self) -> str:  # type: ignore[override]
        return str(self)


class TextFailed(UserError, RuntimeError):
    code = 0xF00003
    message = "the code of {where} failed: {reason}"
    help = "run the text with Python first; it must import what it uses"
