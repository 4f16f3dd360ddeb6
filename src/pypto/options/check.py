"""Is this value fit for that option? Returns the value as it is stored, or raises from the catalogue."""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Callable
from typing import Any

from pypto.errors.options import (
    InvalidChoice,
    MixedSettingKeys,
    OptionOutOfRange,
    OptionWrongElement,
    OptionWrongType,
    ReuseSideInvalid,
    ScopeOutOfRange,
    ScopeWrongFlag,
    ScopeWrongLength,
    UnknownOption,
)
from pypto.options.table import FAMILIES, INT32_MAX, TABLE, Option, rows_of

# Type names as messages print them, tensor API section 7.3.
_PRINTED = {
    "bool": "bool",
    "int": "int64",
    "float": "double",
    "str": "string",
    "list[int]": "list[int64]",
    "list[str]": "list[string]",
    "list[float]": "list[double]",
    "dict": "dict[int64, int64]",
}
_EXAMPLES: dict[str, Any] = {
    "bool": True,
    "int": 1,
    "float": 0.1,
    "str": "name",
    "list[int]": [1],
    "list[str]": ["name"],
    "list[float]": [0.1],
    "dict": {-1: 1},
}
_ENUM_NOTE = ("Enum: ExternalError::INVALID_TYPE",)  # ported test suites search for it, tensor API section 3.3


def printed_type(value: Any) -> str:
    """The type of ``value`` in the words of section 7.3: ``int64``, ``list[string]`` …"""
    if isinstance(value, (list, tuple)):
        inner = {type(v).__name__ for v in value}
        name = f"list[{inner.pop()}]" if len(inner) == 1 else "list"
        return _PRINTED.get(name, name)
    return _PRINTED.get(type(value).__name__, type(value).__name__)


def row(key: str) -> Option:
    """The row of ``key``, or an error that suggests the nearest name."""
    found = TABLE.get(key)
    if found is not None:
        return found
    raise UnknownOption(key=key, advice=_advice(key))


def _advice(key: str) -> str | None:
    family, _, name = key.partition(".")
    near = difflib.get_close_matches(name, rows_of(family), n=1)
    elsewhere = [other for other in TABLE if other.endswith("." + name)]
    nearest = f"{family}.{near[0]}" if near else elsewhere[0] if elsewhere else ""
    known = f"known {family} options: {', '.join(rows_of(family))}" if family in FAMILIES else ""
    return "; ".join(filter(None, [f"did you mean {nearest}?" if nearest else "", known])) or None


def checked(key: str, value: Any) -> Any:
    """``value`` in stored form (enum members become their value, lists and dicts are copied)."""
    option = row(key)
    value = value.value if isinstance(value, enum.Enum) and option.kind != "any" else value
    return _CHECKS[option.kind](option, value)


def _wrong_type(option: Option, value: Any) -> OptionWrongType:
    return OptionWrongType(
        key=option.key,
        expected=_PRINTED[option.kind],
        got=printed_type(value),
        example=option.choices[0] if option.choices else _EXAMPLES[option.kind],
        notes=_ENUM_NOTE,
    )


def _in_range(option: Option, value: Any) -> Any:
    too_low = option.low is not None and value < option.low
    too_high = option.high is not None and value > option.high
    if too_low or too_high:
        raise OptionOutOfRange(key=option.key, value=value, range=option.range)
    return value


