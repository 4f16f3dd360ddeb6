"""Mistakes in tiling classes and tiling keys (tile API sections 1.6, 2.5, 2.6)."""

from __future__ import annotations

from pypto.errors.base import UserError


class TilingTypeError(UserError, TypeError):
    code = 0xF00001


class TilingValueError(UserError, ValueError):
    code = 0xF00002


class TilingEmpty(TilingTypeError):
    message = "tiling class {cls} needs at least one field"


class TilingDuplicate(TilingTypeError):
    message = "tiling class {cls} declares '{name}' twice"


class TilingField(TilingTypeError):
    message = "tiling class {cls}: '{name}' must be int, float, bool or an array of them such as int[4], got {got}"
    help = "array fields need `from __future__ import annotations` at the top of the file"


class TilingArrayLength(TilingTypeError):
    message = "tiling class {cls}: the length of '{name}' must be a number from 1 to {most}, got {got}"


class TilingValue(TilingTypeError):
    message = "'{name}' must be {expected}, got {got}"


class TilingSequence(TilingTypeError):
    message = "'{name}': expected an indexable sequence, got {got}"


class TilingItems(TilingValueError):
    message = "'{name}': expected {expected} elements, got {got}"


# -- tiling keys ------------------------------------------------------------------------------------------------------------


class KeyClass(TilingValueError):
    message = "tiling_key must be a class with TilingKeyField attributes, got {got}"


class KeyEmpty(TilingValueError):
    message = "tiling key {cls} has no TilingKeyField"


class KeyCheck(TilingValueError):
    message = "tiling key {cls}: is_valid must be a method, got {got}"


class KeyBits(TilingValueError):
    message = "TilingKeyField needs bits > 0, got {got}"


class KeyNoValues(TilingValueError):
    message = "TilingKeyField needs non-empty values"


class KeyValueType(TilingValueError):
    message = "TilingKeyField: values must be ints, got {got}"


class KeyValuesUnique(TilingValueError):
    message = "TilingKeyField: values must be unique, got {got}"


class KeyTooManyValues(TilingValueError):
    message = "TilingKeyField: {count} values exceed what {bits} bits can tell apart"


class KeyTooWide(TilingValueError):
    message = "tiling key {cls} takes {bits} bits, more than the 64-bit limit"


class KeyNotDict(TilingValueError):
    message = "the tiling key of a launch must be a dict, got {got}"


class KeyNames(TilingValueError):
    message = "the tiling key must have exactly the fields {expected}, got {got}"


class KeyCandidate(TilingValueError):
    message = "tiling key '{name}': {got} is not among its candidates {candidates}"


class KeyInvalid(TilingValueError):
    message = "is_valid of {cls} refuses the tiling key {got}"


class KeyParameterClash(TilingValueError):
    message = "tiling key field '{name}' has the name of a kernel parameter"


class KeyVariableClash(TilingValueError):
    message = "tiling key field '{name}' has the name of a module-level variable"
