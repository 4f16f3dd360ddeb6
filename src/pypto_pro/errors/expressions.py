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
    help = "kernels compute with integers, floats and booleans; texts stand in pl.printf only"


class UnsupportedExpression(UnsupportedFeatureError):
    message = "Unsupported expression type: {kind}"
    help = "compute it outside the kernel and use the result, or write it with statements"


class UnsupportedOperator(UnsupportedFeatureError):
    message = "operator `{symbol}` is not supported on {left} and {right}"
    help = "tiles are computed by operations, for example pl.add(out, a, b); scalars have + - * / // % and comparisons"


class PowerAtRunTime(UnsupportedFeatureError):
    message = "`**` needs values that are known before anything runs"
    help = "multiply: x * x"


class BitOperation(InvalidOperationError, TypeError):
    message = "{operation} needs an integer dtype, got {got}"
    help = "convert first: int(x)"


class ConstantArithmetic(InvalidOperationError):
    message = "`{symbol}` on constants: {reason}"
    help = "change the constants; this is computed before anything runs"


class ChainedComparison(ParserSyntaxError):
    message = "chained comparisons are not supported"
    help = "write `a < b and b < c`"


class EnumOrder(UnsupportedFeatureError):
    message = "Only == and != are supported between enum values, got `{symbol}`"
    help = "compare with == or !="


class NoneTestName(ParserSyntaxError):
    message = "`is None` is only supported on simple variable names"
    help = "bind it to a name first, then `if name is None:`"


class NoneTestType(ParserTypeError):
    message = "`is None` asks whether a pointer parameter is null; '{name}' is {got}"
    help = "leave the test out: only pl.Ptr parameters may be null"


class IsWithoutNone(ParserTypeError):
    message = "`is` compares with None only"
    help = "use == for numbers and enums"


class InContainer(ParserSyntaxError):
    message = "`in` needs a tuple or list of values, or pl.range(…), on its right"
    help = "for example `if mode in (0, 2):`"


class NotAScalar(ParserTypeError):
    message = "{what} must be a scalar, got {got}"
    help = "read one element of a tile or tensor: pl.getval(tile, 0)"


class TypesDiffer(ParserTypeError):
    message = "Type mismatch: '{name}' is {first} on one path and {second} on the other"
    help = "give '{name}' the same type on both paths, or use two names"


class TernaryValue(ParserTypeError):
    message = "Type mismatch: the branches of a conditional expression are {first} and {second}"
    help = "give both branches one type, for example with int(x) or float(x)"


class TernaryIds(ParserTypeError):
    message = "the branches of a conditional expression carry {first} and {second} mutex ids"
    help = "both tiles need the same number of ids"


class ConstexprPlace(ParserSyntaxError):
    message = "pl.constexpr(…) is only allowed as the test of an if, elif or conditional expression"
    help = "write `if pl.constexpr(FLAG):`"


class ConstexprCount(ParserSyntaxError):
    message = "pl.constexpr takes exactly 1 argument, got {count}"
    help = "write `if pl.constexpr(FLAG):`; join conditions with `and`"


class ConstexprRunTime(ParserSyntaxError):
    message = "the condition of pl.constexpr is not known before the kernel runs"
    help = "leave pl.constexpr out for a condition of the run, or use module-level constants, tiling keys and STATIC axes"


class UnknownAttribute(UnsupportedFeatureError):
    message = "unknown attribute '{name}' of {got}"
    help = "tiles have shape, valid_shape and dtype, tensors have shape and dtype; structs have their fields"


class NoStructField(ParserTypeError):
    message = "Struct has no field '{name}'; its fields: {known}"
    help = "use one of these names, or add {name}=… where the struct is made"


class NoTupleField(ParserTypeError):
    message = "the tuple has no field '{name}'; its fields: {known}"
    help = "use one of these names, or add {name}=… where the tuple is made"


class NotSubscriptable(ParserTypeError):
    message = "Subscript requires tuple, tile, or tensor type, got {got}"
    help = "scalars and pointers hold one value: pl.getval(tile, 0) reads an element, pl.addptr(pointer, 1) moves a pointer"


class MixedTuple(ParserTypeError):
    message = "a run-time index needs a tuple of one type, this one holds {first} and {second}"
    help = "use a constant index, or keep values of one type in the tuple"


class EmptyTuple(ParserTypeError):
    message = "an empty tuple cannot be indexed"
    help = "put a value into the tuple, or test len() before"


class TupleIndex(ParserTypeError):
    message = "tuple index {index} is out of range for {count} elements"
    help = "count from 0: the index must be below {count}"