def _check_bool(option: Option, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(option, value)
    return value


def _check_int(option: Option, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise _wrong_type(option, value)
    try:
        number = value.__index__()
    except TypeError:  # an array with more than one element
        raise _wrong_type(option, value)
    return int(_in_range(option, number))


def _check_str(option: Option, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong_type(option, value)
    if option.choices and value not in option.choices:
        near = difflib.get_close_matches(value, option.choices, n=1)
        raise OptionOutOfRange(
            key=option.key, value=value, range=option.range, advice=f"did you mean {near[0]!r}?" if near else None
        )
    return value


def _list_check(python_types: tuple[type, ...], element: str) -> Callable[[Option, Any], list[Any]]:
    def check(option: Option, value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise _wrong_type(option, value)
        for index, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, python_types):
                raise OptionWrongElement(key=option.key, index=index, expected=element, got=type(item).__name__, notes=_ENUM_NOTE)
        return list(value)

    return check


# -- the merge settings of the pass family ------------------------------------------------------------------------------------

FUNCTION_KEY = re.compile(r"func\d+_\d+\Z|DEFAULT\Z")  # function-granularity keys, tensor API section 7.2
_LEAST_KEY = {"pass.vec_nbuffer_setting": -2}  # the other two: -1, same source
_MOST_COUNT = 1000000  # (count, side): count below this, same source
_SIDES = ("auto", "left", "right")


def key_kind(key: int | str) -> str:
    """``"int"``, ``"function"`` or ``"label"``: the three storages that a merge setting keeps apart."""
    if isinstance(key, int):
        return "int"
    return "function" if FUNCTION_KEY.match(key) else "label"


def _check_setting(option: Option, value: Any) -> dict[int | str, Any]:
    if not isinstance(value, dict):
        raise _wrong_type(option, value)
    kinds = {key_kind(k): k for k in value if isinstance(k, (int, str))}
    if "int" in kinds and "function" in kinds:
        raise MixedSettingKeys(key=option.key, function=kinds["function"])
    return {_setting_key(option, k): _setting_value(option, k, v) for k, v in value.items()}


def _setting_key(option: Option, key: Any) -> int | str:
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise OptionWrongType(
            key=option.key, expected="int64 or string keys", got=printed_type(key), example={-1: 1}, notes=_ENUM_NOTE
        )
    if isinstance(key, int) and key < _LEAST_KEY.get(option.key, -1):
        raise OptionOutOfRange(key=option.key, value={key: "…"}, range=f"keys >= {_LEAST_KEY.get(option.key, -1)}")
    return key


def _setting_value(option: Option, key: Any, value: Any) -> Any:
    if option.key == "pass.cube_l1_reuse_setting" and isinstance(value, (tuple, list)):
        return _count_and_side(option, key, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(option, {key: value} if not isinstance(value, (list, tuple)) else value)
    return _in_range(option, value)


def _count_and_side(option: Option, key: Any, value: Any) -> Any:
    def refuse(reason: str) -> ReuseSideInvalid:
        return ReuseSideInvalid(key=option.key, entry=key, value=value, reason=reason)

    if len(value) != 2:
        raise refuse(f"it has {len(value)} entries")
    count, side = value
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < _MOST_COUNT:
        raise refuse("the count is not a number in range")
    if not isinstance(side, str) or side.lower() not in _SIDES:
        raise refuse("the side is unknown")
    return count if side.lower() == "auto" else (count, side.lower())


def _check_scope(option: Option, value: Any) -> tuple[int, bool, bool]:
    if isinstance(value, int) and not isinstance(value, bool):
        value = (value, False, False)
    if not isinstance(value, (tuple, list)):
        raise OptionWrongType(
            key=option.key, expected="int64 or tuple", got=type(value).__name__, example=(0, False, False), notes=_ENUM_NOTE
        )
    if len(value) != 3:
        raise ScopeWrongLength(got=len(value))
    number, *flags = value
    if isinstance(number, bool) or not isinstance(number, int):
        raise OptionWrongType(key=option.key, expected="int64", got=type(number).__name__, example=(0, False, False))
    for index, flag in enumerate(flags, start=1):
        if not isinstance(flag, bool):
            raise ScopeWrongFlag(index=index, got=type(flag).__name__)
    if not -1 <= number <= INT32_MAX:
        raise ScopeOutOfRange(value=number)
    return (number, flags[0], flags[1])


def _check_group(option: Option, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value == 0:
        raise InvalidChoice(name=option.name, value=str(value), expected=f"-1 or an integer in [1, {option.high}]")
    return int(_in_range(option, value))


def _check_float(option: Option, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(option, value)
    return float(_in_range(option, value))


_CHECKS: dict[str, Callable[[Option, Any], Any]] = {
    "bool": _check_bool,
    "int": _check_int,
    "float": _check_float,
    "str": _check_str,
    "list[int]": _list_check((int,), "int"),
    "list[str]": _list_check((str,), "str"),
    "list[float]": _list_check((int, float), "float"),
    "dict": _check_setting,
    "scope": _check_scope,
    "group": _check_group,
    "any": lambda option, value: value,
}
