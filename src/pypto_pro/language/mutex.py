"""``pl.mutex``: buffer tokens by hand (tile API section 4.3)."""

from __future__ import annotations

from typing import Any

from pypto_pro.language.declarations import member

NAMES = ["mutex_lock", "mutex_unlock"]


def __getattr__(name: str) -> Any:
    return member("mutex", NAMES, name)


def __dir__() -> list[str]:
    return list(NAMES)
