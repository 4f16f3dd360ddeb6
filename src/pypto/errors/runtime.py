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


class ReadUnwritten(UserError, RuntimeError):
    code = 0xF00003
    message = "'{tensor}' is read at {position} before anything wrote it"
    help = "fill it first, for example with t[:] = pypto.zeros(...), or limit the valid shape of the view"


class ShapesDisagree(UserError, ValueError):
    code = 0xFC0000
    message = "Tensor shape must be consistent or broadcast compatible, but at run time {first} differs from {second} for op: {operation}"


class ValidShapesDisagree(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}: valid extents disagree at run time: {first} and {second}"


class PartialNotRepresentable(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}: the valid part {valid} is no rectangle of the result {target}"
    help = "say what is valid with valid_shape=[...]"


class ValidShapeOutOfBounds(UserError, ValueError):
    code = 0xFC0000
    message = "{operation}: valid extent {extent} of axis {axis} is outside 0 to {size}"


class NegativeExtent(UserError, ValueError):
    code = 0xF21003
    message = "extent {extent} of axis {axis} is negative"


class LoopStepZeroInRun(UserError, ValueError):
    code = 0xF00002
    message = "loop step is 0"


class DivisionByZeroInRun(UserError, ZeroDivisionError):
    code = 0xF00002
    message = "Division or Mod by zero."


class AccumulatorOverflow(UserError, OverflowError):
    code = 0xF21003
    message = "matmul: an int32 accumulator wraps around (checked mode); |sum| reaches {magnitude}"


class CarriedExtentChanges(UserError, ValueError):
    code = 0xF21003
    message = "a loop carries a tensor whose valid shape changes from {first} to {second}"


class ScalarNotFiniteInRun(UserError, ValueError):
    code = 0xF00002
    message = "a float that is NaN or infinite has no integer value"
    help = "give the kernel a finite number, or test it before the conversion: if n - n == 0.0: ..."


class ScalarTooLargeInRun(UserError, OverflowError):
    code = 0xF00002
    message = "an integer of this expression needs more than 64 bits"
    help = "use smaller numbers, or floats: float(n) * m"
