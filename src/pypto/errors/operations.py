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
    help = "make one of a number: pypto.full(shape, number, dtype)"


class NotAScalar(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): '{argument}' must be a tensor or a number, but got {kind}"
    help = "pass a tensor, an int, a float or a pypto.Element"


class ArgumentType(UserError, TypeError):
    code = 0xF00001
    message = "Argument '{argument}' must be of type {expected}, but got {kind} in {operation}()"
    help = "pass {argument}=... of type {expected}; see help(pypto.{operation})"


class UnknownExtendParameter(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): unknown key '{key}' in {argument}; known keys: {known}"
    help = '{argument}={{"bias_tensor": bias}}, for example'


class ElementData(UserError, ValueError):
    code = 0xF00002
    message = "Element data must be an int or a float, but got {kind}"
    help = "pypto.Element(dtype, 1.0)"


class TwoScalars(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): one of input and other should be Tensor"
    help = "Python computes with numbers alone; make one side a tensor: pypto.full(shape, number, dtype)"


class FloatScalarOnInteger(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): float scalar incompatible with integer tensor dtype {dtype}. Got {value}"
    help = "use an integer, or cast the tensor to a float type first: pypto.cast(x, pypto.DT_FP32)"


class IntegerScalarExpected(UserError, TypeError):
    code = 0xF00001
    message = "Scalar operand for {operation} must be an integer, but got {value}"
    help = "pass an int, for example int({value})"


class ScalarOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): {value} is outside the value range of {dtype}"
    help = "use a number that {dtype} holds, or convert the tensor first: pypto.cast(tensor, pypto.DT_INT32)"


class NegativeForUnsigned(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): negative value {value} cannot be held by the unsigned dtype {dtype}"
    help = "use a signed dtype, or a number from 0 on"


class ScalarNotFinite(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): {argument} must not be {value}."
    help = "pass a finite {argument}"


class NegativeSlope(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): negative_slope must be non-negative, but got {value}"
    help = "give the size of the slope: pypto.{operation}(x, abs({value})), or pypto.where(x < 0, x * {value}, x)"


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
    help = "pypto.Element(pypto.{first}, value), or the plain number"


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
    help = "go through DT_FP32: pypto.cast(pypto.cast(x, pypto.DT_FP32), dtype); `pypto ops` lists what there is"


class IndexDtype(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): index tensor must be of int32 or int64, but got {dtype}"
    help = "pypto.cast(index, pypto.DT_INT32)"


# -- ranks, shapes, axes ------------------------------------------------------------------------------------------------------


class RankOutOfRange(UserError, RuntimeError):
    code = 0xFC0002
    message = "The dims of tensor is out of range [{low}, {high}], actual dims: {got} for op: {operation}"
    help = "merge or split axes first: pypto.reshape(x, [rows, columns])"


class TargetRankOutOfRange(UserError, RuntimeError):
    code = 0xFC0002
    message = "The dims of dst shape is out of range [{low}, {high}], actual dims: {got} for op: {operation}"
    help = "merge or split axes of the shape, and reshape afterwards"


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
    help = "leave the operation out when there is nothing to compute; a valid_shape may be 0 at run time"


class SizeTooLarge(UserError, ValueError):
    code = 0xFC0000
    message = "the element count of {shape} must less than or equal to INT32_MAX(2,147,483,647 = 2147483647) for op: {operation}"
    help = "work on parts: pypto.view inside pypto.loop"


class AxisOutOfRange(UserError, IndexError):
    code = 0xFC0000
    message = (
        "Axis is not in the reasonable range! {operation}() got {axis} for a tensor of rank {rank}, allowed: {low} to {high}"
    )
    help = "use dim=-1 for the last axis"


class BadPermutation(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}(): {axes} does not name each axis of {rank} once"
    help = "for example pypto.permute(x, [0, 2, 1]) for three axes: every axis once"


class ShapeEntry(UserError, TypeError):
    code = 0xF00001
    message = "{operation}(): {argument} must be a list of integers, but got {got}"
    help = "a list of ints or symbolic scalars, for example {argument}=[4, 8]"


