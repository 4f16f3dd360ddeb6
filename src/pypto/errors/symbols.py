"""Mistakes with symbolic scalars (tensor API section 5.3; codes section 3.2)."""

from __future__ import annotations

from pypto.errors.base import UserError


class NotConcrete(UserError, ValueError):
    """A number was needed at compile time and the scalar is only known at run time."""

    code = 0xF00002
    message = "Not concrete value. `{text}` is known only when the kernel runs"
    help = "keep it symbolic: use it in pypto.loop bounds, offsets, valid_shape, or an `if` of the kernel"


class InvalidScalarType(UserError, TypeError):
    """An operand of scalar arithmetic is neither an int nor a symbolic scalar."""

    code = 0xF00001
    message = "Invalid type. `{operation}` on a symbolic scalar takes an int or a SymbolicScalar, got {got}"
    help = "convert one of them: int(...) of the number, or float(...) of the symbolic scalar"


class UnsupportedScalarOperation(UserError, TypeError):
    """An operation of Python's ints that symbolic scalars do not have."""

    code = 0xF00001
    message = "Invalid type. A symbolic scalar has no `{operation}`: `{text}` is known only when the kernel runs"
    help = "{instead}"


class ScalarDivisionByZero(UserError, ValueError):
    """A literal zero as divisor."""

    code = 0xF00002
    message = "Division or Mod by zero. `{text}` is divided by a literal 0"
    help = "guard the divisor, for instance with pypto.max(divisor, 1)"


class InvalidScalarConstruction(UserError, TypeError):
    """``SymbolicScalar(...)`` called with something that makes no scalar."""

    code = 0xF00001
    message = "Invalid type. SymbolicScalar(...) takes an int, a name, or a name and an int, got {got}"
    help = 'write pypto.SymbolicScalar(8) or pypto.SymbolicScalar("n")'
