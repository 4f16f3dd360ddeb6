"""Mistakes in annotations and in the head of a kernel."""

from __future__ import annotations

from pypto_pro.errors.base import FinalRejectionError, ParserSyntaxError, ParserTypeError


class TensorArity(ParserTypeError):
    message = "pl.Tensor takes two to four items, pl.Tensor[[shape], dtype, layout, memref], got {got}"


class TileArity(ParserTypeError):
    message = "pl.Tile takes two or three items, pl.Tile[[rows, columns], dtype, memref], got {got}"


class TileThird(ParserTypeError):
    message = "Tile 3rd argument must be pl.MemRef"


class ScalarValue(ParserTypeError):
    message = "pl.Scalar is an annotation and cannot be built from a value"
    help = "use pl.const(value, dtype)"


class MemRefArity(ParserTypeError):
    message = "pl.MemRef takes a memory space, an address, a size and optionally a number; the first is {got}"


class MemRefValue(ParserTypeError):
    message = "pl.MemRef: '{name}' must be a compile-time integer that is not negative, got {got!r}"


class MissingAnnotation(ParserTypeError):
    message = "parameter '{name}' has a missing type annotation"
    help = "write {name}: pl.Tensor[[…], dtype], pl.Ptr[dtype], a dtype, or a tiling class"


class UnknownAnnotation(ParserTypeError):
    message = "parameter '{name}': an annotation must be pl.Tensor[…], pl.Ptr[…], a dtype or a tiling class, got {got}"


class TupleAnnotation(ParserTypeError):
    message = "parameter '{name}': tuples cannot be parameters of a kernel"
    help = "give every element a parameter of its own"


class NestedTuple(ParserTypeError):
    message = "parameter '{name}': Nested tuple types are not supported"


class ManyTilings(ParserSyntaxError):
    message = "a kernel takes at most 1 tiling parameter, '{first}' and '{second}' are two"


class TilingNotLast(ParserSyntaxError):
    message = "the tiling parameter '{name}' must be the last parameter"


class ReturnAnnotation(ParserSyntaxError):
    message = "a kernel returns nothing; its return annotation must be None, got {got}"


class DtypeExpected(ParserTypeError):
    message = "parameter '{name}': the element type must be a DataType, got {got}"
    help = "use one of the pl.DT_… names"


class UnknownDtype(ParserTypeError):
    message = "Unknown dtype '{got}' in the annotation of '{name}'"


class UnknownShapeVariable(ParserTypeError):
    message = "Unknown shape variable '{got}' in the annotation of '{name}'"


class UnknownLayout(ParserTypeError):
    message = "Unknown layout '{got}' in the annotation of '{name}'"


class LayoutExpected(ParserTypeError):
    message = "parameter '{name}': the layout must be a TensorLayout, got {got}"


class StorageOnlyScalar(ParserTypeError):
    message = "Scalar type does not support dtype {dtype}: '{name}' can only be stored"


class ShapeList(ParserTypeError):
    message = "parameter '{name}': the shape must be a list or tuple, got {got}"


class ShapeItem(ParserTypeError):
    message = "parameter '{name}', axis {axis}: expected a positive int, pl.DYNAMIC or pl.STATIC, got {got}"


class EllipsisPlace(ParserTypeError):
    message = "parameter '{name}': an ellipsis may stand once, at the end of the shape"


class NotAnnotatedAs(FinalRejectionError):
    message = "Type mismatch: {what} '{name}' annotated as {expected}, got {got}"
