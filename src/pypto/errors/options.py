"""Mistakes in options and tile shapes (texts and codes of tensor API sections 7.3 and 11)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pypto.errors.base import PassError, UserError


class UnknownOption(UserError, KeyError):
    code = 0xF00006
    message = "key: {key} does not exist."
    help = "known names: `python -c 'import pypto; print(pypto.get_options_tree())'` or docs/options.md"


class OptionNotFound(UserError, KeyError):
    code = 0xF00006
    message = "Option not found: {key}"
    help = "ask ConfigScope.has(key) first, or see docs/options.md for the names"


class OptionOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "key: {key} value: {value!r} doesn't within the value range {range}"
    help = "give {key} a value in {range}"


class OptionWrongType(UserError, TypeError):
    code = 0xF00001
    message = "Option '{key}' has invalid type. Expected {expected}, but got {got}."
    help = "give {key} a value like {example!r}"


class OptionsNotDictionary(UserError, TypeError):
    code = 0xF00001
    message = "{family}_options must be a dict of option names and values, got {got}"
    help = "write {family}_options={{{example!r}: ...}}"


class OptionWrongElement(UserError, TypeError):
    code = 0xF00001
    message = "Option '{key}' has invalid list element type at index {index}. Expected {expected}, but got {got}"
    help = "every element of {key} must be {expected}"


class ScopeOutOfRange(UserError, ValueError):
    code = 0xF00008
    message = "Option 'pass.sg_set_scope' scope_id {value} is out of range. Expected -1~2147483647."
    help = "-1 means: no scope"


class ScopeWrongLength(UserError, ValueError):
    code = 0xF00002
    message = "Option 'pass.sg_set_scope' has invalid length. Expected 3, but got {got}."
    help = "give a number, or (scope_id, allow_parallel_merge, allow_cross_scope_merge)"


class ScopeWrongFlag(UserError, TypeError):
    code = 0xF00001
    message = "Option 'pass.sg_set_scope' element {index} has invalid type. Expected bool, but got {got}."
    help = "the second and third entry are True or False"


class InvalidChoice(UserError, ValueError):
    code = 0xF00002
    message = "Invalid {name}: {value!r}. Expected {expected}."
    help = "give {name} a value it knows"


class MixedSettingKeys(UserError, ValueError):
    code = 0xF00002
    message = "Option '{key}' cannot mix integer keys with function keys such as {function!r}"
    help = "use integers (and labels), or func<n>_<n> and DEFAULT (and labels)"


class ReuseSideInvalid(UserError, ValueError):
    code = 0xF00002
    message = "Option '{key}'[{entry!r}]: {value!r} is not (count, side): {reason}"
    help = "give a number, or (count, side) with 1 <= count < 1000000 and side 'auto', 'left' or 'right'"


class LabelConflict(UserError, ValueError):
    code = 0xF00002
    message = "semantic label {label!r} conflicts with function-granularity hashOrder"
    help = "choose a label that does not look like func<n>_<n>"


class LabelNotText(UserError, TypeError):
    code = 0xF00001
    message = "set_semantic_label(): the label must be a str, got {got}"
    help = 'write pypto.set_semantic_label("attention")'


class TileShapeInvalid(UserError, ValueError):
    code = 0xF00002
    message = "{function}(): tile sizes must be positive integers, got {value!r} at position {index}"
    help = "a tile shape has one positive number per axis of the op's result, for instance {function}(64, 128)"


class TileShapeNotInteger(UserError, TypeError):
    code = 0xF00001
    message = "{function}(): tile sizes must be integers, got {got} at position {index}"
    help = "pass plain numbers; a symbolic size has no place in a tile shape, take its upper bound"


class CubeTileLength(UserError, ValueError):
    code = 0xF00002
    message = "{axis} must have {expected} elements, got {got}"
    help = "write set_cube_tile_shapes([mL0, mL1], [kL0, kL1a, kL1b], [nL0, nL1])"


class UnknownOptionArgument(UserError, TypeError):
    code = 0xF00001
    message = "{function}() has no argument {name!r}"
    help = "its arguments are {known}"


class ArgumentsByName(UserError, TypeError):
    code = 0xF00001
    message = "{function}() takes its options by name, got {count} positional argument(s)"
    help = "write {function}({example}=...)"


class NotATile(UserError, TypeError):
    code = 0xF00001
    message = "{function}(): expected {expected}, got {got}"
    help = "build the argument with {expected}"


class EnvironmentValueInvalid(UserError, ValueError):
    code = 0xF00002
    message = "environment variable {variable}={text!r}: option {key} needs {expected}"
    help = "unset {variable}, or give it {expected}"


class PassConfigNotBoolean(UserError, PassError, TypeError):
    code = 0xF00001
    message = "Expected boolean type, but received {got}"
    help = "pass configuration values are True or False"


class PassConfigKeyInvalid(UserError, PassError, ValueError):
    code = 0xF00002
    message = "{value!r} is not a PassConfigKey"
    help = "use pypto.PassConfigKey.KEY_DUMP_GRAPH"


class NotYetImplemented(UserError, AttributeError):
    code = 0xF00005
    message = "pypto.{name} is not implemented yet; it is planned"
    help = "docs/coverage.md lists what works today and what comes next"


class NoSuchName(UserError, AttributeError):
    code = 0xF00004
    message = "module 'pypto' has no attribute {name!r}{nearest}"
    help = "docs/coverage.md lists every public name"


class CheckFailed(UserError, ValueError):
    code = 0xF00002
    message = "{text}"


class UnknownErrorType(UserError, ValueError):
    code = 0xF00002
    message = "Unknown error type: {name}"
    help = "known: ValueError, TypeError, RuntimeError, NotImplementedError, IndexError, AssertionError, InternalError, Error"


def no_such_name(name: str, documented: Sequence[str]) -> UserError:
    """The error for ``pypto.<name>``: planned, misspelt or unknown."""
    if name in documented:
        return NotYetImplemented(name=name)
    near = difflib.get_close_matches(name, documented, n=1)
    return NoSuchName(name=name, nearest=f", did you mean {near[0]!r}?" if near else "")
