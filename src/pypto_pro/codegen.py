"""There is no device code here: kernels are simulated. Every name says so."""

from __future__ import annotations

from typing import Any

from pypto_pro.errors.language import NoCodegen


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NoCodegen(name=name)