class TupleIndexType(ParserSyntaxError):
    message = "a tuple index must be an integer, got {got}"
    help = "write an integer or an integer scalar, for example int(x)"


class TupleIndices(ParserSyntaxError):
    message = "a tuple takes one index, got {count}"
    help = "index nested tuples one after the other: t[0][1]"


class IndexCount(ParserTypeError):
    message = "{count} indices but container has rank {rank}"
    help = "write one index per axis: {rank} here"


class SingleIndex(ParserSyntaxError):
    message = "a single index requires 1D container, this one has rank {rank}"
    help = "write one index per axis, for example x[row, column]"


class IndexType(ParserTypeError):
    message = "an index must be an integer scalar, got {got}"
    help = "write an integer or an integer scalar, for example int(x)"


class ShapeIndexConstant(ParserSyntaxError):
    message = "{what} index must be a compile-time integer"
    help = "write the axis as a number: x.shape[0]"


class ShapeIndexRange(ParserTypeError):
    message = "{what} index {index} is out of range for rank {rank}"
    help = "axes count from 0: the axis must be below {rank}"


class TensorSlice(ParserSyntaxError):
    message = "tensors cannot be sliced"
    help = "pl.load takes a window of a tensor by its offsets"


class SliceOneDimension(ParserSyntaxError):
    message = "1D tile slice is not supported"
    help = "write tile[row:row_end, column:column_end]"


class SliceMixed(ParserSyntaxError):
    message = "Tile subview: integer indices and slices cannot be mixed"
    help = "write a slice for every axis: tile[0:1, 0:64]"


class SliceStep(ParserSyntaxError):
    message = "Tile subview: a slice has no step"
    help = "write tile[start:stop, start:stop]; pl.gathermask takes every second or fourth column"


class SliceSpace(ParserSyntaxError):
    message = "Tile subview needs a Vec tile with ND or DN layout, got {space} {layout}"
    help = "move a part with offsets instead: pl.move(out, tile, [row, column])"


class SliceStart(ParserSyntaxError):
    message = "Tile subview start {start} is beyond the {what} {extent} of axis {axis}"
    help = "start inside the tile: below {extent}"


class SliceOrder(ParserSyntaxError):
    message = "Tile subview {start}:{stop} of axis {axis} is empty"
    help = "stop behind the start: {start}:stop"


class SliceBounds(ParserSyntaxError):
    message = "Tile subview of axis {axis} must be two integer scalars whose difference is a compile-time integer"
    help = "write the extent as a constant: tile[i : i + 16, 0:64]"


class StructIndices(ParserSyntaxError):
    message = "Multi-dimensional subscript is not supported on an array field"
    help = "use one index: s.field[i]"


class NotAnArrayField(ParserSyntaxError):
    message = "'{name}': field is not an array"
    help = "read it without an index, or make it a list where the struct is made: {name}=[0, 0, 0, 0]"


class FieldIndex(ParserSyntaxError):
    message = "index {index} is out of bounds for the field '{name}' of {length} elements"
    help = "count from 0: the index must be below {length}; or make the field longer where the struct is made"


class StructArrayIndex(ParserSyntaxError):
    message = "GetItemExpr index {index} out of bounds for a struct array of {count}"
    help = "count from 0: the index must be below {count}"


class PointerOperator(UnsupportedFeatureError):
    message = "a pointer has only `+`, got `{symbol}`"
    help = "write pointer + elements, or pl.addptr(pointer, elements)"


class PointerSubByte(ParserTypeError):
    message = "a pointer to the sub-byte type {dtype} cannot be moved"
    help = "reinterpret it first: pl.make_ptr(p, pl.DT_UINT8)"


class PointerExpected(ParserTypeError):
    message = "{call} requires a pl.Ptr, got {got}"
    help = "annotate the parameter as pl.Ptr[dtype], or make one with pl.make_ptr"


class PointerOffset(ParserTypeError):
    message = "{call} requires an integer offset, got {got}"
    help = "count in elements with an integer, for example int(x)"


class TileOffset(ParserSyntaxError):
    message = "tile + offset is only supported inside vector functions"
    help = "take a sub-view: tile[row:row_end, column:column_end]"


class ScalarStorage(ParserTypeError):
    message = "Scalar type does not support dtype {dtype}: it can only be stored and moved"
    help = "convert the tile first: pl.cast(converted, tile) into fp16 or fp32"


class UseOfVoid(ParserTypeError):
    message = "{text} returns nothing that could be used"
    help = "call it as a statement of its own; its result is in the tile that it writes"
