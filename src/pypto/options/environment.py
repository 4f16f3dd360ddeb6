"""Options from environment variables: read once, when the first option is asked for (and again after ``reset_options``)."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import Any

from pypto.diagnostics import warn
from pypto.errors.base import UserError
from pypto.errors.options import EnvironmentValueInvalid
from pypto.options.check import checked
from pypto.options.table import TABLE, Option

# Variables of the reference tool chain that scripts export and that mean nothing here (toolchain notes section 3.11).
FOREIGN = frozenset(
    {
        "PYPTO_THIRD_PARTY_PATH",
        "PYPTO_PROF_PMU_EVENT_TYPE",
        "PYPTO_LAUNCH_SCHED_SAME_CLUSTER",
        "PYPTO_DATADUMP_ENABLE",
    }
)
_WORDS = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False, "": False}
_EXPECTED = {"bool": "0 or 1", "int": "a whole number", "str": "a word"}


def _parse(option: Option, text: str) -> Any:
    if option.kind == "bool":
        return _WORDS[text.strip().lower()]
    return int(text) if option.kind == "int" else text


def _value(option: Option, text: str) -> Any:
    try:
        return checked(option.key, _parse(option, text))
    except (KeyError, ValueError, UserError):
        expected = _EXPECTED[option.kind] + (f" in {option.range}" if option.range else "")
        raise EnvironmentValueInvalid(variable=option.environment, text=text, key=option.key, expected=expected) from None


def from_environment(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Values of all options whose variable is set; a ``PYPTO_`` variable that nobody reads is pointed out."""
    variables = os.environ if environment is None else environment
    by_variable = {option.environment: option for option in TABLE.values() if option.environment}
    for name in variables:
        if name.startswith("PYPTO_") and name not in by_variable and name not in FOREIGN:
            near = difflib.get_close_matches(name, by_variable, n=1)
            warn(f"environment variable {name} is not known", help=f"did you mean {near[0]}?" if near else "see docs/options.md")
    return {option.key: _value(option, variables[name]) for name, option in by_variable.items() if name in variables}
