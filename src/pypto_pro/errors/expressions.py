"""Mistakes in expressions: names, constants, operators, subscripts, slices."""

from __future__ import annotations

from pypto_pro.errors.base import (
    InvalidOperationError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)


class UnknownName(UndefinedVariableError):
    message = "Undefined variable '{name}'"
    help = "{nearest}"


class OtherSection(UndefinedVariableError):
    message = "Undefined variable '{name}': it is bound at line {line} in a {section} section, which this core does not run"
    help = "bind '{name}' outside the sections, or use it only inside {section} sections"


class ClosureType(ParserTypeError):
    message = "Unsupported closure variable type: {got} ('{name}')"
    help = "a kernel sees numbers, dtypes, enums, pl.TileType, functions, and tuples or lists of them"


class LiteralType(ParserTypeError):
    message = "a literal of type {got} has no meaning here"


class UnsupportedExpression(UnsupportedFeatureError):
    message = "Unsupported expression type: {kind}"
    help = "compute it outside the kernel and use the result, or write it with statements"


class UnsupportedOperator(UnsupportedFeatureError):
    message = "operator `{symbol}` is not supported on {left} and {right}"


class PowerAtRunTime(UnsupportedFeatureError):
    message = "`**` needs values that are known before anything runs"


class BitOperation(InvalidOperationError, TypeError):
    message = "{operation} needs an integer dtype, got {got}"


class ConstantArithmetic(InvalidOperationError):
    message = "`{symbol}` on constants: {reason}"


class ChainedComparison(ParserSyntaxError):
    message = "chained comparisons are not supported"
    help = "write `a < b and b < c`"


class EnumOrder(UnsupportedFeatureError):
    message = "Only == and != are supported between enum values, got `{symbol}`"


class NoneTestName(ParserSyntaxError):
    message = "`is None` is only supported on simple variable names"


class NoneTestType(ParserTypeError):
    message = "`is None` asks whether a pointer parameter is null; '{name}' is {got}"


class IsWithoutNone(ParserTypeError):
    message = "`is` compares with None only"
    help = "use == for numbers and enums"


class InContainer(ParserSyntaxError):
    message = "`in` needs a tuple or list of values, or pl.range(…), on its right"


class NotAScalar(ParserTypeError):
    message = "{what} must be a scalar, got {got}"


class TypesDiffer(ParserTypeError):
    message = "Type mismatch: '{name}' is {first} on one path and {second} on the other"
    help = "give '{name}' the same type on both paths, or use two names"


class TernaryValue(ParserTypeError):
    message = "Type mismatch: the branches of a conditional expression are {first} and {second}"


class TernaryIds(ParserTypeError):
    message = "the branches of a conditional expression carry {first} and {second} mutex ids"
    help = "both tiles need the same number of ids"


class ConstexprPlace(ParserSyntaxError):
    message = "pl.constexpr(…) is only allowed as the test of an if, elif or conditional expression"


class ConstexprCount(ParserSyntaxError):
    message = "pl.constexpr takes exactly 1 argument, got {count}"


class ConstexprRunTime(ParserSyntaxError):
    message = "the condition of pl.constexpr is not known before the kernel runs"


class UnknownAttribute(UnsupportedFeatureError):
    message = "unknown attribute '{name}' of {got}"


class NoStructField(ParserTypeError):
    message = "Struct has no field '{name}'; its fields: {known}"


class NoTupleField(ParserTypeError):
    message = "the tuple has no field '{name}'; its fields: {known}"


class NotSubscriptable(ParserTypeError):
    message = "Subscript requires tuple, tile, or tensor type, got {got}"


class MixedTuple(ParserTypeError):
    message = "a run-time index needs a tuple of one type, this one holds {first} and {second}"


class EmptyTuple(ParserTypeError):
    message = "an empty tuple cannot be indexed"


class TupleIndex(ParserTypeError):
    message = "tuple index {index} is out of range for {count} elements"


class TupleIndexType(ParserSyntaxError):
    message = "a tuple index must be an integer, got {got}"


class TupleIndices(ParserSyntaxError):
    message = "a tuple takes one index, got {count}"


class IndexCount(ParserTypeError):
    message = "{count} indices but container has rank {rank}"


class SingleIndex(ParserSyntaxError):
    message = "a single index requires 1D container, this one has rank {rank}"


class IndexType(ParserTypeError):
    message = "an index must be an integer scalar, got {got}"


class ShapeIndexConstant(ParserSyntaxError):
    message = "{what} index must be a compile-time integer"


class ShapeIndexRange(ParserTypeError):
    message = "{what} index {index} is out of range for rank {rank}"


class TensorSlice(ParserSyntaxError):
    message = "tensors cannot be sliced"
    help = "pl.load takes a window of a tensor by its offsets"


class SliceOneDimension(ParserSyntaxError):
    message = "1D tile slice is not supported"
    help = "write tile[row:row_end, column:column_end]"


class SliceMixed(ParserSyntaxError):
    message = "Tile subview: integer indices and slices cannot be mixed"


class SliceStep(ParserSyntaxError):
    message = "Tile subview: a slice has no step"


class SliceSpace(ParserSyntaxError):
    message = "Tile subview needs a Vec tile with ND or DN layout, got {space} {layout}"


class SliceStart(ParserSyntaxError):
    message = "Tile subview start {start} is beyond the {what} {extent} of axis {axis}"


class SliceOrder(ParserSyntaxError):
    message = "Tile subview {start}:{stop} of axis {axis} is empty"


class SliceBounds(ParserSyntaxError):
    message = "Tile subview of axis {axis} must be two integer scalars whose difference is a compile-time integer"


class StructIndices(ParserSyntaxError):
    message = "Multi-dimensional subscript is not supported on an array field"


class NotAnArrayField(ParserSyntaxError):
    message = "'{name}': field is not an array"


class FieldIndex(ParserSyntaxError):
    message = "index {index} is out of bounds for the field '{name}' of {length} elements"


class StructArrayIndex(ParserSyntaxError):
    message = "GetItemExpr index {index} out of bounds for a struct array of {count}"


class PointerOperator(UnsupportedFeatureError):
    message = "a pointer has only `+`, got `{symbol}`"


class PointerSubByte(ParserTypeError):
    message = "a pointer to the sub-byte type {dtype} cannot be moved"
    help = "reinterpret it first: pl.make_ptr(p, pl.DT_UINT8)"


class PointerExpected(ParserTypeError):
    message = "{call} requires a pl.Ptr, got {got}"


class PointerOffset(ParserTypeError):
    message = "{call} requires an integer offset, got {got}"


class TileOffset(ParserSyntaxError):
    message = "tile + offset is only supported inside vector functions"
    help = "take a sub-view: tile[row:row_end, column:column_end]"


class ScalarStorage(ParserTypeError):
    message = "Scalar type does not support dtype {dtype}: it can only be stored and moved"


class UseOfVoid(ParserTypeError):
    message = "{text} returns nothing that could be used"
