"""Mistakes in statements: assignments, sections, loops, returns."""

from __future__ import annotations

from pypto_pro.errors.base import (
    ParserSyntaxError,
    ParserTypeError,
    SSAViolationError,
    UnsupportedFeatureError,
)


class AssignTarget(ParserSyntaxError):
    message = "cannot assign to {kind}: a target is a name, a tuple of names, an attribute or a subscript"
    help = "bind a name first: value = …"


class ChainedTargets(ParserSyntaxError):
    message = "chained assignment is not supported"
    help = "write one assignment per line"


class AnnotatedTarget(ParserSyntaxError):
    message = "an annotated assignment needs a name as its target, got {kind}"
    help = "write the assignment without the annotation"


class AnnotationWithoutValue(UnsupportedFeatureError):
    message = "the annotation of '{name}' has no value"
    help = "write {name}: … = value"


class UnpackValue(ParserTypeError):
    message = "cannot unpack {got}: the right side must be a tuple"
    help = "return a tuple from the helper, or bind one name"


class UnpackCount(ParserTypeError):
    message = "cannot unpack {got} values into {expected} names"
    help = "write {got} names on the left"


class VoidValue(ParserTypeError):
    message = "{text} returns nothing that could be assigned"
    help = "tile operations write into their first argument"


class NotAValue(ParserTypeError):
    message = "the right side of an assignment must be a value of the kernel, got {got}"
    help = "call the operation as a statement of its own, without `name =`"


class ImmutableTuple(ParserSyntaxError):
    message = "cannot assign to the immutable named tuple field '{name}'"
    help = "make a new tuple, or use pl.struct for scalars that change"


class FieldOfNothing(ParserTypeError):
    message = "cannot set '{name}': {got} has no fields"
    help = 'make a struct: s = pl.struct("State", {name}=0), then s.{name} = …'


class FieldLength(ParserSyntaxError):
    message = "field '{name}' expects {expected} elements, got {got}"
    help = "pass {expected} elements, or set one: s.{name}[i] = …"


class FieldValue(ParserTypeError):
    message = "field '{name}' of {expected} cannot take {got}"
    help = "give the field its first value in the type it will hold, for instance 0.0"


class StoreTarget(ParserTypeError):
    message = "an element can be stored into a tile, a tensor or an array field, not into {got}"
    help = "one element: t[i, j] = value; a whole tile into a tensor: pl.store(tensor, tile, [row, column])"


class StandaloneAttribute(UnsupportedFeatureError):
    message = "Standalone attribute access not supported: {text}"
    help = "did you mean {text}()?"


class LoneExpression(UnsupportedFeatureError):
    message = "the expression `{text}` has no effect"
    help = "bind it to a name, or remove it"


class UnsupportedStatementType(UnsupportedFeatureError):
    message = "Unsupported statement type: {kind}"
    help = "kernels have assignments, calls, if, for, while, with and return; move the rest outside the kernel"


class ManyContexts(ParserSyntaxError):
    message = "one with statement opens one section"
    help = "write one with statement for each section"


class OtherContext(UnsupportedFeatureError):
    message = "`with {text}` is not supported: only pl.section_cube() and pl.section_vector()"
    help = "write `with pl.section_vector():` or `with pl.section_cube():`"


class LoopIterator(ParserSyntaxError):
    message = "a for loop runs over pl.range(…), got `{text}`"
    help = "write `for i in pl.range(n):`"


class RangeKeywords(ParserSyntaxError):
    message = "pl.range takes no keywords"
    help = "write pl.range(start, stop, step)"


class RangeCount(ParserSyntaxError):
    message = "pl.range takes one to three arguments, got {got}"
    help = "write pl.range(stop), pl.range(start, stop) or pl.range(start, stop, step)"


class RangeStep(ParserSyntaxError):
    message = "the step of pl.range must not be 0"
    help = "use 1 to count up, -1 to count down"


class RangeBound(ParserTypeError):
    message = "a bound of pl.range must be an integer scalar, got {got}"
    help = "convert it: int(x)"


class LoopTarget(ParserSyntaxError):
    message = "the target of a for loop must be a simple name, got `{text}`"
    help = "write `for i in pl.range(n):` and unpack in the body"


class LoopElse(UnsupportedFeatureError):
    message = "`else` of a loop is not supported"
    help = "set a flag in the loop and test it afterwards"


class JumpOutsideLoop(ParserSyntaxError):
    message = "`{word}` outside a loop"
    help = "move it into a for or while, or use if"


class ReturnValue(ParserSyntaxError):
    message = "a kernel only supports bare return or return None"
    help = "results go into tensors: pl.store(out, tile, offsets)"


class Redefinition(SSAViolationError):
    message = "Variable '{name}' is already defined"
    help = "with strict_ssa every name is bound once"
