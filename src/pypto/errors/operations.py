"""Mistakes in calling an operation: types, shapes, axes, valid shapes (codes FC…, F0… of tensor API section 3.3)."""

from __future__ import annotations

from pypto.errors.base import UserError


class OutsideKernel(UserError, RuntimeError):
    code = 0xF00003
    message = "operations can only be called inside a kernel"
    help = "decorate the function with @pypto.frontend.jit, or open a block with pypto.function(...)"


# -- arguments that are of the wrong kind -------------------------------------------------------------------------------------


class NotATensor(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): '{argument}' must be a tensor, but got {kind}"


class NotAScalar(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): '{argument}' must be a tensor or a number, but got {kind}"


class ArgumentType(UserError, TypeError):
    code = 0xF00001
    message = "Argument '{argument}' must be of type {expected}, but got {kind} in {operation}()"


class UnknownExtendParameter(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): unknown key '{key}' in {argument}; known keys: {known}"


class ElementData(UserError, ValueError):
    code = 0xF00002
    message = "Element data must be an int or a float, but got {kind}"


class TwoScalars(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): one of input and other should be Tensor"


class FloatScalarOnInteger(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): float scalar incompatible with integer tensor dtype {dtype}. Got {value}"
    help = "use an integer, or cast the tensor to a float type first: pypto.cast(x, pypto.DT_FP32)"


class IntegerScalarExpected(UserError, TypeError):
    code = 0xF00001
    message = "Scalar operand for {operation} must be an integer, but got {value}"


class ScalarOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): {value} is outside the value range of {dtype}"


class NegativeForUnsigned(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): negative value {value} cannot be held by the unsigned dtype {dtype}"


class ScalarNotFinite(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): {argument} must not be {value}."


class NegativeSlope(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): negative_slope must be non-negative, but got {value}"


# -- element types ------------------------------------------------------------------------------------------------------------


class DtypeUnsupported(UserError, TypeError):
    code = 0xFC0001
    message = "Data type {dtype} is not in supported types for op: {operation}"
    help = "supported are {supported}; convert with pypto.cast(...)"


class DtypesDiffer(UserError, TypeError):
    code = 0xFC0001
    message = "Tensor data type inconsistent, tensor1 dtype: {first}, tensor2 dtype: {second} for op: {operation}"
    help = "convert one of them, for example with pypto.cast(x, pypto.DataType.{first_name})"


class ElementDtypeDiffers(UserError, TypeError):
    code = 0xFC0001
    message = "Tensor and Element data type inconsistent, tensor dtype: {first}, element dtype: {second} for op: {operation}"


class SelectDtypesDiffer(UserError, TypeError):
    code = 0xF00002
    message = "where(): data type inconsistent, input is {first}, other is {second}"
    help = "wrap the number in the tensor's type: pypto.Element(pypto.DataType.{hint}, value)"


class ConditionNotBool(UserError, TypeError):
    code = 0xF00002
    message = "{operation}(): the condition must be a DT_BOOL tensor, but got {dtype}"
    help = "compare first, for example condition != 0"


class CastUnsupported(UserError, TypeError):
    code = 0xFC0001
    message = "this architecture does not support cast from {source} to {target} in CAST"


class IndexDtype(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): index tensor must be of int32 or int64, but got {dtype}"


# -- ranks, shapes, axes ------------------------------------------------------------------------------------------------------


class RankOutOfRange(UserError, RuntimeError):
    code = 0xFC0002
    message = "The dims of tensor is out of range [{low}, {high}], actual dims: {got} for op: {operation}"


class TargetRankOutOfRange(UserError, RuntimeError):
    code = 0xFC0002
    message = "The dims of dst shape is out of range [{low}, {high}], actual dims: {got} for op: {operation}"


class RanksDiffer(UserError, RuntimeError):
    code = 0xFC0002
    message = "Tensor dim inconsistent, tensor[0] dim: {first}, tensor[1] dim: {second} for op: {operation}"
    help = "give the smaller one leading axes of size 1, for example with pypto.unsqueeze(x, 0)"


class NotBroadcastable(UserError, ValueError):
    code = 0xFC0000
    message = "Tensor shape must be consistent or broadcast compatible, got {first} and {second} for op: {operation}"
    help = "axes are aligned from the right; two sizes must be equal or one of them 1"


class EmptyAxis(UserError, ValueError):
    code = 0xFC0000
    message = "Empty tensor is not supported for op: {operation}, dimension[{axis}] has shape value 0."


class SizeTooLarge(UserError, ValueError):
    code = 0xFC0000
    message = "the element count of {shape} must less than or equal to INT32_MAX(2,147,483,647 = 2147483647) for op: {operation}"
    help = "work on parts: pypto.view inside pypto.loop"


class AxisOutOfRange(UserError, IndexError):
    code = 0xFC0000
    message = (
        "Axis is not in the reasonable range! {operation}() got {axis} for a tensor of rank {rank}, allowed: {low} to {high}"
    )


class BadPermutation(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}(): {axes} does not name each axis of {rank} once"


class ShapeEntry(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): {argument} must be a list of integers, but got {got}"


class NegativeSize(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): sizes must not be negative, but got {shape}"


class LengthMismatch(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}(): {argument} has {got} entries, expected {expected}"


# -- valid shapes -------------------------------------------------------------------------------------------------------------


