"""The keyword arguments of ``jit``: options of one kernel, checked when it is decorated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto.diagnostics import warn
from pypto.enums import RunMode
from pypto.errors.arguments import InvalidRunMode, UnknownJitOption
from pypto.errors.options import OptionsNotDictionary
from pypto.options.scopes import prepared
from pypto.options.table import TABLE

FAMILIES = ("host", "codegen", "pass", "runtime", "verify", "debug", "run", "cpu")
WITHOUT_EFFECT = ("new_ir", "create_new_logical_tensor")


def option_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The decorator's keywords as full option keys, checked."""
    values: dict[str, Any] = {}
    for name, family_values in given.items():
        family = name.removesuffix("_options")
        if name in WITHOUT_EFFECT:
            continue
        if family not in FAMILIES or not name.endswith("_options"):
            raise UnknownJitOption(name=name, known=", ".join([*(f"{f}_options" for f in FAMILIES), *WITHOUT_EFFECT]))
        if family_values is not None and not isinstance(family_values, Mapping):
            raise OptionsNotDictionary(family=family, got=type(family_values).__name__, example=example_option(family))
        if family_values is not None:
            values.update({f"{family}.{key}": value for key, value in dict(family_values).items()})
    mode = values.get("runtime.run_mode")
    if mode is not None:
        if mode not in (0, 1):
            raise InvalidRunMode()
        values["runtime.run_mode"] = int(mode)
        notice(RunMode(int(mode)))
    return prepared(values)


def example_option(family: str) -> str:
    """Some option of a family, for messages."""
    return next((key.partition(".")[2] for key in TABLE if key.startswith(family + ".")), "option")


_noticed: set[RunMode] = set()


def notice(mode: RunMode) -> None:
    """Once per process: there is no NPU here, and no timing model yet."""
    if mode in _noticed:
        return
    _noticed.add(mode)
    if mode is RunMode.NPU:
        warn("run_mode NPU: there is no NPU here, kernels run on the CPU")
    else:
        warn("run_mode SIM: numbers come from the CPU; there is no timing model yet")
