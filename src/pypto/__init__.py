"""PyPTO for every machine: fused tensor kernels in Python, compiled for the CPU at hand.

>>> import pypto
>>> pypto.bytes_of(pypto.DT_BF16)
2

The public names are listed in ``pypto.public``; a name is fetched from its room when it is first asked for.
"""

from __future__ import annotations

import enum as enum  # the reference exports the standard module under this name
import importlib
import importlib.util
from typing import Any

from pypto.beside import warn_about_reference
from pypto.dtypes import DataType as DataType
from pypto.public import ALIASES, DOCUMENTED, HOME_OF, RENAMED
from pypto.scoping import options as options
from pypto.version import __version__ as __version__

globals().update(DataType.__members__)  # pypto.DT_FP32 and the others
warn_about_reference()


_OWN = ("annotations", "importlib", "Any", "warn_about_reference", "ALIASES", "DOCUMENTED", "HOME_OF", "RENAMED")


def __getattr__(name: str) -> Any:
    """Find a public name where it lives; a documented name that does not exist yet says so."""
    if name == "__all__":
        return _exported()
    if name == "__all__":  # for `from pypto import *`
        return [one for one in __dir__() if not one.startswith("_") and one not in _OWN]
    if name.startswith("__"):
        raise AttributeError(name)
    value = _find(name)
    globals()[name] = value
    return value


def _find(name: str) -> Any:
    if name in ALIASES:
        return __getattr__(ALIASES[name])
    if name in RENAMED:
        module, original = RENAMED[name]
        return getattr(importlib.import_module(module), original)
    if name in HOME_OF:
        return getattr(importlib.import_module(HOME_OF[name]), name)
    if importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    operation = _operation(name)
    if operation is not None:
        return operation
    from pypto.errors.options import no_such_name

    raise no_such_name(name, DOCUMENTED)


def _operation(name: str) -> Any:
    """A row of the op table, or another function that the ops room exports."""
    rooms = importlib.import_module("pypto.ops")
    row = importlib.import_module("pypto.ops.table").OPERATIONS.get(name)
    return row.function if row is not None else getattr(rooms, name, None)


def _exported() -> list[str]:
    """Names of ``from pypto import *``: all public ones that would not hide a builtin (``min``, ``sum``, ``print`` …)."""
    import builtins

    from pypto.ops.table import OPERATIONS

    importlib.import_module("pypto.ops")
    rows = [name for name, row in OPERATIONS.items() if row.public]
    names = {*DataType.__members__, "DataType", "frontend", "options", *HOME_OF, *RENAMED, *ALIASES, *rows}
    return sorted(name for name in names if not hasattr(builtins, name))


def __dir__() -> list[str]:
    from pypto.ops.table import OPERATIONS

    return sorted({*globals(), *HOME_OF, *RENAMED, *ALIASES, *OPERATIONS})