class ValidShapeTooLarge(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}(): valid_shape {valid} exceeds {limit} in axis {axis}"


class ReshapePartial(UserError, ValueError):
    code = 0xFC0000
    message = "reshape(): valid part {valid} of {source} is no rectangle of {target}"
    help = "reshape before the view, or say what is valid with valid_shape=[...]"


class ConcatShapes(UserError, ValueError):
    code = 0xFC0000
    message = "concat(): shapes must be equal except at axis {axis}, got {first} and {second}"


class ConcatCount(UserError, ValueError):
    code = 0xFC0003
    message = "concat(): needs 2 to 128 tensors, got {got}"


class ConcatPartial(UserError, ValueError):
    code = 0xFC0000
    message = "concat(): tensor {position} is only valid up to {valid} of {shape}; the joined data would have a gap"
    help = "assemble the parts into a pypto.tensor(...) instead"


class ExpandShape(UserError, ValueError):
    code = 0xFC0000
    message = "expand_clone(): axis {axis} has size {got}, only axes of size 1 can be expanded to {expected}"


# -- single operations --------------------------------------------------------------------------------------------------------


class ArangeArguments(UserError, ValueError):
    code = 0xF00002
    message = "arange() takes 1 to 3 positional numbers, got {got}"


class ArangeEmpty(UserError, ValueError):
    code = 0xFC0000
    message = "arange(): nothing between {start} and {end} in steps of {step}"


class FillRange(UserError, OverflowError):
    code = 0xFC0001
    message = "{operation}(): {value} does not fit in {dtype}"


class SqueezeAxis(UserError, ValueError):
    code = 0xFC0000
    message = "squeeze(): axis {axis} has size {got}, not 1"


class ReinterpretSize(UserError, ValueError):
    code = 0xFC0000
    message = "view(): the last axis of {shape} ({source}) does not divide into elements of {target}"


class TopKAxis(UserError, ValueError):
    code = 0xFC0000
    message = "TopK only support last axis, got dim {dim} for rank {rank}"


class TopKCount(UserError, ValueError):
    code = 0xFC0000
    message = "topk(): k must be between 1 and the size of the last axis, {size}, but got {k}"


class GatherShape(UserError, ValueError):
    code = 0xFC0000
    message = "gather(): index size {got} exceeds the input's {limit} in axis {axis}"


class ScatterUpdateDim(UserError, ValueError):
    code = 0xF00002
    message = "scatter_update(): dim must be -2, but got {dim}"


class ScatterUpdateRank(UserError, ValueError):
    code = 0xF00002
    message = "scatter_update(): dim must be 2 or 4, but input has {got} axes"


class ScatterUpdateShape(UserError, ValueError):
    code = 0xFC0000
    message = "scatter_update(): source {source} does not match index {index} and input {input}"


class PowExponent(UserError, TypeError):
    code = 0xF00001
    message = "pow(): exponent must be a tensor, an int or a float, but got {kind}"


class PowIntegerBase(UserError, TypeError):
    code = 0xFC0001
    message = "Data type {dtype} is not in supported types for op: POW with a float exponent"
    help = "cast the base to DT_FP32 first"


# -- matrix multiplication (FC3000–FC5002 and the checks of section 9.9) ------------------------------------------------------


class MatmulRanks(UserError, RuntimeError):
    code = 0xF00003
    message = "Tensor dimension mismatch. matmul() needs two tensors of equal rank 2, 3 or 4, but got {first} and {second}"


class MatmulInner(UserError, RuntimeError):
    code = 0xF00003
    message = "K-dimension valid shape mismatch. matmul() multiplies {first} by {second}: {first_k} against {second_k}"
    help = "the last axis of the first and the second-last of the second must agree; see a_trans and b_trans"


class MatmulBatch(UserError, RuntimeError):
    code = 0xF00003
    message = "Tensor dimension mismatch. batch axes of matmul() must be equal or 1, got {first} and {second}"


class MatmulInputDtypes(UserError, ValueError):
    code = 0xF00002
    message = "Non-FP8 inputs require identical dtypes. matmul() got {first} and {second}"


class MatmulNzOutput(UserError, ValueError):
    code = 0xF00002
    message = "Output tensor do not support NZ currently."


class MatmulDtypes(UserError, TypeError):
    code = 0xF00001
    message = "matmul() of {first} gives {supported}, not {out}"


class MatmulBias(UserError, RuntimeError):
    code = 0xFC3001
    message = "matmul(): bias_tensor {got} does not fit the result {expected}: {reason}"


class MatmulScale(UserError, RuntimeError):
    code = 0xF00007
    message = "matmul() of {first} to {out} needs extend_params 'scale' or 'scale_tensor'"


class MatmulScaleTensor(UserError, RuntimeError):
    code = 0xFC3001
    message = "matmul(): scale_tensor must be INT64 or UINT64 of shape [1, {columns}], got {dtype} {got}"


class MatmulTransMode(UserError, RuntimeError):
    code = 0xF00003
    message = "trans_mode applies to DT_FP32 inputs only, matmul() got {first}"


class MatmulOperator(UserError, RuntimeError):
    code = 0xF00003
    message = "operator @ needs DT_FP16, DT_BF16, DT_FP32 or DT_INT8 on the right, got {dtype}"