class NegativeSize(UserError, ValueError):
    code = 0xF00002
    message = "{operation}(): sizes must not be negative, but got {shape}"
    help = "give sizes from 0 on, for example pypto.max(size, 0)"


class LengthMismatch(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}(): {argument} has {got} entries, expected {expected}"
    help = "give {argument} one entry per axis: {expected}"


# -- valid shapes -------------------------------------------------------------------------------------------------------------


class ValidShapeTooLarge(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}(): valid_shape {valid} exceeds {limit} in axis {axis}"
    help = "valid_shape=[pypto.min(extent, size), ...]"


class ReshapePartial(UserError, ValueError):
    code = 0xFC0000
    message = "reshape(): valid part {valid} of {source} is no rectangle of {target}"
    help = "reshape before the view, or say what is valid with valid_shape=[...]"


class ConcatShapes(UserError, ValueError):
    code = 0xFC0000
    message = "concat(): shapes must be equal except at axis {axis}, got {first} and {second}"
    help = "cut or expand one of them first, for example pypto.expand_clone(x, shape)"


class ConcatCount(UserError, ValueError):
    code = 0xFC0003
    message = "concat(): needs 2 to 128 tensors, got {got}"
    help = "pypto.concat([a, b], dim); more than 128 in several steps"


class ConcatPartial(UserError, ValueError):
    code = 0xFC0000
    message = "concat(): tensor {position} is only valid up to {valid} of {shape}; the joined data would have a gap"
    help = "assemble the parts into a pypto.tensor(...) instead"


class ExpandShape(UserError, ValueError):
    code = 0xFC0000
    message = "expand_clone(): axis {axis} has size {got}, only axes of size 1 can be expanded to {expected}"
    help = "pypto.reshape or pypto.unsqueeze first, so that the axis has size 1"


# -- single operations --------------------------------------------------------------------------------------------------------


class ArangeArguments(UserError, ValueError):
    code = 0xF00002
    message = "arange() takes 1 to 3 positional numbers, got {got}"
    help = "pypto.arange(end), pypto.arange(start, end) or pypto.arange(start, end, step), with plain numbers"


class ArangeEmpty(UserError, ValueError):
    code = 0xFC0000
    message = "arange(): nothing between {start} and {end} in steps of {step}"
    help = "give a step that leads from start to end, for example pypto.arange(0, 8, 2)"


class FillRange(UserError, OverflowError):
    code = 0xFC0001
    message = "{operation}(): {value} does not fit in {dtype}"
    help = "use a number that {dtype} holds, or a wider dtype"


class SqueezeAxis(UserError, ValueError):
    code = 0xFC0000
    message = "squeeze(): axis {axis} has size {got}, not 1"
    help = "name axes of size 1 only, or reshape: pypto.reshape(x, shape)"


class ReinterpretSize(UserError, ValueError):
    code = 0xFC0000
    message = "view(): the last axis of {shape} ({source}) does not divide into elements of {target}"
    help = "view a last axis whose bytes are a multiple of the element's, or convert: pypto.cast(x, dtype)"


class TopKAxis(UserError, ValueError):
    code = 0xFC0000
    message = "TopK only support last axis, got dim {dim} for rank {rank}"
    help = "bring the axis to the end first: pypto.transpose(x, {dim}, -1)"


class TopKCount(UserError, ValueError):
    code = 0xFC0000
    message = "topk(): k must be between 1 and the size of the last axis, {size}, but got {k}"
    help = "pypto.topk(x, {size}) takes all of them"


class GatherShape(UserError, ValueError):
    code = 0xFC0000
    message = "gather(): index size {got} exceeds the input's {limit} in axis {axis}"
    help = "limit the index: pypto.view(index, shape, offsets), or use pypto.index_select for whole rows"


class ScatterUpdateDim(UserError, ValueError):
    code = 0xF00002
    message = "scatter_update(): dim must be -2, but got {dim}"
    help = "pypto.scatter_update(input, -2, index, src)"


