"""Mistakes in calls: unknown callees, arguments, helpers, structs and tuples, language functions."""

from __future__ import annotations

from pypto_pro.errors.base import (
    FinalRejectionError,
    InvalidOperationError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)


class UnknownCallee(UnsupportedFeatureError):
    message = "a kernel cannot call {got}"
    help = "kernels call pl operations, plain Python functions with source, and methods of tile groups"


class UnknownOperation(UnsupportedFeatureError):
    message = "pl.{name} is not an operation of the tile language{nearest}"


class SourceMissing(UnsupportedFeatureError):
    message = "the source of helper '{name}' cannot be read: {reason}"


class NoMethod(UndefinedVariableError):
    message = "method '{name}' is not defined in program class '{owner}'"


class StarArguments(ParserSyntaxError):
    message = "{call}: star arguments are not supported"


class TooManyArguments(ParserTypeError):
    message = "{call} takes at most {most} arguments, got {got}"


class UnexpectedKeyword(ParserTypeError):
    message = "{call} got an unexpected keyword argument '{name}'"


class ArgumentTwice(ParserTypeError):
    message = "{call} got multiple values for argument '{name}'"


class MissingArgument(ParserTypeError):
    message = "{call} is missing a required argument: '{name}'"


class MissingKeyword(ParserSyntaxError):
    message = "{call} is missing required keyword '{name}'"


class MethodNotCalled(ParserTypeError):
    message = "{text} is a method, not a tile"
    help = "call it: {text}()"


class ArgumentKind(ParserTypeError):
    message = "{call}: '{name}' must be {expected}, got {got}"


class EnumExpected(FinalRejectionError):
    message = "{call}: '{name}' expects an enum value of pl.{enum}, got {got}"


class EnumInvalid(FinalRejectionError):
    message = "{call}: '{name}' is invalid: expected a member of pl.{enum}, got {got}"


class ConstantExpected(FinalRejectionError):
    message = "{call}: '{name}' must be known before the kernel runs, got {got}"


class IntegerListExpected(FinalRejectionError):
    message = "{call}: '{name}' must be a compile-time integer list, got {got}"


class DtypeArgument(FinalRejectionError):
    message = "{call}: dtype must be a dtype (pl.DT_…), got {got}"


class CheckFailed(ParserSyntaxError):
    """A row of the table of operations refused a call; the text is the row's."""

    message = "Failed to parse kernel function '{kernel}': {error}: {text}"


# -- helpers -------------------------------------------------------------------------------------------------------------------


class HelperKeywords(ParserSyntaxError):
    message = "helper '{name}' is called with positional arguments only"


class HelperParameters(ParserSyntaxError):
    message = "helper '{name}' may have positional parameters with defaults only, not {what}"


class RecursiveHelper(ParserSyntaxError):
    message = "Recursive helper '{name}': Recursive inline function call"
    help = "write it as a loop"


class HelperCount(ParserTypeError):
    message = "helper '{name}' takes {expected} arguments, got {got}"


class HelperPolicy(ParserTypeError):
    message = "helper '{name}', parameter '{parameter}': {what} is {expected} in the annotation, got {got}"


class ReturnAnnotated(ParserTypeError):
    message = "Return '{name}' annotated as {expected}, got {got}"


# -- structs and tuples -----------------------------------------------------------------------------------------------------------


class RecordPositional(ParserSyntaxError):
    message = "pl.{call}: {reason}"


class RecordName(ParserSyntaxError):
    message = "pl.{call}: the name must be a string literal that is an identifier, got {got}"


class RecordEmpty(ParserSyntaxError):
    message = "pl.{call} needs at least one field"


class RecordStars(ParserSyntaxError):
    message = "pl.{call}: ** is not supported, write the fields out"


class RecordField(ParserTypeError):
    message = "pl.{call}: field '{name}' must be a scalar or a list of scalars of one type, got {got}"


class StructArraySize(ParserSyntaxError):
    message = "pl.struct_array: the size must be a positive integer known before the kernel runs, got {got}"


class StructInBranch(ParserSyntaxError):
    message = "pl.{call} cannot be created inside a run-time if"
    help = "create it before and set its fields in the branch"


# -- functions of the language ---------------------------------------------------------------------------------------------------


class ConstArguments(ParserSyntaxError):
    message = "pl.const takes exactly two arguments, a literal number and a dtype; {reason}"


class MinMaxArguments(InvalidOperationError):
    message = "pl.{call} takes exactly two scalars and no keywords, got {got}"


class SectionAsCall(ParserSyntaxError):
    message = "pl.{call}() only stands in a with statement"


class RangeAsValue(ParserSyntaxError):
    message = "pl.range is the iterator of a for loop, not a value"


class ShapeExpected(ParserTypeError):
    message = "{what} must be a list of integer scalars, got {got}"


class ShapeItems(ParserTypeError):
    message = "an item of {what} must be a positive integer scalar, got {got}"


class StrideRank(ParserTypeError):
    message = "the stride has {stride} items for a shape of rank {shape}"


class FormatLiteral(ParserSyntaxError):
    message = "{call}: the format must be a string literal"


class CompileTimeShape(FinalRejectionError):
    message = "TileType: every item of '{name}' must be a compile-time integer, got {got}"
    help = "for an extent known at run time leave valid_shape out and call pl.set_validshape(tile, [rows, columns])"


class TileTypeArgument(FinalRejectionError):
    message = "TileType: '{name}' must be known before the kernel runs, got {got}"
