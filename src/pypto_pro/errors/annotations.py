"""Mistakes in annotations and in the head of a kernel."""

from __future__ import annotations

from pypto_pro.errors.base import FinalRejectionError, ParserSyntaxError, ParserTypeError


class TensorArity(ParserTypeError):
    message = "pl.Tensor takes two to four items, pl.Tensor[[shape], dtype, layout, memref], got {got}"
    help = "for example x: pl.Tensor[[64, 128], pl.DT_FP32]"


class TileArity(ParserTypeError):
    message = "pl.Tile takes two or three items, pl.Tile[[rows, columns], dtype, memref], got {got}"
    help = "for example tile: pl.Tile[[64, 128], pl.DT_FP32]"


class TileThird(ParserTypeError):
    message = "Tile 3rd argument must be pl.MemRef"
    help = "for example pl.Tile[[64, 128], pl.DT_FP32, pl.MemRef(pl.MemorySpace.Vec, 0, 32768)]"


class ScalarValue(ParserTypeError):
    message = "pl.Scalar is an annotation and cannot be built from a value"
    help = "use pl.const(value, dtype)"


class MemRefArity(ParserTypeError):
    message = "pl.MemRef takes a memory space, an address, a size and optionally a number; the first is {got}"
    help = "for example pl.MemRef(pl.MemorySpace.Vec, 0, 32768): 32768 bytes from address 0 on"


class MemRefValue(ParserTypeError):
    message = "pl.MemRef: '{name}' must be a compile-time integer that is not negative, got {got!r}"
    help = "write the number itself, or a module-level constant"


class MissingAnnotation(ParserTypeError):
    message = "parameter '{name}' has a missing type annotation"
    help = "write {name}: pl.Tensor[[…], dtype], pl.Ptr[dtype], a dtype, or a tiling class"


class UnknownAnnotation(ParserTypeError):
    message = "parameter '{name}': an annotation must be pl.Tensor[…], pl.Ptr[…], a dtype or a tiling class, got {got}"
    help = "for example {name}: pl.Tensor[[64, 128], pl.DT_FP32], or {name}: pl.DT_INT32 for a scalar"


class TupleAnnotation(ParserTypeError):
    message = "parameter '{name}': tuples cannot be parameters of a kernel"
    help = "give every element a parameter of its own"


class NestedTuple(ParserTypeError):
    message = "parameter '{name}': Nested tuple types are not supported"
    help = "write one flat tuple, or one parameter per inner tuple"


class ManyTilings(ParserSyntaxError):
    message = "a kernel takes at most 1 tiling parameter, '{first}' and '{second}' are two"
    help = "put the fields of both into one class"


class TilingNotLast(ParserSyntaxError):
    message = "the tiling parameter '{name}' must be the last parameter"
    help = "move '{name}' behind all other parameters"


class ReturnAnnotation(ParserSyntaxError):
    message = "a kernel returns nothing; its return annotation must be None, got {got}"
    help = "leave `-> …` out and write results into a tensor parameter with pl.store"


class DtypeExpected(ParserTypeError):
    message = "parameter '{name}': the element type must be a DataType, got {got}"
    help = "use one of the pl.DT_… names"


class UnknownDtype(ParserTypeError):
    message = "Unknown dtype '{got}' in the annotation of '{name}'"
    help = "for example pl.DT_FP16, pl.DT_FP32, pl.DT_INT32"


class UnknownShapeVariable(ParserTypeError):
    message = "Unknown shape variable '{got}' in the annotation of '{name}'"
    help = "write a positive int, pl.DYNAMIC, pl.STATIC, or a module-level constant"


class UnknownLayout(ParserTypeError):
    message = "Unknown layout '{got}' in the annotation of '{name}'"
    help = "for example pl.TensorLayout.ND or pl.TensorLayout.NZ"


class LayoutExpected(ParserTypeError):
    message = "parameter '{name}': the layout must be a TensorLayout, got {got}"
    help = "for example {name}: pl.Tensor[[64, 128], pl.DT_FP32, pl.TensorLayout.NZ]"


class StorageOnlyScalar(ParserTypeError):
    message = "Scalar type does not support dtype {dtype}: '{name}' can only be stored"
    help = "pass it as pl.DT_FP32, or in a tensor"


class ShapeList(ParserTypeError):
    message = "parameter '{name}': the shape must be a list or tuple, got {got}"
    help = "for example {name}: pl.Tensor[[64, 128], pl.DT_FP32]"


class ShapeItem(ParserTypeError):
    message = "parameter '{name}', axis {axis}: expected a positive int, pl.DYNAMIC or pl.STATIC, got {got}"
    help = "write a number for a fixed extent, pl.DYNAMIC for one of the launch, pl.STATIC for one that a kernel is compiled for"


class EllipsisPlace(ParserTypeError):
    message = "parameter '{name}': an ellipsis may stand once, at the end of the shape"
    help = "for example pl.Tensor[[64, ...], pl.DT_FP32]"


class NotAnnotatedAs(FinalRejectionError):
    message = "Type mismatch: {what} '{name}' annotated as {expected}, got {got}"
    help = "change the annotation to what the value is, or leave it out"
