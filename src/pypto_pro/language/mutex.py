"""``pl.mutex``: buffer tokens by hand (tile API section 4.3)."""

from __future__ import annotations

from typing import Any

from pypto_pro.errors.language import UnknownLanguageName
from pypto_pro.language.declarations import operation_declaration

NAMES = ["mutex_lock", "mutex_unlock"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = operation_declaration(name, "mutex.") if name in NAMES else None
    if found is None:
        raise UnknownLanguageName(name=f"mutex.{name}", nearest="")
    return found


def __dir__() -> list[str]:
    return list(NAMES)
