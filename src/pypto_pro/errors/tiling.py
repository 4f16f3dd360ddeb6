"""Mistakes in tiling classes and tiling keys (tile API sections 1.6, 2.5, 2.6)."""

from __future__ import annotations

from pypto.errors.base import UserError


class TilingTypeError(UserError, TypeError):
    code = 0xF00001


class TilingValueError(UserError, ValueError):
    code = 0xF00002


class TilingEmpty(TilingTypeError):
    message = "tiling class {cls} needs at least one field"
    help = "add a field, for example rows: int"


class TilingDuplicate(TilingTypeError):
    message = "tiling class {cls} declares '{name}' twice"
    help = "rename one of the fields"


class TilingField(TilingTypeError):
    message = "tiling class {cls}: '{name}' must be int, float, bool or an array of them such as int[4], got {got}"
    help = "array fields need `from __future__ import annotations` at the top of the file"


class TilingArrayLength(TilingTypeError):
    message = "tiling class {cls}: the length of '{name}' must be a number from 1 to {most}, got {got}"
    help = "write a length of at most {most}"


class TilingValue(TilingTypeError):
    message = "'{name}' must be {expected}, got {got}"
    help = "convert it before the launch: int(x) or float(x)"


class TilingSequence(TilingTypeError):
    message = "'{name}': expected an indexable sequence, got {got}"
    help = "pass a list, for example [1, 2, 3]"


class TilingItems(TilingValueError):
    message = "'{name}': expected {expected} elements, got {got}"
    help = "pass a list of exactly {expected} numbers"


# -- tiling keys ------------------------------------------------------------------------------------------------------------


class KeyClass(TilingValueError):
    message = "tiling_key must be a class with TilingKeyField attributes, got {got}"
    help = "for example class Key: mode = TilingKeyField(bits=2, values=[0, 1, 2])"


class KeyEmpty(TilingValueError):
    message = "tiling key {cls} has no TilingKeyField"
    help = "for example mode = TilingKeyField(bits=2, values=[0, 1, 2])"


class KeyCheck(TilingValueError):
    message = "tiling key {cls}: is_valid must be a method, got {got}"
    help = "write def is_valid(self): return …"


class KeyBits(TilingValueError):
    message = "TilingKeyField needs bits > 0, got {got}"
    help = "for example bits=2 for up to four values"


class KeyNoValues(TilingValueError):
    message = "TilingKeyField needs non-empty values"
    help = "for example values=[0, 1, 2]"


class KeyValueType(TilingValueError):
    message = "TilingKeyField: values must be ints, got {got}"
    help = "for example values=[0, 1, 2]"


class KeyValuesUnique(TilingValueError):
    message = "TilingKeyField: values must be unique, got {got}"
    help = "name each value once"


class KeyTooManyValues(TilingValueError):
    message = "TilingKeyField: {count} values exceed what {bits} bits can tell apart"
    help = "raise bits so that 2 ** bits is at least {count}"


class KeyTooWide(TilingValueError):
    message = "tiling key {cls} takes {bits} bits, more than the 64-bit limit"
    help = "lower bits in the fields: they must add up to at most 64"


class KeyNotDict(TilingValueError):
    message = "the tiling key of a launch must be a dict, got {got}"
    help = 'pass a dict from field to value: {{"mode": 1}}'


class KeyNames(TilingValueError):
    message = "the tiling key must have exactly the fields {expected}, got {got}"
    help = "pass one value for each of these fields"


class KeyCandidate(TilingValueError):
    message = "tiling key '{name}': {got} is not among its candidates {candidates}"
    help = "pass one of these, or add {got} to values of the field"


class KeyInvalid(TilingValueError):
    message = "is_valid of {cls} refuses the tiling key {got}"
    help = "pass a combination that is_valid accepts"


class KeyParameterClash(TilingValueError):
    message = "tiling key field '{name}' has the name of a kernel parameter"
    help = "rename the field or the parameter"


class KeyVariableClash(TilingValueError):
    message = "tiling key field '{name}' has the name of a module-level variable"
    help = "rename the field or the variable"
