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


class UnsupportedArch(LaunchValueError):
    message = "Unsupported arch '{got}'"
    help = "one of a2, a3, a5, the name of a chip (910B, 950) or the path of a chip file"


class LaunchArity(LaunchValueError):
    message = "Expected kernel[{expected}], got {got}"


class NeedsSpecialisation(LaunchValueError):
    message = "kernel '{kernel}' has compile-time specialization and cannot be called directly"
    help = "launch it as {kernel}[{expected}](…)"


class BlockDim(LaunchValueError):
    message = "block_dim must be a positive integer, got {got}"


class ArgumentCount(LaunchTypeError):
    message = "kernel '{kernel}': Expected {expected} args, got {got}"


class ArgumentBinding(LaunchTypeError):
    message = "kernel '{kernel}': {reason}"


class TensorArgument(LaunchTypeError):
    message = "Tensor parameter '{name}' of kernel '{kernel}' must be a tensor or None, got {got}"


class TensorDtype(LaunchTypeError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': dtype mismatch: expected {expected}, got {got}"


class TensorRank(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': rank mismatch: expected {expected}, got {got}"


class TensorAxis(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': axis {axis} mismatch: expected {expected}, got {got}"


class TensorAxisPositive(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}': axis {axis} must be positive, got {got}"


class ShapesMissing(LaunchValueError):
    message = "static_shapes of parameter(s) {names} are needed: their annotation has STATIC axes"


class ShapesUnknown(LaunchValueError):
    message = "static_shapes names unknown parameter(s) {names}"


class ShapesMapping(LaunchTypeError):
    message = "static_shapes must be a mapping from parameter names to shapes, got {got}"


class StaticOfNone(LaunchValueError):
    message = "Tensor parameter '{name}' of kernel '{kernel}' is None, but axis {axis} is STATIC"


class PointerArgument(LaunchTypeError):
    message = "pointer parameter '{name}' of kernel '{kernel}' takes a tensor or None, got {got}"


class ScalarArgument(LaunchTypeError):
    message = "scalar parameter '{name}' of kernel '{kernel}': {dtype} takes {expected}, got {got}"


class ScalarRange(LaunchValueError):
    message = "scalar parameter '{name}' of kernel '{kernel}': {got} does not fit into {dtype}"


class HalfScalar(LaunchTypeError):
    message = "scalar parameter '{name}' of kernel '{kernel}': FP16/BF16 scalars are not supported"
    help = "declare it pl.DT_FP32"


class DatatypeDict(LaunchValueError):
    message = "datatype must be a non-empty dict from parameter names to symbol names, got {got}"


class DatatypeName(LaunchValueError):
    message = "datatype: {got!r} is not the name of {what}"


class DatatypeUnknown(LaunchValueError):
    message = "datatype names unknown parameter(s) {names} of kernel '{kernel}'"


class DatatypeClash(LaunchValueError):
    message = "datatype symbol '{name}' has the name of a {what}"


class DatatypeKeys(LaunchValueError):
    message = "the datatype dict of the launch must have exactly the keys {expected}, got {got}"


class DatatypeValue(LaunchTypeError):
    message = "datatype of '{name}' must be a DataType, got {got}"


class DatatypeDisagree(LaunchValueError):
    message = "datatype: '{first}' and '{second}' share the symbol '{symbol}' but disagree: {one} and {other}"


class LaunchDict(LaunchTypeError):
    message = "the {what} of a launch must be a dict, got {got}"


class NotAKernelFunction(LaunchTypeError):
    message = "{what} takes a function, got {got}"


class NoArrayMemory(LaunchTypeError):
    message = "tensor parameter '{name}' of kernel '{kernel}': {got} cannot be read as {expected}"


class ReadBeforeBound(UserError, UnboundLocalError):
    code = 0xF00004
    message = "'{name}' is read before any path has bound it"
    help = "bind '{name}' before the branch or loop that binds it now"


class SimulateOption(LaunchValueError):
    message = "pl.simulate: '{name}' must be {expected}, got {got}"


class ProgramEmpty(ParserSyntaxError):
    message = "program class '{name}' has no method decorated with pl.function"


class ProgramNotAClass(LaunchTypeError):
    message = "pl.program decorates a class, got {got}"


class NothingFound(LaunchValueError):
    message = "No @pl.function or @pl.program found in {where}"


class SeveralFound(LaunchValueError):
    message = "{where} defines several {what}: {names}"
    help = "keep one per text"


class WrongKind(LaunchValueError):
    message = "{where} defines a {found}, not a {expected}"


class TextSyntax(UserError, SyntaxError):
    code = 0xF00002
    message = "Failed to compile code of {where}: {reason}"

    @property
    def msg(self) -> str:  # type: ignore[override]
        return str(self)


class TextFailed(UserError, RuntimeError):
    code = 0xF00003
    message = "the code of {where} failed: {reason}"
