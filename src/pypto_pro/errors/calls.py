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
    help = "dir(pypto_pro.language) lists what there is"


class SourceMissing(UnsupportedFeatureError):
    message = "the source of '{name}' cannot be read: {reason}"
    help = "write it with def in a file; builtins and compiled functions cannot be read"


class NoMethod(UndefinedVariableError):
    message = "method '{name}' is not defined in program class '{owner}'"
    help = "define it in '{owner}' with @pl.function, or call a function of the module"


class StarArguments(ParserSyntaxError):
    message = "{call}: star arguments are not supported"
    help = "write the arguments out one by one"


class TooManyArguments(ParserTypeError):
    message = "{call} takes at most {most} arguments, got {got}"
    help = "leave out what is beyond the first {most}, or pass options by keyword"


class UnexpectedKeyword(ParserTypeError):
    message = "{call} got an unexpected keyword argument '{name}'"
    help = "check the spelling against help({call})"


class ArgumentTwice(ParserTypeError):
    message = "{call} got multiple values for argument '{name}'"
    help = "pass '{name}' by position or by keyword, not both"


class MissingArgument(ParserTypeError):
    message = "{call} is missing a required argument: '{name}'"
    help = "add {name}=… to the call"


class MissingKeyword(ParserSyntaxError):
    message = "{call} is missing required keyword '{name}'"
    help = "add {name}=… to the call"


class MethodNotCalled(ParserTypeError):
    message = "{text} is a method, not a tile"
    help = "call it: {text}()"


class ArgumentKind(ParserTypeError):
    message = "{call}: '{name}' must be {expected}, got {got}"
    help = "pass {expected} as '{name}'"


class EnumExpected(FinalRejectionError):
    message = "{call}: '{name}' expects an enum value of pl.{enum}, got {got}"
    help = "write {name}=pl.{enum}.… with one of its members"


class EnumInvalid(FinalRejectionError):
    message = "{call}: '{name}' is invalid: expected a member of pl.{enum}, got {got}"
    help = "write {name}=pl.{enum}.… with one of its members"


class ConstantExpected(FinalRejectionError):
    message = "{call}: '{name}' must be known before the kernel runs, got {got}"
    help = "write a number, a module-level constant, or a field of the tiling key"


class IntegerListExpected(FinalRejectionError):
    message = "{call}: '{name}' must be a compile-time integer list, got {got}"
    help = "for example {name}=[0, 1]"


class DtypeArgument(FinalRejectionError):
    message = "{call}: dtype must be a dtype (pl.DT_…), got {got}"
    help = "for example dtype=pl.DT_FP32"


class CheckFailed(ParserSyntaxError):
    """A row of the table of operations refused a call; the text is the row's."""

    message = "Failed to parse kernel function '{kernel}': {error}: {text}"


# -- helpers -------------------------------------------------------------------------------------------------------------------


class HelperKeywords(ParserSyntaxError):
    message = "helper '{name}' is called with positional arguments only"
    help = "write the values in the order of the parameters, without names"


class HelperParameters(ParserSyntaxError):
    message = "helper '{name}' may have positional parameters with defaults only, not {what}"
    help = "write def {name}(a, b, c=1)"


class RecursiveHelper(ParserSyntaxError):
    message = "Recursive helper '{name}': Recursive inline function call"
    help = "write it as a loop"


class HelperCount(ParserTypeError):
    message = "helper '{name}' takes {expected} arguments, got {got}"
    help = "pass {expected} values by position"


class HelperPolicy(ParserTypeError):
    message = "helper '{name}', parameter '{parameter}': {what} is {expected} in the annotation, got {got}"
    help = "change the annotation of '{parameter}' to what is passed, or leave it out"


class ReturnAnnotated(ParserTypeError):
    message = "Return '{name}' annotated as {expected}, got {got}"
    help = "change the annotation after -> to what is returned, or leave it out"


# -- structs and tuples -----------------------------------------------------------------------------------------------------------


class RecordPositional(ParserSyntaxError):
    message = "pl.{call}: {reason}"
    help = 'write pl.struct("State", count=0), pl.struct_array(4, "State", count=0) or pl.make_tuple(x=a, y=b)'


class RecordName(ParserSyntaxError):
    message = "pl.{call}: the name must be a string literal that is an identifier, got {got}"
    help = 'write pl.struct("State", count=0), pl.struct_array(4, "State", count=0) or pl.make_tuple(x=a, y=b)'


class RecordEmpty(ParserSyntaxError):
    message = "pl.{call} needs at least one field"
    help = 'write pl.struct("State", count=0), pl.struct_array(4, "State", count=0) or pl.make_tuple(x=a, y=b)'


class RecordStars(ParserSyntaxError):
    message = "pl.{call}: ** is not supported, write the fields out"
    help = 'write pl.struct("State", count=0), pl.struct_array(4, "State", count=0) or pl.make_tuple(x=a, y=b)'


class RecordField(ParserTypeError):
    message = "pl.{call}: field '{name}' must be a scalar or a list of scalars of one type, got {got}"
    help = "for example {name}=0, or {name}=[0, 0, 0, 0] for an array; keep tiles in variables of their own"


class StructArraySize(ParserSyntaxError):
    message = "pl.struct_array: the size must be a positive integer known before the kernel runs, got {got}"
    help = "write a number or a module-level constant as the size"


class StructInBranch(ParserSyntaxError):
    message = "pl.{call} cannot be created inside a run-time if"
    help = "create it before and set its fields in the branch"


# -- functions of the language ---------------------------------------------------------------------------------------------------


class ConstArguments(ParserSyntaxError):
    message = "pl.const takes exactly two arguments, a literal number and a dtype; {reason}"
    help = "for example pl.const(5, pl.DT_INT32)"


class MinMaxArguments(InvalidOperationError):
    message = "pl.{call} takes exactly two scalars and no keywords, got {got}"
    help = "nest the calls for more than two: pl.{call}(a, pl.{call}(b, c)); tiles: pl.maximum, pl.minimum"


class SectionAsCall(ParserSyntaxError):
    message = "{call}() only stands in a with statement"
    help = "write `with {call}():` before the block"


class RangeAsValue(ParserSyntaxError):
    message = "pl.range is the iterator of a for loop, not a value"
    help = "write `for i in pl.range(n):`"


class ShapeExpected(ParserTypeError):
    message = "{what} must be a list of integer scalars, got {got}"
    help = "for example [64, 128]"


class ShapeItems(ParserTypeError):
    message = "an item of {what} must be a positive integer scalar, got {got}"
    help = "for example [64, 128]; extents may be scalar parameters"


class StrideRank(ParserTypeError):
    message = "the stride has {stride} items for a shape of rank {shape}"
    help = "give {shape} strides in elements, one per axis of the shape"


class FormatLiteral(ParserSyntaxError):
    message = "{call}: the format must be a string literal"
    help = 'write the text in place: pl.printf("%d\\n", x)'


class CompileTimeShape(FinalRejectionError):
    message = "TileType: every item of '{name}' must be a compile-time integer, got {got}"
    help = "for an extent known at run time leave valid_shape out and call pl.set_validshape(tile, [rows, columns])"


class TileTypeArgument(FinalRejectionError):
    message = "TileType: '{name}' must be known before the kernel runs, got {got}"
    help = "write the value itself, a module-level constant, or a field of the tiling key"
