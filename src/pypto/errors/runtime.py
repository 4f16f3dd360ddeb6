"""Mistakes that only the numbers of a run reveal: indices, lengths, reads of memory that nothing wrote."""

from __future__ import annotations

from pypto.errors.base import UserError


class RegionOutOfBounds(UserError, IndexError):
    code = 0xF21005
    message = "{action} of {extent} elements at offset {offset} leaves axis {axis} of '{tensor}' (size {size})"
    help = "limit the valid shape, for example valid_shape=[pypto.min(size - offset, extent), ...]"


class IndexOutOfBounds(UserError, IndexError):
    code = 0xF21005
    message = "{operation}: index {index} is outside axis {axis} of size {size}"
    help = "limit it: pypto.min(pypto.max(index, 0), size - 1), or correct the table that holds it"


class ReadUnwritten(UserError, RuntimeError):
    code = 0xF00003
    message = "'{tensor}' is read at {position} before anything wrote it"
    help = "fill it first, for example with t[:] = pypto.zeros(...), or limit the valid shape of the view"


class ShapesDisagree(UserError, ValueError):
    code = 0xFC0000
    message = "Tensor shape must be consistent or broadcast compatible, but at run time {first} differs from {second} for op: {operation}"
    help = "sizes of DYNAMIC axes must agree; where size 1 is to be repeated, annotate the axis with 1 or pypto.STATIC"


class ValidShapesDisagree(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}: valid extents disagree at run time: {first} and {second}"
    help = "give both the same valid_shape, or limit one: pypto.view(t, shape, offsets, valid_shape=[...])"


class PartialNotRepresentable(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}: the valid part {valid} is no rectangle of the result {target}"
    help = "say what is valid with valid_shape=[...]"


class ValidShapeOutOfBounds(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}: valid extent {extent} of axis {axis} is outside 0 to {size}"
    help = "valid_shape=[pypto.max(pypto.min(extent, size), 0), ...]"


class NegativeExtent(UserError, ValueError):
    code = 0xF21003
    message = "extent {extent} of axis {axis} is negative"
    help = "limit it: pypto.max(extent, 0)"


class LoopStepZeroInRun(UserError, ValueError):
    code = 0xF00002
    message = "loop step is 0"
    help = "use a step that is never 0, for example pypto.max(step, 1)"


class DivisionByZeroInRun(UserError, ZeroDivisionError):
    code = 0xF00002
    message = "Division or Mod by zero."
    help = "guard the divisor: pypto.max(divisor, 1), or put the division under `if divisor != 0:`"


class AccumulatorOverflow(UserError, OverflowError):
    code = 0xF21003
    message = "matmul: an int32 accumulator wraps around (checked mode); |sum| reaches {magnitude}"
    help = "split the sum: add products over parts of the inner axis in DT_FP32"


class CarriedExtentChanges(UserError, ValueError):
    code = 0xF21003
    message = "a loop carries a tensor whose valid shape changes from {first} to {second}"
    help = "give it the same valid_shape in every iteration, or write it into a pypto.tensor"


class ScalarNotFiniteInRun(UserError, ValueError):
    code = 0xF00002
    message = "a float that is NaN or infinite has no integer value"
    help = "give the kernel a finite number, or test it before the conversion: if n - n == 0.0: ..."


class ScalarTooLargeInRun(UserError, OverflowError):
    code = 0xF00002
    message = "an integer of this expression needs more than 64 bits"
    help = "use smaller numbers, or floats: float(n) * m"