class ScatterUpdateRank(UserError, ValueError):
    code = 0xF00002
    message = "scatter_update(): dim must be 2 or 4, but input has {got} axes"
    help = "reshape it: [rows, columns], or [blocks, rows, 1, columns]"


class ScatterUpdateShape(UserError, ValueError):
    code = 0xFC0000
    message = "scatter_update(): source {source} does not match index {index} and input {input}"
    help = "src has one row per entry of index: [b * s, columns] for index [b, s]"


class PowExponent(UserError, TypeError):
    code = 0xF00001
    message = "pow(): exponent must be a tensor, an int or a float, but got {kind}"
    help = "pypto.pow(x, 2), pypto.pow(x, 0.5) or pypto.pow(x, y)"


class PowIntegerBase(UserError, TypeError):
    code = 0xFC0001
    message = "Data type {dtype} is not in supported types for op: POW with a float exponent"
    help = "cast the base to DT_FP32 first"


# -- matrix multiplication (FC3000–FC5002 and the checks of section 9.9) ------------------------------------------------------


class MatmulRanks(UserError, RuntimeError):
    code = 0xF00003
    message = "Tensor dimension mismatch. matmul() needs two tensors of equal rank 2, 3 or 4, but got {first} and {second}"
    help = "give both the same rank: pypto.reshape, or pypto.unsqueeze(b, 0)"


class MatmulInner(UserError, RuntimeError):
    code = 0xF00003
    message = "K-dimension valid shape mismatch. matmul() multiplies {first} by {second}: {first_k} against {second_k}"
    help = "the last axis of the first and the second-last of the second must agree; see a_trans and b_trans"


class MatmulBatch(UserError, RuntimeError):
    code = 0xF00003
    message = "Tensor dimension mismatch. batch axes of matmul() must be equal or 1, got {first} and {second}"
    help = "pypto.expand_clone the smaller one, or give it a batch axis of size 1"


class MatmulInputDtypes(UserError, ValueError):
    code = 0xF00002
    message = "Non-FP8 inputs require identical dtypes. matmul() got {first} and {second}"
    help = "convert one: pypto.cast(b, a.dtype)"


class MatmulNzOutput(UserError, ValueError):
    code = 0xF00002
    message = "Output tensor do not support NZ currently."
    help = "leave c_matrix_nz out"


class MatmulDtypes(UserError, TypeError):
    code = 0xF00001
    message = "matmul() of {first} gives {supported}, not {out}"
    help = "ask for one of those and convert: pypto.cast(pypto.matmul(a, b, dtype), pypto.{out})"


class MatmulBias(UserError, RuntimeError):
    code = 0xFC3001
    message = "matmul(): bias_tensor {got} does not fit the result {expected}: {reason}"
    help = "reshape the bias to one row: pypto.reshape(bias, [1, columns])"


class MatmulScale(UserError, RuntimeError):
    code = 0xF00007
    message = "matmul() of {first} to {out} needs extend_params 'scale' or 'scale_tensor'"
    help = 'extend_params={{"scale": 0.5}}, or ask for DT_INT32 and convert with pypto.cast'


class MatmulScaleTensor(UserError, RuntimeError):
    code = 0xFC3001
    message = "matmul(): scale_tensor must be INT64 or UINT64 of shape [1, {columns}], got {dtype} {got}"
    help = 'pass one 64-bit word per column, or a plain number: extend_params={{"scale": 0.5}}'


class MatmulTransMode(UserError, RuntimeError):
    code = 0xF00003
    message = "trans_mode applies to DT_FP32 inputs only, matmul() got {first}"
    help = "leave trans_mode out, or pass DT_FP32 matrices"


class MatmulOperator(UserError, RuntimeError):
    code = 0xF00003
    message = "operator @ needs DT_FP16, DT_BF16, DT_FP32 or DT_INT8 on the right, got {dtype}"
    help = "pypto.matmul(a, b, out_dtype) says what it gives; convert others first: pypto.cast(x, pypto.DT_FP32)"
