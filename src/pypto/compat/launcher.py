"""``pypto run``: a script or module as ``python`` would run it, with the stand-ins in place."""

from __future__ import annotations

import difflib
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from typing import Any

from pypto.compat.install import install
from pypto.errors.compat import ModuleNotFound, ScriptNotFound


def run_script(path: str, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Run a file as ``__main__``; its folder is first on the path. Returns its names."""
    if not os.path.exists(path):
        folder = os.path.dirname(path) or "."
        beside = os.listdir(folder) if os.path.isdir(folder) else []
        near = difflib.get_close_matches(os.path.basename(path), beside, n=1)
        raise ScriptNotFound(path=path, nearest=f", did you mean {near[0]}?" if near else "")
    install()
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    return runpy.run_path(path, run_name="__main__")


def run_module(name: str, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Run a module as ``python -m`` would: the current directory is first on the path."""
    sys.path.insert(0, os.getcwd())
    install()
    if not _exists(name):
        raise ModuleNotFound(name=name)
    sys.argv = [name, *arguments]
    if name == "pytest":  # the marker `soc` of test files written for hardware
        plugins = [one for one in os.environ.get("PYTEST_PLUGINS", "").split(",") if one]
        os.environ["PYTEST_PLUGINS"] = ",".join([*plugins, "pypto.compat.pytest_marks"])
    return runpy.run_module(name, run_name="__main__", alter_sys=True)


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
